// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/evaluate/kernel.hpp"

/// Operators of ONNX Runtime's own domain, "com.microsoft", as its ContribOperators.md describes them.
namespace assay::evaluate {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

[[nodiscard]] Operators microsoft_attention_operators();
[[nodiscard]] Operators microsoft_quantised_operators();

/// The operator of this name that ONNX has, of these operands and with the node's attributes.
[[nodiscard]] Outputs as_onnx(const Call& call, std::string_view name, std::int64_t opset,
                              std::vector<const Value*> operands);

}  // namespace assay::evaluate
