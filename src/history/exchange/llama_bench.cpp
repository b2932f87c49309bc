// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/samples/summary.hpp"
#include "history/exchange/readers.hpp"

/// llama-bench: tools/llama-bench/README.md of llama.cpp. A sample is one repetition of a test: a prompt (pp), a
/// generation (tg), or both (pg), without tokenising and sampling.
namespace assay::exchange {
namespace {

/// The hardware of `--hardware` that a backend of ggml computes on, else the backend's name.
std::string hardware_of(const Json& test) {
  const std::string backends = lower(text_at(test, "backends"));
  std::string first = backends.substr(0, backends.find(','));
  if (count_at(test, "n_gpu_layers") == 0 || is_any(first, {"cpu", "blas", ""})) return "cpu";
  if (first == "metal" || first == "mtl") return "mps";
  if (is_any(first, {"rocm", "hip"})) return "rocm";
  return first;
}

Record test_row(const Json& test) {
  const std::string file = text_at(test, "model_filename");
  Record row = foreign_row(std::filesystem::path(file).stem().string());
  row.model_id = file;
  row.engine = row.framework = "llama.cpp";
  row.engine_version = text_at(test, "build_number");
  row.family = "text_generation";
  row.architecture = text_at(test, "model_type").substr(0, text_at(test, "model_type").find(' '));
  row.hardware = row.device_type = hardware_of(test);
  row.device_name = text_at(test, row.hardware == "cpu" ? "cpu_info" : "gpu_info");
  row.parameter_count = count_at(test, "model_n_params");
  if (const Number bytes = number_at(test, "model_size")) row.model_size_mb = *bytes / 1e6;
  row.precision = "as_is";
  row.effective_precision = text_at(test, "model_type");
  row.threads = row.effective_threads = count_at(test, "n_threads");
  row.timestamp = iso_time(text_at(test, "test_time"));
  const std::int64_t prompt = count_at(test, "n_prompt").value_or(0), generated = count_at(test, "n_gen").value_or(0);
  const std::int64_t depth = count_at(test, "n_depth").value_or(0);
  row.sequence_length = prompt > 0 ? prompt : depth;
  row.output_tokens = generated;
  row.message = prompt > 0 && generated > 0 ? fmt::format("prompt of {} tokens, then {} tokens", prompt, generated)
                : prompt > 0                ? fmt::format("prompt of {} tokens", prompt)
                                            : fmt::format("generation of {} tokens", generated);
  if (depth > 0) row.message += fmt::format(", after {} tokens", depth);
  row.engine_options = fmt::format("n_batch={} n_gpu_layers={} n_ubatch={} type_k={} type_v={} depth={}",
                                   text_at(test, "n_batch"), text_at(test, "n_gpu_layers"), text_at(test, "n_ubatch"),
                                   text_at(test, "type_k"), text_at(test, "type_v"), depth);
  return row;
}

}  // namespace

Result<ResultsFile> read_llama_bench(const Source& source) {
  if (!source.json.is_array() || source.json.empty()) return bad_file(source, "it is not a list of tests");
  ResultsFile file;
  for (const Json& test : source.json) {
    if (!test.is_object()) return bad_file(source, fmt::format("test {} is not an object", file.rows.size() + 1));
    const Number mean_ns = number_at(test, "avg_ns");
    if (!mean_ns || text_at(test, "model_filename").empty())
      return bad_file(source, fmt::format("test {} has no \"avg_ns\" or no \"model_filename\"", file.rows.size() + 1));
    ReadRow row{test_row(test)};
    for (const double ns : numbers_at(test, "samples_ns")) add_sample(row.samples, SampleKind::kRun, ns / 1e9);
    summarise(Measurement{}, row.samples, 1, row.record);
    if (row.samples.size() == 0) row.record.latency_mean_ms = *mean_ns / 1e6;
    const Number rate = number_at(test, "avg_ts");
    const std::int64_t generated = row.record.output_tokens.value_or(0);
    if (count_at(test, "n_prompt").value_or(0) == 0 && generated > 0) {
      row.record.tokens_per_second = row.record.total_tokens_per_second = rate;
      row.record.tpot_ms = *mean_ns / 1e6 / static_cast<double>(generated);
    } else if (generated == 0) {
      row.record.prompt_tokens_per_second = rate;
    }
    file.rows.push_back(std::move(row));
  }
  const Json& first = source.json.front();
  file.run.command = "llama-bench";
  file.run.git_commit = text_at(first, "build_commit");
  file.run.system = {{"processor", text_at(first, "cpu_info")}, {"gpu", text_at(first, "gpu_info")}};
  return file;
}

}  // namespace assay::exchange
