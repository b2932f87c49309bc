// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lower/torchscript/writer.hpp"

namespace assay::lowering {

/// A product with a constant matrix: a linear layer, whose weights a runtime packs before it runs.
struct TorchLayer {
  std::int64_t rows = 0, inputs = 0, outputs = 0;
};

/// nullopt: the node is not a MatMul, or its second factor is not a constant matrix.
[[nodiscard]] std::optional<TorchLayer> weights_of(const StaticProgram& program, const graph::Node& node);

/// The layer with a bias of `outputs` elements, or without one.
[[nodiscard]] std::string torch_layer(TorchWriter& writer, const graph::Node& node, const TorchLayer& layer,
                                      const std::optional<std::string>& bias);

}  // namespace assay::lowering
