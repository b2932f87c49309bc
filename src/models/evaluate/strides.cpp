// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/strides.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace assay::evaluate {

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::uint64_t step = 1;  // of a tensor without elements it may not fit
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(shape[i]);
  }
  return strides;
}

Value gathered(const Value& from, Shape shape, std::span<const std::int64_t> places, double outside) {
  return with_elements(from, [&](auto elements) {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> found(places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      found[i] = places[i] < 0 ? static_cast<T>(outside) : elements[static_cast<std::size_t>(places[i])];
    return Value(from.dtype(), std::move(shape), std::move(found));
  });
}

Value gathered(const Value& from, const Strided& view) {
  return with_elements(from, [&](auto elements) {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> found(static_cast<std::size_t>(count_of(view.shape)));
    std::size_t at = 0;
    for_each_row(view, [&](std::int64_t place, std::int64_t step, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) found[at++] = elements[static_cast<std::size_t>(place + i * step)];
    });
    return Value(from.dtype(), view.shape, std::move(found));
  });
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const std::int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    shape[i] = x == 1 ? y : x;
  }
  return shape;
}

Strided repeated(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = strides_of(from);
  Strided view{.shape = to, .strides = std::vector<std::int64_t>(to.size(), 0)};
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) view.strides[to.size() - from.size() + i] = own[i];
  return view;
}

Value repeated(const Value& value, const Shape& to) {
  return value.shape() == to ? value : gathered(value, repeated(value.shape(), to));
}

Around around(const Shape& shape, std::int64_t axis) { return around(shape, axis, axis + 1); }

Around around(const Shape& shape, std::int64_t first_axis, std::int64_t end_axis) {
  Around found;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) {
    std::int64_t& part = i < first_axis ? found.outer : i < end_axis ? found.extent : found.inner;
    part *= shape[static_cast<std::size_t>(i)];
  }
  return found;
}

}  // namespace assay::evaluate
