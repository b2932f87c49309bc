// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ort_runtime.hpp"

namespace assay::plugin {

/// What a runtime does with numbers: measured with tiny models, because ONNX Runtime does not report it.
struct OrtArithmetic {
  std::string precision;  ///< precision of a matrix product: "float32", "float16", "bfloat16", "float64"; "unknown"
  std::string denormals;  ///< results of an addition in float32: "kept", "flushed"; "unknown"
};

/// `element`: the floating-point type of the model's tensors, such as "float16". `options`: those of the model's
/// session. A type whose matrix product the runtime lacks is "unknown".
///
/// Precision: a product of float32 keeps 1 + 2^-12, which float16, bfloat16 and TF32 cannot represent (1 + 2^-9
/// separates them). A product of 16 bits adds 63 ones to a number beside which one of them is lost in 16 bits: the
/// exact sum shows that it is accumulated in float32.
[[nodiscard]] OrtArithmetic ort_measure_arithmetic(const OrtRuntime& runtime, const OrtSessionOptions* options,
                                                   const std::string& element);

/// The serialised model `y = x OPERATOR w` on tensors [64, 64], opset 13.
[[nodiscard]] std::string ort_binary_model(const std::string& op, ONNXTensorElementDataType element);

}  // namespace assay::plugin
