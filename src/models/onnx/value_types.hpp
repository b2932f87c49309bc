// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <string>
#include <unordered_map>

#include "core/tensor/dtype.hpp"

namespace assay {

/// The element types of the values of the main graph: those that the file declares, and those that follow from the
/// operators. An operator that is not known has outputs of the type of its first input. Absent: what no rule gives
/// (the outputs of If, Loop, Scan and of operators on sequences).
using ValueTypes = std::unordered_map<std::string, DType>;
[[nodiscard]] ValueTypes value_types(const onnx::GraphProto& graph);

}  // namespace assay
