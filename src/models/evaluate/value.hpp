// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay::evaluate {

using Reals = std::vector<double>;
using Integers = std::vector<std::int64_t>;

/// A tensor while a graph is evaluated. Elements of every floating type are doubles, those of integers and bools are
/// int64 (of uint64: its bits). Immutable; copies share the elements. Lifetime: owns its elements.
class Value {
 public:
  Value() = default;
  /// `elements` has as many elements as the shape, which checked_count() accepts.
  Value(DType dtype, Shape shape, Reals elements);
  Value(DType dtype, Shape shape, Integers elements);
  /// The elements of another value in another shape with as many.
  [[nodiscard]] Value with_shape(Shape shape) const;

  /// Converts packed elements. Errors: unsupported: strings, complex numbers, float8 and types of fewer than 4 bits.
  [[nodiscard]] static Result<Value> from(const TensorView& view);
  /// Packs the elements: floats are rounded to `dtype()`, to even. Errors: those of Tensor::create; unsupported.
  [[nodiscard]] Result<Tensor> to_tensor() const;

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  [[nodiscard]] std::int64_t extent(std::int64_t axis) const { return shape_[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::size_t count() const { return reals_ ? reals_->size() : integers_ ? integers_->size() : 0; }
  [[nodiscard]] bool is_real() const { return reals_ != nullptr; }
  /// Empty if the elements are of the other kind.
  [[nodiscard]] std::span<const double> reals() const {
    return reals_ ? std::span<const double>(*reals_) : std::span<const double>();
  }
  [[nodiscard]] std::span<const std::int64_t> integers() const {
    return integers_ ? std::span<const std::int64_t>(*integers_) : std::span<const std::int64_t>();
  }
  /// Element `i` as a double, whatever its kind.
  [[nodiscard]] double number(std::size_t i) const {
    if (reals_) return (*reals_)[i];
    const std::int64_t one = (*integers_)[i];
    return dtype_ == DType::kUInt64 ? static_cast<double>(static_cast<std::uint64_t>(one)) : static_cast<double>(one);
  }

 private:
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::shared_ptr<const Reals> reals_;
  std::shared_ptr<const Integers> integers_;
};

/// The most elements of a Value. Extents of 0 do not count, so that the product of some extents never overflows.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

/// The product of the extents of a Value.
[[nodiscard]] std::int64_t count_of(const Shape& shape);
/// The product of any extents. Errors: invalid_argument: an extent is negative, or there are more than kMostElements
/// elements, extents of 0 left out.
[[nodiscard]] Result<std::int64_t> checked_count(const Shape& shape);
/// The product of the extents that are not 0, which checked_count() accepts.
[[nodiscard]] std::int64_t count_beside_zeros(const Shape& shape);

/// What a floating type makes of a number: rounded to the nearest, halves to even; beyond its range: infinite.
[[nodiscard]] double rounded_to(DType dtype, double number);
/// The low bits of an integer, as a value of an integer type or bool has them.
[[nodiscard]] std::int64_t wrapped_to(DType dtype, std::int64_t number);
/// A number without its fraction as an element of an integer type. NaN is 0. Beyond 64 bits: the nearest number that
/// they have, of which the type has the low bits.
[[nodiscard]] std::int64_t truncated_to(DType dtype, double number);

/// The lowest and the highest number of an integer type or bool, as a Value has them.
struct IntegerRange {
  std::int64_t lowest = 0, highest = 0;
};
[[nodiscard]] IntegerRange range_of(DType dtype);
[[nodiscard]] bool is_unsigned(DType dtype);  ///< bool is

/// Whether the elements are kept as doubles.
[[nodiscard]] bool is_real_type(DType dtype);

}  // namespace assay::evaluate
