// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

// Indices counted from 0. Errors: invalid_argument: beyond the extent.
Result<Integers> indices_of(const Call& call, std::size_t operand, std::int64_t extent) {
  ASSAY_TRY(const auto given, call.integers(operand));
  Integers all(given.begin(), given.end());
  for (std::int64_t& index : all) {
    if (index < -extent || index >= extent)
      return call.invalid("the index " + std::to_string(index) + " of an axis of " + std::to_string(extent) +
                          " elements");
    if (index < 0) index += extent;
  }
  return all;
}

Outputs gather(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  ASSAY_TRY(const Integers indices, indices_of(call, 1, x.extent(axis)));
  const Around parts = around(x.shape(), axis);
  Shape shape(x.shape().begin(), x.shape().begin() + axis);
  shape.insert(shape.end(), call.shape(1).begin(), call.shape(1).end());
  shape.insert(shape.end(), x.shape().begin() + axis + 1, x.shape().end());
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  std::vector<std::int64_t> places;
  places.reserve(count);
  for (std::int64_t o = 0; count > 0 && o < parts.outer; ++o)
    for (const std::int64_t index : indices)
      for (std::int64_t i = 0; i < parts.inner; ++i) places.push_back((o * parts.extent + index) * parts.inner + i);
  return Values{gathered(x, std::move(shape), places)};
}

// For each element of `indices`: the place in `data` where its own index on `axis` is replaced by the element.
Result<std::vector<std::int64_t>> places_on_axis(const Call& call, const Value& data, std::size_t operand,
                                                 std::int64_t axis) {
  const Shape& shape = call.shape(operand);
  if (shape.size() != data.shape().size()) return call.invalid("its indices have another rank than the data");
  ASSAY_TRY(const Integers indices, indices_of(call, operand, data.extent(axis)));
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (static_cast<std::int64_t>(i) != axis && shape[i] > data.shape()[i])
      return call.invalid("its indices have more elements than the data beside the axis");
  const std::vector<std::int64_t> strides = strides_of(data.shape());
  std::vector<std::int64_t> walk = strides;
  walk[static_cast<std::size_t>(axis)] = 0;
  std::vector<std::int64_t> places;
  places.reserve(indices.size());
  for_each_row({shape, walk}, [&](std::int64_t place, std::int64_t step, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) places.push_back(place + i * step);
  });
  for (std::size_t i = 0; i < places.size(); ++i) places[i] += indices[i] * strides[static_cast<std::size_t>(axis)];
  return places;
}

Outputs gather_elements(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  ASSAY_TRY(const std::vector<std::int64_t> places, places_on_axis(call, x, 1, axis));
  return Values{gathered(x, call.shape(1), places)};
}

/// Tuples of indices, each the beginning of an index into the data.
struct Tuples {
  std::vector<std::int64_t> first_elements;
  std::int64_t size = 1;   ///< elements of a part
  std::size_t length = 0;  ///< axes that a tuple names
};
Result<Tuples> tuples_of(const Call& call, std::size_t operand, std::size_t batch_axes) {
  const Value& data = call.operand(0);
  const Shape& shape = call.shape(operand);
  ASSAY_TRY(const auto indices, call.integers(operand));
  if (shape.empty() || batch_axes >= shape.size())
    return call.invalid("its indices have rank 0, or batch_dims beyond it");
  Tuples tuples;
  tuples.length = static_cast<std::size_t>(shape.back());
  if (tuples.length + batch_axes > data.shape().size())
    return call.invalid("its indices name more axes than the data has");
  for (std::size_t i = 0; i < batch_axes; ++i)
    if (shape[i] != data.shape()[i]) return call.invalid("its indices and the data have different batches");
  const std::vector<std::int64_t> strides = strides_of(data.shape());
  for (std::size_t i = batch_axes + tuples.length; i < data.shape().size(); ++i) tuples.size *= data.shape()[i];
  Shape of_tuples(shape.begin(), shape.end() - 1);
  ASSAY_CHECK_OK(call.elements_of(of_tuples));
  const std::int64_t count = count_of(of_tuples),
                     batches = count_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(batch_axes)));
  const std::int64_t of_batch = batch_axes == 0 ? 0 : strides[batch_axes - 1];
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = i / (count / batches) * of_batch;
    for (std::size_t k = 0; k < tuples.length; ++k) {
      std::int64_t index = indices[static_cast<std::size_t>(i) * tuples.length + k];
      const std::int64_t extent = data.shape()[batch_axes + k];
      if (index < -extent || index >= extent)
        return call.invalid("the index " + std::to_string(index) + " of an axis of " + std::to_string(extent) +
                            " elements");
      place += (index < 0 ? index + extent : index) * strides[batch_axes + k];
    }
    tuples.first_elements.push_back(place);
  }
  return tuples;
}

Outputs gather_nd(const Call& call) {
  const auto batch_axes = static_cast<std::size_t>(std::max<std::int64_t>(call.integer("batch_dims", 0), 0));
  ASSAY_TRY(const Tuples tuples, tuples_of(call, 1, batch_axes));
  Shape shape(call.shape(1).begin(), call.shape(1).end() - 1);
  shape.insert(shape.end(), call.shape(0).begin() + static_cast<std::ptrdiff_t>(batch_axes + tuples.length),
               call.shape(0).end());
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  std::vector<std::int64_t> places;
  places.reserve(count);
  for (const std::int64_t first : tuples.first_elements)
    for (std::int64_t i = 0; i < tuples.size; ++i) places.push_back(first + i);
  return Values{gathered(call.operand(0), std::move(shape), places)};
}

template <class T>
T reduced_by(std::string_view how, DType dtype, T before, T now) {
  if (how == "add") return plus(before, now);
  if (how == "mul") return times(before, now);
  if (how == "min") return least_of(dtype, before, now);
  return how == "max" ? largest_of(dtype, before, now) : now;
}

// The data with other elements at some places.
Outputs replaced(const Call& call, std::span<const std::int64_t> places, const Value& updates) {
  const Value& x = call.operand(0);
  if (updates.count() != places.size() || updates.is_real() != x.is_real())
    return call.invalid("its updates have another shape or type");
  const std::string_view how = call.text("reduction", "none");
  return with_elements(x, [&](auto elements) -> Outputs {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> y(elements.begin(), elements.end());
    with_elements(updates, [&](auto now) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        T& to = y[static_cast<std::size_t>(places[i])];
        to = reduced_by<T>(how, x.dtype(), to, static_cast<T>(now[i]));
        if constexpr (std::is_same_v<T, std::int64_t>) to = wrapped_to(x.dtype(), to);
      }
    });
    return Values{Value(x.dtype(), x.shape(), std::move(y))};
  });
}

Outputs scatter_elements(const Call& call) {
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), call.operand(0).rank()));
  ASSAY_TRY(const std::vector<std::int64_t> places, places_on_axis(call, call.operand(0), 1, axis));
  return replaced(call, places, call.operand(2));
}

Outputs scatter_nd(const Call& call) {
  ASSAY_TRY(const Tuples tuples, tuples_of(call, 1, 0));
  ASSAY_CHECK_OK(call.elements_of({static_cast<std::int64_t>(tuples.first_elements.size()), tuples.size}));
  std::vector<std::int64_t> places;
  for (const std::int64_t first : tuples.first_elements)
    for (std::int64_t i = 0; i < tuples.size; ++i) places.push_back(first + i);
  return replaced(call, places, call.operand(2));
}

// Writes a part of a cache along one axis, from an index of each item on.
Outputs tensor_scatter(const Call& call) {
  const Value &cache = call.operand(0), &update = call.operand(1);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", -2), cache.rank()));
  const bool circular = call.text("mode", "linear") == "circular";
  if (update.rank() != cache.rank() || axis == 0)
    return call.invalid("its update has another rank, or the axis is that of the batch");
  Shape part = cache.shape();
  part[static_cast<std::size_t>(axis)] = update.extent(axis);
  if (update.shape() != part || update.extent(axis) > cache.extent(axis))
    return call.invalid("an update " + to_string(update.shape()) + " does not fit the cache " +
                        to_string(cache.shape()));
  Integers first(static_cast<std::size_t>(cache.extent(0)), 0);
  if (call.has(2)) {
    ASSAY_TRY(const auto given, call.integers(2));
    if (given.size() != first.size()) return call.invalid("it does not have one index for each item");
    first.assign(given.begin(), given.end());
  }
  for (std::int64_t& one : first) {
    if (circular && cache.extent(axis) > 0) one %= cache.extent(axis);
    if (one < 0 || one > cache.extent(axis)) return call.invalid("its update reaches beyond the cache");
  }
  const std::vector<std::int64_t> strides = strides_of(cache.shape()), own = strides_of(update.shape());
  std::vector<std::int64_t> places(update.count());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::int64_t place = 0;
    for (std::size_t k = 0; k < own.size(); ++k) {
      std::int64_t at = static_cast<std::int64_t>(i) / own[k] % update.shape()[k];
      if (static_cast<std::int64_t>(k) == axis) {
        at += first[i / static_cast<std::size_t>(own[0])];
        if (circular) at %= cache.extent(axis);
      }
      if (at >= cache.shape()[k]) return call.invalid("its update reaches beyond the cache");
      place += at * strides[k];
    }
    places[i] = place;
  }
  return replaced(call, places, update);
}

Outputs one_hot(const Call& call) {
  ASSAY_TRY(const double given_depth, call.scalar(1));
  if (call.operand(2).count() != 2 || !(given_depth >= 0 && given_depth <= static_cast<double>(kMostElements)))
    return call.invalid("its depth or values do not fit");
  const auto depth = static_cast<std::int64_t>(given_depth);
  const std::int64_t rank = call.operand(0).rank() + 1;
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", -1), rank));
  Shape shape = call.shape(0);
  shape.insert(shape.begin() + axis, depth);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  const Around parts = around(shape, axis);
  std::vector<std::int64_t> places(count, 0);
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (std::int64_t i = 0; i < parts.inner; ++i) {
      const double given = call.operand(0).number(static_cast<std::size_t>(o * parts.inner + i));
      if (std::isnan(given)) continue;
      std::int64_t index = truncated_to(DType::kInt64, given);
      if (index < 0) index += depth;
      if (index >= 0 && index < depth) places[static_cast<std::size_t>((o * depth + index) * parts.inner + i)] = 1;
    }
  return Values{gathered(call.operand(2), std::move(shape), places)};
}

// The order of sorted elements: NaN is behind all numbers, as in NumPy.
template <class T>
bool comes_before(DType dtype, T a, T b) {
  return is_nan(b) ? !is_nan(a) : is_less(dtype, a, b);
}

Outputs top_k(const Call& call) {
  const Value& x = call.operand(0);
  std::int64_t k = call.integer("k", 0);
  if (call.has(1)) {
    ASSAY_TRY(k, call.integer_scalar(1));
  }
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", -1), x.rank()));
  const bool largest = call.integer("largest", 1) != 0;
  const Around parts = around(x.shape(), axis);
  if (k < 0 || k > parts.extent) return call.invalid("more elements than the axis has");
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = k;
  std::vector<std::int64_t> places(static_cast<std::size_t>(count_of(shape)));
  Integers indices(places.size());
  for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
    const std::int64_t o = i / parts.inner, inner = i % parts.inner;
    const auto at = [&](std::int64_t n) {
      return static_cast<std::size_t>((o * parts.extent + n) * parts.inner + inner);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(parts.extent));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    // If elements are equal, the first comes first.
    with_elements(x, [&](auto elements) {
      std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
        return largest ? comes_before(x.dtype(), elements[at(b)], elements[at(a)])
                       : comes_before(x.dtype(), elements[at(a)], elements[at(b)]);
      });
    });
    for (std::int64_t n = 0; n < k; ++n) {
      const auto to = static_cast<std::size_t>((o * k + n) * parts.inner + inner);
      places[to] = static_cast<std::int64_t>(at(order[static_cast<std::size_t>(n)]));
      indices[to] = order[static_cast<std::size_t>(n)];
    }
  }
  Values results{gathered(x, shape, places)};
  results.emplace_back(DType::kInt64, std::move(shape), std::move(indices));
  return results;
}

Outputs non_zero(const Call& call) {
  const Value& x = call.operand(0);
  const std::vector<std::int64_t> strides = strides_of(x.shape());
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < x.count(); ++i)
    if (x.number(i) != 0) found.push_back(static_cast<std::int64_t>(i));
  Integers y;
  for (std::size_t axis = 0; axis < strides.size(); ++axis)
    for (const std::int64_t place : found) y.push_back(place / strides[axis] % x.shape()[axis]);
  const Shape shape{x.rank(), static_cast<std::int64_t>(found.size())};
  return Values{Value(DType::kInt64, shape, std::move(y))};
}

Outputs compress(const Call& call) {
  const Value& x = call.operand(0);
  ASSAY_TRY(const auto condition, call.integers(1));
  std::vector<std::int64_t> places;
  if (call.node().attribute("axis") == nullptr) {
    for (std::size_t i = 0; i < condition.size() && i < x.count(); ++i)
      if (condition[i] != 0) places.push_back(static_cast<std::int64_t>(i));
    return Values{gathered(x, {static_cast<std::int64_t>(places.size())}, places)};
  }
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  const Around parts = around(x.shape(), axis);
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = 0;
  for (std::int64_t k = 0; k < parts.extent && k < static_cast<std::int64_t>(condition.size()); ++k)
    shape[static_cast<std::size_t>(axis)] += condition[static_cast<std::size_t>(k)] != 0 ? 1 : 0;
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (std::int64_t k = 0; k < parts.extent && k < static_cast<std::int64_t>(condition.size()); ++k)
      for (std::int64_t i = 0; i < parts.inner && condition[static_cast<std::size_t>(k)] != 0; ++i)
        places.push_back((o * parts.extent + k) * parts.inner + i);
  return Values{gathered(x, std::move(shape), places)};
}

// Which places of an axis have the same elements, ordered by these; NaN equals NaN.
std::vector<std::vector<std::int64_t>> groups_of_equals(const Value& x, const Around& parts) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(parts.extent));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::vector<std::vector<std::int64_t>> groups;
  const std::int64_t size = parts.extent == 0 ? 0 : static_cast<std::int64_t>(x.count()) / parts.extent;
  with_elements(x, [&](auto elements) {
    const auto precedes = [&](std::int64_t a, std::int64_t b) {
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t row = i / parts.inner * parts.extent, column = i % parts.inner;
        const auto of_a = elements[static_cast<std::size_t>((row + a) * parts.inner + column)],
                   of_b = elements[static_cast<std::size_t>((row + b) * parts.inner + column)];
        if (comes_before(x.dtype(), of_a, of_b)) return true;
        if (comes_before(x.dtype(), of_b, of_a)) return false;
      }
      return false;
    };
    std::ranges::stable_sort(order, precedes);
    for (const std::int64_t k : order) {
      if (groups.empty() || precedes(groups.back().front(), k)) groups.emplace_back();
      groups.back().push_back(k);
    }
  });
  return groups;
}

// The different parts of a tensor along an axis, or its different elements.
Outputs unique(const Call& call) {
  const bool flat = call.node().attribute("axis") == nullptr;
  const Value x =
      flat ? call.operand(0).with_shape({static_cast<std::int64_t>(call.operand(0).count())}) : call.operand(0);
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", 0), x.rank()));
  const Around parts = around(x.shape(), axis);
  std::vector<std::vector<std::int64_t>> groups = groups_of_equals(x, parts);
  if (call.integer("sorted", 1) == 0)
    std::ranges::sort(groups, {}, [](const auto& members) { return members.front(); });
  Integers first, counts, inverse(static_cast<std::size_t>(parts.extent));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g].front());
    counts.push_back(static_cast<std::int64_t>(groups[g].size()));
    for (const std::int64_t member : groups[g])
      inverse[static_cast<std::size_t>(member)] = static_cast<std::int64_t>(g);
  }
  std::vector<std::int64_t> places;
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (const std::int64_t k : first)
      for (std::int64_t i = 0; i < parts.inner; ++i) places.push_back((o * parts.extent + k) * parts.inner + i);
  Shape shape = x.shape();
  const auto n = static_cast<std::int64_t>(groups.size());
  shape[static_cast<std::size_t>(axis)] = n;
  Values results{gathered(x, std::move(shape), places)};
  results.push_back(Value(DType::kInt64, {n}, std::move(first)));
  results.push_back(Value(DType::kInt64, {parts.extent}, std::move(inverse)));
  results.push_back(Value(DType::kInt64, {n}, std::move(counts)));
  return results;
}

}  // namespace

Operators indexing_operators() {
  return {{"Compress", &compress, 2},
          {"Gather", &gather, 2},
          {"GatherElements", &gather_elements, 2},
          {"GatherND", &gather_nd, 2},
          {"NonZero", &non_zero},
          {"OneHot", &one_hot, 3},
          {"Scatter", &scatter_elements, 3},
          {"ScatterElements", &scatter_elements, 3},
          {"ScatterND", &scatter_nd, 3},
          {"TensorScatter", &tensor_scatter, 2},
          {"TopK", &top_k},
          {"Unique", &unique}};
}

}  // namespace assay::evaluate
