// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Field numbers of onnx-ml.proto on the way to weights, for code that reads or writes the encoded form.
namespace assay::onnx_field {

inline constexpr std::uint32_t kModelIrVersion = 1;
inline constexpr std::uint32_t kModelGraph = 7;
inline constexpr std::uint32_t kGraphNode = 1;
inline constexpr std::uint32_t kGraphInitializer = 5;
inline constexpr std::uint32_t kNodeAttribute = 5;
inline constexpr std::uint32_t kAttributeTensor = 5;
inline constexpr std::uint32_t kAttributeGraph = 6;
inline constexpr std::uint32_t kTensorRawData = 9;

}  // namespace assay::onnx_field
