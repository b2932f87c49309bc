// SPDX-License-Identifier: Apache-2.0
#include "prepare/settings.hpp"

#include "worker/protocol.hpp"

namespace assay {

// The bindings name every member: a new one does not compile until it is decided whether it belongs here.

Json to_json(const ModelChoice& choice) {
  const auto& [name, reference, family, category, size, modality, from_set, built, any_size] = choice;
  return {{"name", name},         {"reference", reference}, {"family", family}, {"category", category}, {"size", size},
          {"modality", modality}, {"from_set", from_set},   {"built", built},   {"any_size", any_size}};
}

Json to_json(const RunSettings& settings) {
  const auto& [batch_sizes, default_batches, sequence_lengths, default_lengths, output_tokens, precision,
               precision_asked, streams, threads, engine_options, size, seed, input_sets, data, measure,
               memory_limit_bytes, verify, benchmark, resource_pool, parallel, timeout, scale, kv_cache] = settings;
  // The time and memory limits of a cell, and the process that runs it, do not decide that.
  static_cast<void>(memory_limit_bytes);
  static_cast<void>(resource_pool);
  static_cast<void>(parallel);
  static_cast<void>(timeout);
  return {{"batch_sizes", batch_sizes},
          {"default_batches", default_batches},
          {"sequence_lengths", sequence_lengths},
          {"default_lengths", default_lengths},
          {"output_tokens", output_tokens},
          {"precision", precision},
          {"precision_asked", precision_asked},
          {"streams", streams},
          {"threads", threads},
          {"engine_options", engine_options},
          {"size", size},
          {"seed", seed},
          {"input_sets", input_sets},
          {"data", data.string()},
          {"measure", worker_protocol::encode(measure)},
          {"verify", verify},
          {"benchmark", benchmark},
          {"scale", scale},
          {"kv_cache", zoo::kv_cache_name(kv_cache)}};
}

}  // namespace assay
