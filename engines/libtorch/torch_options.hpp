// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

inline constexpr const char* kOptimize = "optimize";
inline constexpr const char* kSignature = "signature";

/// The options of both libraries.
[[nodiscard]] inline std::vector<OptionInfo> torch_options() {
  return {
      {kOptimize, "inference|frozen|none", "inference",
       "inference: frozen, with operators of oneDNN and packed weights; frozen: weights are constants; none: as is"},
      {kSignature, "string", "",
       "for a .pt file without a signature: a JSON file with the types and shapes of its inputs (docs/lowering.md)"}};
}

}  // namespace assay::plugin
