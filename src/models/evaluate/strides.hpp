// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/evaluate/value.hpp"

/// Walking over tensors: which element of an operand belongs to each element of a result.
namespace assay::evaluate {

/// How far apart neighbours along each axis are, in row-major order.
[[nodiscard]] std::vector<std::int64_t> strides_of(const Shape& shape);

/// The elements `offset + Σ index[axis] · strides[axis]` of a tensor, for every index of `shape` in row-major order.
struct Strided {
  Shape shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;
};

/// Calls body(place, step, count) for each run of `count` elements along the last axis, in row-major order.
template <class Body>
void for_each_row(const Strided& view, Body&& body) {
  const std::size_t rank = view.shape.size();
  if (count_of(view.shape) == 0) return;
  if (rank == 0) {
    body(view.offset, std::int64_t{0}, std::int64_t{1});
    return;
  }
  std::vector<std::int64_t> index(rank - 1, 0);
  std::int64_t place = view.offset;
  for (;;) {
    body(place, view.strides.back(), view.shape.back());
    std::size_t axis = rank - 1;
    while (axis > 0) {
      --axis;
      place += view.strides[axis];
      if (++index[axis] < view.shape[axis]) break;
      place -= view.strides[axis] * view.shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 1) return;
  }
}

/// The operand's elements in these places, one for each element of a result of `shape`. `outside`: what a place of −1
/// stands for.
[[nodiscard]] Value gathered(const Value& from, Shape shape, std::span<const std::int64_t> places, double outside = 0);
/// The operand's elements that a strided walk over it meets.
[[nodiscard]] Value gathered(const Value& from, const Strided& view);

/// NumPy's rule: axes are aligned at the end, and an extent of 1 is repeated. nullopt: the shapes contradict each
/// other.
[[nodiscard]] std::optional<Shape> broadcast(const Shape& a, const Shape& b);
/// A walk over a tensor of shape `from` that is repeated to `to`, which broadcast() allows.
[[nodiscard]] Strided repeated(const Shape& from, const Shape& to);
/// The value, repeated to `to`. Unchanged if it has that shape.
[[nodiscard]] Value repeated(const Value& value, const Shape& to);

/// A tensor seen as [outer, extent, inner] around one axis, or a range of axes that counts as one.
struct Around {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
[[nodiscard]] Around around(const Shape& shape, std::int64_t axis);
[[nodiscard]] Around around(const Shape& shape, std::int64_t first_axis, std::int64_t end_axis);

/// Calls body(x) with the elements of a value, whichever kind they are.
template <class Body>
auto with_elements(const Value& value, Body&& body) {
  return value.is_real() ? body(value.reals()) : body(value.integers());
}

}  // namespace assay::evaluate
