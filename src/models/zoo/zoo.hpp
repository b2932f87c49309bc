// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/zoo/catalogue/build_request.hpp"
#include "models/zoo/catalogue/catalogue.hpp"

namespace assay::zoo {

struct BuiltModel {
  std::filesystem::path path;  ///< the .onnx (external data beside it above 2 GB)
  std::string architecture, category, family, model_class;
  KvCache kv_cache = KvCache::kGrowing;
  std::string config_hash, weights_hash;  ///< weights_hash: of the checkpoint's bytes, or "seeded:SCHEME:SEED"
  std::string builder_version;
  bool seeded = false;
  std::int64_t parameter_count = 0;
  std::vector<std::string> inputs;           ///< names in the graph's order, states last
  std::vector<std::string> outputs;          ///< names in the graph's order, states last
  std::vector<StateTensor> states;           ///< states of prefill and decode, in the graph's order
  std::vector<std::string> ignored_tensors;  ///< known non-parameters and heads the class lacks
  std::string task;                          ///< the purpose of the class: "fill-mask", …
};

/// Builds an ONNX model (opset 17) from a configuration and weights. What docs/zoo.md calls the metadata is written
/// into the file as metadata_props "assay.*". The same request gives the same bytes. Errors: unsupported, message
/// "unsupported: KEY = VALUE" ("position_embedding_type = relative_key", "class = X", "model_type = X") or
/// "unsupported: input NAME"; invalid_argument (a hostile or contradictory configuration: names key and value; a
/// missing, misshapen or unknown tensor: names it); not_found (the weights); out_of_memory (more bytes of weights than
/// the disk has free, with both figures); cancelled. Nothing is allocated by what a configuration merely claims.
[[nodiscard]] Result<BuiltModel> build(const BuildRequest& request, const std::filesystem::path& output);

/// The BuiltModel::weights_hash of what build() would make. Cost: reads a checkpoint once. Errors: those of build()
/// that the weights alone can make; cancelled.
[[nodiscard]] Result<std::string> weights_hash(const BuildRequest& request, const Cancelled& cancelled);

}  // namespace assay::zoo
