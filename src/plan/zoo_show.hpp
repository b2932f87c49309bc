// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <assay/result.hpp>

#include "hub/hub.hpp"
#include "report/model_facts.hpp"

namespace assay {

/// `model`: a name, a folder or an .onnx file. Errors: those of find_zoo_source, zoo::build, inspect_model and
/// make_inputs; unsupported for what is planned and for formats that assay does not read.
[[nodiscard]] Result<ModelFacts> describe_model(const std::string& model, const std::string& model_class,
                                                const InputAxes& axes, hub::Hub& hub);

}  // namespace assay
