// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/dtype.hpp"

namespace assay {

/// Extents, outermost first. Rank 0 is one element.
using Shape = std::vector<std::int64_t>;

/// "[2, 3, 224, 224]"
[[nodiscard]] std::string to_string(const Shape& shape);

/// Number of elements. Errors: invalid_argument for a negative extent or a product beyond 2^63 - 1.
[[nodiscard]] Result<std::int64_t> element_count(const Shape& shape);

/// Bytes of a packed tensor. Errors: those of element_count; unsupported for strings.
[[nodiscard]] Result<std::uint64_t> byte_size(DType dtype, const Shape& shape);

/// Packed, C-order elements that another object owns.
struct TensorView {
  DType dtype = DType::kUndefined;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// Packed, C-order elements in memory of its own, aligned to 64 bytes. Movable; copies are made by clone().
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled. Errors: those of byte_size; out_of_memory.
  [[nodiscard]] static Result<Tensor> create(DType dtype, Shape shape);
  [[nodiscard]] static Result<Tensor> copy_of(const TensorView& view);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  [[nodiscard]] TensorView view() const { return {dtype_, shape_, bytes()}; }
  /// The elements as T; sizeof(T) must be the dtype's width.
  template <class T>
  [[nodiscard]] std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), size_ / sizeof(T)};
  }
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), size_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Element `index` as double, whatever the dtype (bool: 0 or 1; int4: sign-extended). For comparing and printing,
/// not for loops that must be fast.
[[nodiscard]] double element_as_double(const TensorView& view, std::int64_t index);

/// IEEE 754 binary16 and bfloat16, round to nearest even; NaN stays NaN.
[[nodiscard]] float half_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_half(float value);
[[nodiscard]] float bfloat16_to_float(std::uint16_t bits);
[[nodiscard]] std::uint16_t float_to_bfloat16(float value);

}  // namespace assay
