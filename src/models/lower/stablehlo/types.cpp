// SPDX-License-Identifier: Apache-2.0
// Types as MLIR writes them, and questions about them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "models/lower/stablehlo/text.hpp"
#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

std::optional<std::string_view> mlir_element(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "f32";
    case DType::kFloat64:
      return "f64";
    case DType::kFloat16:
      return "f16";
    case DType::kBFloat16:
      return "bf16";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUInt8:
      return "ui8";
    case DType::kUInt16:
      return "ui16";
    case DType::kUInt32:
      return "ui32";
    case DType::kUInt64:
      return "ui64";
    case DType::kBool:
      return "i1";
    case DType::kComplex64:
      return "complex<f32>";
    case DType::kComplex128:
      return "complex<f64>";
    case DType::kFloat8E4M3FN:
      return "f8E4M3FN";
    case DType::kFloat8E4M3FNUZ:
      return "f8E4M3FNUZ";
    case DType::kFloat8E5M2:
      return "f8E5M2";
    case DType::kFloat8E5M2FNUZ:
      return "f8E5M2FNUZ";
    default:
      return std::nullopt;
  }
}

std::optional<std::string> mlir_type(DType dtype, const Shape& shape) {
  const auto element = mlir_element(dtype);
  if (!element) return std::nullopt;
  std::string text = "tensor<";
  for (const std::int64_t extent : shape) text += fmt::format("{}x", extent);
  return text + std::string(*element) + ">";
}

std::string joined(const Axes& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

Axes all_axes(const Hlo& x) {
  Axes axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

DType wide(DType dtype) { return dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

std::string type_text(const Hlo& value) { return mlir_type(value.dtype, value.shape).value_or("none"); }

std::string list_text(const Axes& numbers) { return fmt::format("[{}]", joined(numbers)); }

std::string array_text(const Axes& numbers) {
  return numbers.empty() ? "array<i64>" : fmt::format("array<i64: {}>", joined(numbers));
}

std::string pairs_text(const Axes& before, const Axes& after) {
  std::string text;
  for (std::size_t i = 0; i < before.size(); ++i)
    text += fmt::format("{}[{}, {}]", i > 0 ? ", " : "", before[i], after[i]);
  return text;
}

std::string window_text(const HloWindow& window) {
  return fmt::format(
      "window_dimensions = {}, window_strides = {}, window_dilations = {}, padding = dense<[{}]> : tensor<{}x2xi64>",
      array_text(window.size), array_text(window.stride), array_text(window.dilation),
      pairs_text(window.before, window.after), window.size.size());
}

Axes order_to_last(std::int64_t rank) {
  Axes axes{0};
  for (std::int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  axes.push_back(1);
  return axes;
}

Axes order_from_last(std::int64_t rank) {
  Axes axes{0, rank - 1};
  for (std::int64_t axis = 1; axis < rank - 1; ++axis) axes.push_back(axis);
  return axes;
}

void channels_to_last(std::vector<std::int64_t>& numbers) {
  std::rotate(numbers.begin() + 1, numbers.begin() + 2, numbers.end());
}

}  // namespace assay::lowering::stablehlo

namespace assay::lowering {

bool hlo_has_type(DType dtype) { return stablehlo::mlir_element(dtype).has_value(); }

}  // namespace assay::lowering
