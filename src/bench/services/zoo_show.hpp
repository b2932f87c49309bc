// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <assay/result.hpp>

#include "models/hub/hub.hpp"
#include "models/model/model_facts.hpp"

namespace assay {

/// `model`: a name, a folder or an .onnx file. `size`: a published one; "": that of the name. A batch of 0 is that of
/// the file or the given shapes if it is fixed, else 1. A sequence of 0 is the usual length, or the model's positions
/// if fewer. Errors: those of find_zoo_source, zoo::build, inspect_model and make_inputs; unsupported for what is
/// planned, for formats that assay does not read and for sequences beyond the positions.
[[nodiscard]] Result<ModelFacts> describe_model(const std::string& model, const std::string& model_class,
                                                const std::string& size, const InputAxes& axes, hub::Hub& hub);

}  // namespace assay
