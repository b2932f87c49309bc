// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/graph/view.hpp"

namespace assay {

/// The inputs of the model whose values decide shapes, or which a program for fixed shapes must know: target shapes,
/// axes, repeats, pads, sizes, numbers of elements. Such an operand may be computed from several inputs: all of them
/// are in the list. In the model's order. A runtime for static shapes gets the model with these as constants.
[[nodiscard]] std::vector<std::string> shape_inputs(const graph::Model& model);

}  // namespace assay
