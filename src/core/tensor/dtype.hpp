// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// Element types, numbered as ONNX's TensorProto.DataType and as engine_abi.h's assay_dtype.
enum class DType : std::int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
};

/// "float32", "int64", "bfloat16", …: numpy's words, as stored in results.
[[nodiscard]] std::string_view to_string(DType dtype);
[[nodiscard]] std::optional<DType> dtype_from(std::string_view name);

/// Bits of one element; 0 for strings and undefined. Sub-byte elements are packed, two or four to a byte.
[[nodiscard]] int bit_width(DType dtype);
[[nodiscard]] bool is_floating(DType dtype);  ///< float64, float32, float16, bfloat16 and the float8/float4 kinds
[[nodiscard]] bool is_integer(DType dtype);   ///< signed and unsigned; bool is neither

}  // namespace assay
