// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "models/evaluate/kernels/convolution.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

/// The elements of one window that lie in the input: their places, in row-major order.
using InWindow = std::vector<std::int64_t>;

// Calls body(window number, its elements) for all windows over the spatial extents.
void for_each_window(const graph::Window& window, const Shape& in, const Shape& out,
                     const std::function<void(std::int64_t, const InWindow&)>& body) {
  const std::vector<std::int64_t> strides = strides_of(in);
  const std::int64_t windows = count_of(out), taps = count_of(window.kernel);
  InWindow places;
  for (std::int64_t w = 0; w < windows; ++w) {
    places.clear();
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t rest_w = w, rest_t = t, place = 0;
      for (std::size_t axis = in.size(); axis-- > 0;) {
        const std::int64_t at = rest_w % out[axis] * window.stride[axis] - window.before[axis] +
                                rest_t % window.kernel[axis] * window.dilation[axis];
        rest_w /= out[axis];
        rest_t /= window.kernel[axis];
        if (at < 0 || at >= in[axis]) place = -1;
        if (place >= 0) place += at * strides[axis];
      }
      if (place >= 0) places.push_back(place);
    }
    body(w, places);
  }
}

struct Pool {
  graph::Window window;
  Shape in, out, shape;  ///< spatial extents; the shape of the output
  std::int64_t planes = 0, size_in = 0, size_out = 0;
};

Result<Pool> pool_of(const Call& call) {
  const Shape& shape = call.shape(0);
  const auto kernel = call.node().integers("kernel_shape");
  if (!kernel || shape.size() < 3) return call.invalid("it has no kernel_shape, or an input of rank below 3");
  ASSAY_TRY(graph::Window window, window_of(call, shape, Shape(kernel->begin(), kernel->end())));
  Pool pool{.window = std::move(window),
            .in = Shape(shape.begin() + 2, shape.end()),
            .out = {},
            .shape = {shape[0], shape[1]}};
  for (std::size_t i = 0; i < pool.in.size(); ++i) {
    pool.out.push_back(std::max<std::int64_t>(pool.window.count(i, pool.in[i], call.integer("ceil_mode", 0) != 0), 0));
    pool.shape.push_back(pool.out.back());
  }
  ASSAY_CHECK_OK(call.elements_of(pool.shape));
  pool.planes = shape[0] * shape[1];
  pool.size_in = count_of(pool.in);
  pool.size_out = count_of(pool.out);
  return pool;
}

// What ReduceMax gives for no elements.
template <class T>
T lowest_of(DType dtype) {
  if constexpr (std::is_same_v<T, double>)
    return -HUGE_VAL;
  else
    return range_of(dtype).lowest;
}

Outputs max_pool(const Call& call) {
  ASSAY_TRY(const Pool pool, pool_of(call));
  const Value& x = call.operand(0);
  // A place counts the elements of the whole input; with storage_order 1 the spatial axes count in the other order.
  const bool by_column = call.integer("storage_order", 0) != 0;
  const auto place_of = [&](std::int64_t plane, std::int64_t place) {
    if (!by_column) return plane * pool.size_in + place;
    std::int64_t rest = place, by_columns = 0;
    std::vector<std::int64_t> index(pool.in.size());
    for (std::size_t axis = pool.in.size(); axis-- > 0; rest /= pool.in[axis]) index[axis] = rest % pool.in[axis];
    for (std::size_t axis = pool.in.size(); axis-- > 0;) by_columns = by_columns * pool.in[axis] + index[axis];
    return plane * pool.size_in + by_columns;
  };
  // A window that lies in the padding has no element, whose place is −1.
  Integers places(static_cast<std::size_t>(pool.planes * pool.size_out), -1);
  return with_elements(x, [&](auto all) -> Outputs {
    using T = std::remove_cvref_t<decltype(all[0])>;
    std::vector<T> y(places.size(), lowest_of<T>(x.dtype()));
    for_each_window(pool.window, pool.in, pool.out, [&](std::int64_t w, const InWindow& window) {
      for (std::int64_t p = 0; p < pool.planes && !window.empty(); ++p) {
        const T* from = all.data() + p * pool.size_in;
        std::int64_t best = window.front();
        for (const std::int64_t place : window)
          if (is_less(x.dtype(), from[best], from[place]) || is_nan(from[best])) best = place;
        y[static_cast<std::size_t>(p * pool.size_out + w)] = from[best];
        places[static_cast<std::size_t>(p * pool.size_out + w)] = place_of(p, best);
      }
    });
    Values results{Value(x.dtype(), pool.shape, std::move(y))};
    if (call.wants(1)) results.emplace_back(DType::kInt64, pool.shape, std::move(places));
    return results;
  });
}

// f(elements of the window, how many the node counts) → the number of the window.
template <class F>
Outputs pooled(const Call& call, F f) {
  ASSAY_TRY(const Pool pool, pool_of(call));
  ASSAY_TRY(const auto x, call.reals(0));
  const bool with_padding = call.integer("count_include_pad", 0) != 0;
  std::vector<std::vector<std::int64_t>> counts;
  for (std::size_t i = 0; i < pool.in.size(); ++i)
    counts.push_back(pool.window.elements(i, pool.in[i], pool.out[i], with_padding));
  Reals y(static_cast<std::size_t>(pool.planes * pool.size_out));
  for_each_window(pool.window, pool.in, pool.out, [&](std::int64_t w, const InWindow& window) {
    std::int64_t count = 1, rest = w;
    for (std::size_t axis = pool.in.size(); axis-- > 0; rest /= pool.out[axis])
      count *= counts[axis][static_cast<std::size_t>(rest % pool.out[axis])];
    for (std::int64_t p = 0; p < pool.planes; ++p) {
      Reals elements;
      elements.reserve(window.size());
      for (const std::int64_t place : window) elements.push_back(x[static_cast<std::size_t>(p * pool.size_in + place)]);
      y[static_cast<std::size_t>(p * pool.size_out + w)] = f(elements, static_cast<double>(count));
    }
  });
  return Values{Value(call.dtype(0), pool.shape, std::move(y))};
}

double sum_of(std::span<const double> all) {
  double sum = 0;
  for (const double x : all) sum += x;
  return sum;
}
double norm_of(std::span<const double> all, double p) {
  double sum = 0;
  for (const double x : all) sum += std::pow(std::abs(x), p);
  return std::pow(sum, 1 / p);
}

Outputs average_pool(const Call& call) {
  return pooled(call, [](const Reals& all, double count) { return sum_of(all) / count; });
}
Outputs lp_pool(const Call& call) {
  const auto p = static_cast<double>(call.integer("p", 2));
  return pooled(call, [=](const Reals& all, double) { return norm_of(all, p); });
}

template <class F>
Outputs global(const Call& call, F f) {
  ASSAY_TRY(const auto x, call.reals(0));
  if (call.operand(0).rank() < 2) return call.invalid("an input of rank below 2");
  Shape shape = call.shape(0);
  const auto planes = static_cast<std::size_t>(shape[0] * shape[1]), size = planes == 0 ? 0 : x.size() / planes;
  std::fill(shape.begin() + 2, shape.end(), 1);
  ASSAY_CHECK_OK(call.elements_of(shape));
  Reals y(planes);
  for (std::size_t p = 0; p < planes; ++p) y[p] = f(x.subspan(p * size, size));
  return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
}
Outputs global_average_pool(const Call& call) {
  return global(call, [](std::span<const double> all) { return sum_of(all) / static_cast<double>(all.size()); });
}
Outputs global_max_pool(const Call& call) {
  return global(call, [](std::span<const double> all) {
    double most = all.empty() ? 0 : -HUGE_VAL;
    for (const double x : all) most = largest_of(DType::kFloat64, most, x);
    return most;
  });
}
Outputs global_lp_pool(const Call& call) {
  const auto p = static_cast<double>(call.integer("p", 2));
  return global(call, [=](std::span<const double> all) { return norm_of(all, p); });
}

Outputs max_unpool(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto places, call.integers(1));
  const auto kernel = call.node().integers("kernel_shape");
  if (!kernel || call.operand(0).rank() < 3 || places.size() != x.size())
    return call.invalid("it has no kernel_shape, or places of another shape");
  ASSAY_TRY(const graph::Window window, window_of(call, call.shape(0), Shape(kernel->begin(), kernel->end())));
  // Places count the elements of the tensor that was pooled, whose extents these are; output_shape may be larger.
  Shape pooled{call.shape(0)[0], call.shape(0)[1]};
  for (std::size_t i = 0; i < kernel->size(); ++i)
    pooled.push_back((call.shape(0)[i + 2] - 1) * window.stride[i] + window.kernel[i] - window.before[i] -
                     window.after[i]);
  ASSAY_CHECK_OK(call.elements_of(pooled));
  Shape shape = pooled;
  if (call.has(2)) {
    ASSAY_TRY(const auto given, call.integers(2));
    shape.assign(given.begin(), given.end());
    if (shape.size() != pooled.size()) return call.invalid("output_shape has another rank");
  }
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals y(count, 0.0);
  const std::vector<std::int64_t> strides = strides_of(pooled), to = strides_of(shape);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (places[i] < 0 || places[i] >= count_of(pooled))
      return call.invalid("a place beyond the tensor that was pooled");
    std::int64_t place = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t at = places[i] / strides[axis] % pooled[axis];
      inside = inside && at < shape[axis];
      place += at * to[axis];
    }
    if (inside) y[static_cast<std::size_t>(place)] = x[i];
  }
  return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
}

}  // namespace

Operators pooling_operators() {
  return {{"AveragePool", &average_pool},
          {"GlobalAveragePool", &global_average_pool},
          {"GlobalLpPool", &global_lp_pool},
          {"GlobalMaxPool", &global_max_pool},
          {"LpPool", &lp_pool},
          {"MaxPool", &max_pool},
          {"MaxUnpool", &max_unpool, 2}};
}

}  // namespace assay::evaluate
