// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/lower/torchscript/writer.hpp"

namespace assay::lowering {

/// A product with a constant matrix: a linear layer, whose weights a runtime packs before it runs.
struct TorchLayer {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
  std::string_view weights{};
  bool turned = false;  ///< the weights are [outputs, inputs], as torch.linear takes them; else [inputs, outputs]
};

/// The layer that multiplies a tensor of this shape with the constant `weights`. nullopt: `weights` is not a constant
/// matrix of floats, or `x` has no rows.
[[nodiscard]] std::optional<TorchLayer> layer_of(const StaticProgram& program, const Shape& x, std::string_view weights,
                                                 bool turned);

/// An expression: the layer of the expression `x`, with a bias of `outputs` elements or without one. Its shape is
/// `result`.
[[nodiscard]] std::string torch_layer(TorchWriter& writer, const TorchLayer& layer, const std::string& x,
                                      const std::optional<std::string>& bias, const Shape& result);

}  // namespace assay::lowering
