// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <string>

#include <assay/result.hpp>

namespace assay {

/// What identifies a local function, and the node that calls it: domain, name and overload.
[[nodiscard]] std::string function_key(const onnx::FunctionProto& function);
[[nodiscard]] std::string function_key(const onnx::NodeProto& call);

/// Local functions are inlined by runtimes, so calls must end and must not grow without bound.
/// Errors: invalid_argument: two functions of one name, a function that calls itself (over others), more than ten
/// million nodes after inlining.
[[nodiscard]] Status check_function_calls(const onnx::ModelProto& model);

}  // namespace assay
