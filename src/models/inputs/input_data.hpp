// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/inputs.hpp"

namespace assay {

/// Recipes (kFile) for all inputs of a model from `axes.data`, in the model's order. Rules and errors: make_inputs.
[[nodiscard]] Result<std::vector<InputRecipe>> read_input_data(const ModelInfo& model, const InputAxes& axes);

}  // namespace assay
