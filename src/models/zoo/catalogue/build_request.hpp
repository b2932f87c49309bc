// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/base/json.hpp"
#include "core/result/facts.hpp"
#include "core/tensor/tensor.hpp"
#include "models/builder/graph_builder.hpp"

namespace assay::zoo {

/// Which part of a generative model a graph is (docs/zoo.md, "Generative models"). Other models have `whole` only.
enum class Part {
  kWhole,    ///< forward without a cache: its inputs → its outputs
  kPrefill,  ///< forward's inputs → its outputs and the states after them
  kDecode,   ///< the next tokens and the states before them → logits and the states after them
};
[[nodiscard]] std::string_view part_name(Part part);  ///< "whole", "prefill", "decode"
/// not_found: the model has no such part. `why` is the hint.
[[nodiscard]] tl::unexpected<Error> no_part(Part part, std::string why);

/// What a generative graph hands from one run to the next: the keys and values of an attention, a convolution's or a
/// recurrence's state.
struct StateTensor {
  std::string input;  ///< input of the decode graph: "past_key_values.0.key"
  /// The output of prefill and decode: "present.0.key"; "" if decode does not change the state.
  std::string output;
  DType dtype = DType::kFloat32;
  Extents extents;  ///< extents of the input: {"batch", 4, "past", 64}; "cache" if the length stays
};

/// How the class of a configuration gives one token after another.
enum class Generates {
  kNothing,
  kFromEmptyPast,  ///< its decode takes the prompt too: the past is empty then
  kAfterPrefill,   ///< the prompt needs a graph of its own: an encoder, images
};
/// `model_class` as in BuildRequest. Errors: those of build() that a configuration alone can make.
[[nodiscard]] Result<Generates> generates(const Json& config, const std::string& model_class);

struct BuildRequest {
  Json config;                ///< Hugging Face config.json
  std::string model_class{};  ///< "" : architectures[0], else the catalogue's
  std::optional<std::filesystem::path>
      weights{};  ///< model.safetensors, model.safetensors.index.json, or a folder; none: seeded
  std::uint64_t seed = 0;
  std::string precision = "float32";  ///< float32, float16 or bfloat16: of the graph, its inputs and outputs
  /// The inputs the graph shall have; none: the architecture's usual ones. Image sides are taken from here, batch and
  /// sequence stay dynamic. `zoo check` passes the golden's.
  std::map<std::string, Shape> input_shapes{};
  std::map<std::string, DType> input_dtypes{};  ///< types that are not the usual one (a bool mask), by input
  std::map<std::string, Tensor> constants{};    ///< geometry inputs bound at build
  std::set<std::string> spare_inputs{};  ///< those of input_shapes that the graph may leave: a prefill's, for decode
  std::int64_t longest = 0;  ///< tokens of a sequence, past included, that tables of computed positions serve at least
  Part part = Part::kWhole;  ///< another than whole: unsupported if the architecture has no cache
  std::optional<std::uint64_t> max_weight_bytes{};  ///< more are out_of_memory, before anything is written
  bool weights_left_out =
      false;  ///< the file has the graph and small tables, no weights: for callers that need no more
  bool last_logits_only = false;  ///< logits of the last position, [B, 1, vocabulary]: what timing graphs give
  /// Rounds the weights to this type, but keeps them in float32: a graph in this precision is compared with the result.
  std::optional<DType> weights_rounded_to{};
  /// Other kinds are for decode graphs, and unsupported if the architecture's attention cannot use them.
  KvCache kv_cache = KvCache::kGrowing;
  std::string weights_hash{};  ///< hash of `weights`, if it is known: they are then not read to compute it
  Cancelled cancelled{};       ///< checked while weights are read and written
};

}  // namespace assay::zoo
