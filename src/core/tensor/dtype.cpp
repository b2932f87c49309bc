// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/dtype.hpp"

#include <algorithm>
#include <array>

namespace assay {
namespace {

enum class Kind { kOther, kFloat, kInteger };

struct Row {
  DType dtype;
  std::string_view name;
  int bits;
  Kind kind;
};

// In the order of the enumeration, so that a dtype is its row.
constexpr std::array<Row, 27> kRows{{
    {DType::kUndefined, "undefined", 0, Kind::kOther},
    {DType::kFloat32, "float32", 32, Kind::kFloat},
    {DType::kUInt8, "uint8", 8, Kind::kInteger},
    {DType::kInt8, "int8", 8, Kind::kInteger},
    {DType::kUInt16, "uint16", 16, Kind::kInteger},
    {DType::kInt16, "int16", 16, Kind::kInteger},
    {DType::kInt32, "int32", 32, Kind::kInteger},
    {DType::kInt64, "int64", 64, Kind::kInteger},
    {DType::kString, "string", 0, Kind::kOther},
    {DType::kBool, "bool", 8, Kind::kOther},
    {DType::kFloat16, "float16", 16, Kind::kFloat},
    {DType::kFloat64, "float64", 64, Kind::kFloat},
    {DType::kUInt32, "uint32", 32, Kind::kInteger},
    {DType::kUInt64, "uint64", 64, Kind::kInteger},
    {DType::kComplex64, "complex64", 64, Kind::kOther},
    {DType::kComplex128, "complex128", 128, Kind::kOther},
    {DType::kBFloat16, "bfloat16", 16, Kind::kFloat},
    {DType::kFloat8E4M3FN, "float8_e4m3fn", 8, Kind::kFloat},
    {DType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 8, Kind::kFloat},
    {DType::kFloat8E5M2, "float8_e5m2", 8, Kind::kFloat},
    {DType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 8, Kind::kFloat},
    {DType::kUInt4, "uint4", 4, Kind::kInteger},
    {DType::kInt4, "int4", 4, Kind::kInteger},
    {DType::kFloat4E2M1, "float4_e2m1fn", 4, Kind::kFloat},
    {DType::kFloat8E8M0, "float8_e8m0fnu", 8, Kind::kFloat},
    {DType::kUInt2, "uint2", 2, Kind::kInteger},
    {DType::kInt2, "int2", 2, Kind::kInteger},
}};

// A number from a file may be no dtype at all: that is undefined.
const Row& row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kRows.size() ? kRows[index] : kRows[0];
}

}  // namespace

std::string_view to_string(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from(std::string_view name) {
  const auto found = std::find_if(kRows.begin() + 1, kRows.end(), [&](const Row& r) { return r.name == name; });
  if (found == kRows.end()) return std::nullopt;
  return found->dtype;
}

int bit_width(DType dtype) { return row(dtype).bits; }
bool is_floating(DType dtype) { return row(dtype).kind == Kind::kFloat; }
bool is_integer(DType dtype) { return row(dtype).kind == Kind::kInteger; }

}  // namespace assay
