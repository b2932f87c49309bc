// SPDX-License-Identifier: Apache-2.0
// GridSample, AffineGrid and DeformConv.
#include "models/evaluate/kernels/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/evaluate/kernels/convolution.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

enum class Sampling { kNearest, kLinear, kCubic };
enum class Beyond { kZeros, kBorder, kReflection };

/// Where one coordinate reads an axis: up to four places, −1 outside, and their weights.
struct Taps {
  std::array<std::int64_t, 4> places{};
  std::array<double, 4> weights{};
  std::size_t count = 0;
};

/// How GridSample reads an axis.
struct GridRules {
  Sampling mode = Sampling::kLinear;
  Beyond beyond = Beyond::kZeros;
  bool align_corners = false;
};

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const bool below = x < low;
  const double distance = below ? low - x : x - high, rest = std::fmod(distance, range);
  const bool even = std::fmod(std::floor(distance / range), 2) == 0;
  return even == below ? low + rest : high - rest;
}

double keys_kernel(double distance) {
  constexpr double kA = -0.75;
  const double x = std::abs(distance);
  if (x <= 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA : 0;
}

// `place` is counted in elements of an axis of `extent`.
Taps taps_of(double place, std::int64_t extent, const GridRules& rules) {
  const auto length = static_cast<double>(extent);
  const double low = rules.align_corners ? 0 : -0.5, high = rules.align_corners ? length - 1 : length - 0.5;
  if (rules.mode == Sampling::kNearest) place = std::nearbyint(place);
  if (place < low || place > high) {
    if (rules.beyond == Beyond::kBorder) place = std::clamp(place, 0.0, length - 1);
    if (rules.beyond == Beyond::kReflection && std::isfinite(place)) place = reflected(place, low, high);
  }
  Taps taps;
  if (std::isnan(place)) {  // NaN selects nothing
    taps.count = 1;
    taps.weights[0] = place;
    return taps;
  }
  place = std::clamp(place, -4.0, length + 4);  // farther away nothing changes
  const double below = std::floor(place);
  const int first = rules.mode == Sampling::kCubic ? -1 : 0;
  taps.count = rules.mode == Sampling::kNearest ? 1 : rules.mode == Sampling::kLinear ? 2 : 4;
  for (std::size_t i = 0; i < taps.count; ++i) {
    const double at = below + first + static_cast<double>(i);
    taps.weights[i] = rules.mode == Sampling::kNearest  ? 1
                      : rules.mode == Sampling::kLinear ? 1 - std::abs(at - place)
                                                        : keys_kernel(at - place);
    if (rules.beyond == Beyond::kZeros)
      taps.places[i] = at < 0 || at >= length ? -1 : static_cast<std::int64_t>(at);
    else if (rules.beyond == Beyond::kBorder)
      taps.places[i] = static_cast<std::int64_t>(std::clamp(at, 0.0, length - 1));
    else
      taps.places[i] = static_cast<std::int64_t>(std::clamp(std::trunc(reflected(at, low, high)), 0.0, length - 1));
  }
  return taps;
}

/// The places of an image that one point reads, and their weights: the products of those of all axes.
struct Point {
  std::vector<std::int64_t> places;
  Reals weights;
};

void combine_axes(std::span<const Taps> axes, const Shape& extents, Point& point) {
  point.places.assign(1, 0);
  point.weights.assign(1, 1.0);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    Point next;
    for (std::size_t i = 0; i < point.places.size(); ++i)
      for (std::size_t k = 0; k < axes[axis].count; ++k) {
        if (axes[axis].places[k] < 0) continue;
        next.places.push_back(point.places[i] * extents[axis] + axes[axis].places[k]);
        next.weights.push_back(point.weights[i] * axes[axis].weights[k]);
      }
    point = std::move(next);
  }
}

double read_point(const double* image, const Point& point) {
  double sum = 0;
  for (std::size_t i = 0; i < point.places.size(); ++i)
    if (point.weights[i] != 0) sum += point.weights[i] * image[point.places[i]];
  return sum;
}

Result<GridRules> grid_rules(const Call& call) {
  const std::string_view mode = call.text("mode", "linear"), beyond = call.text("padding_mode", "zeros");
  GridRules rules{.align_corners = call.integer("align_corners", 0) != 0};
  if (mode == "nearest")
    rules.mode = Sampling::kNearest;
  else if (mode == "cubic" || mode == "bicubic")
    rules.mode = Sampling::kCubic;
  else if (mode != "linear" && mode != "bilinear")
    return call.invalid("an unknown mode");
  if (beyond == "border")
    rules.beyond = Beyond::kBorder;
  else if (beyond == "reflection")
    rules.beyond = Beyond::kReflection;
  else if (beyond != "zeros")
    return call.invalid("an unknown padding_mode");
  return rules;
}

}  // namespace

Outputs grid_sample(const Call& call) {
  ASSAY_TRY(const GridRules rules, grid_rules(call));
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto grid, call.reals(1));
  const Shape &from = call.shape(0), &of_grid = call.shape(1);
  if (from.size() < 3 || of_grid.size() != from.size() || of_grid[0] != from[0] ||
      of_grid.back() != static_cast<std::int64_t>(from.size()) - 2)
    return call.invalid("the grid " + to_string(of_grid) + " does not fit the input " + to_string(from));
  const Shape extents(from.begin() + 2, from.end());
  const std::int64_t size = count_of(extents), channels = from[1], axes = of_grid.back();
  Shape shape{from[0], channels};
  shape.insert(shape.end(), of_grid.begin() + 1, of_grid.end() - 1);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  const std::int64_t points = count_of(Shape(of_grid.begin() + 1, of_grid.end() - 1));
  if (size == 0 && count > 0) return call.invalid("an image without elements");
  Reals y(count);
  const double cost = 50.0 + static_cast<double>(channels) * std::pow(4.0, axes);
  parallel(call.threads(), count == 0 ? 0 : from[0] * points, cost, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Taps> taps(static_cast<std::size_t>(axes));
    Point point;
    for (std::int64_t p = begin; p < end; ++p) {
      for (std::int64_t axis = 0; axis < axes; ++axis) {  // the grid names the last axis first
        const double at = grid[static_cast<std::size_t>(p * axes + axes - 1 - axis)];
        const std::int64_t extent = extents[static_cast<std::size_t>(axis)];
        const auto length = static_cast<double>(extent);
        const double place = rules.align_corners ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
        taps[static_cast<std::size_t>(axis)] = taps_of(place, extent, rules);
      }
      combine_axes(taps, extents, point);
      const std::int64_t n = p / points;
      for (std::int64_t c = 0; c < channels; ++c)
        y[static_cast<std::size_t>((n * channels + c) * points + p % points)] =
            read_point(x.data() + (n * channels + c) * size, point);
    }
  });
  return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
}

Outputs affine_grid(const Call& call) {
  ASSAY_TRY(const auto theta, call.reals(0));
  ASSAY_TRY(const auto size, call.integers(1));
  const auto axes = static_cast<std::int64_t>(size.size()) - 2;
  if (axes < 1 || call.shape(0) != Shape{size[0], axes, axes + 1})
    return call.invalid("its matrices " + to_string(call.shape(0)) + " do not fit the size");
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(axes);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  const bool align = call.integer("align_corners", 0) != 0;
  const Shape extents(size.begin() + 2, size.end());
  const std::int64_t points = count_of(extents);
  Reals y;
  y.reserve(count);
  Reals at(static_cast<std::size_t>(axes + 1), 1.0);  // the last axis first, then 1
  for (std::int64_t n = 0; count > 0 && n < size[0]; ++n)
    for (std::int64_t p = 0; p < points; ++p) {
      std::int64_t rest = p;
      for (std::int64_t axis = axes; axis-- > 0;) {
        const std::int64_t extent = extents[static_cast<std::size_t>(axis)];
        const auto i = static_cast<double>(rest % extent), length = static_cast<double>(extent);
        rest /= extent;
        at[static_cast<std::size_t>(axes - 1 - axis)] = !align        ? (2 * i + 1) / length - 1
                                                        : extent == 1 ? -1
                                                                      : 2 * i / (length - 1) - 1;
      }
      for (std::int64_t row = 0; row < axes; ++row) {
        double sum = 0;
        for (std::int64_t k = 0; k <= axes; ++k)
          sum += theta[static_cast<std::size_t>((n * axes + row) * (axes + 1) + k)] * at[static_cast<std::size_t>(k)];
        y.push_back(sum);
      }
    }
  return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
}

namespace {

/// The operands and extents of one DeformConv.
struct Deformed {
  graph::Window window;
  Shape extents, out;  ///< spatial, of the input and of the result
  std::span<const double> x, offsets, mask{};
  std::int64_t channels = 0, groups = 1;  ///< `groups`: those that share offsets
  std::int64_t taps = 1, points = 1;

  [[nodiscard]] Shape shape_of(std::int64_t batch, std::int64_t second) const {
    Shape shape{batch, second};
    shape.insert(shape.end(), out.begin(), out.end());
    return shape;
  }
};

// Where a tap of the window of a point reads each axis. `first`: of the offsets of this item, group and tap.
void read_taps(const Deformed& from, std::int64_t tap, std::int64_t point, std::int64_t first, std::span<Taps> taps) {
  for (std::size_t axis = taps.size(); axis-- > 0;) {
    const std::int64_t k = tap % from.window.kernel[axis], i = point % from.out[axis];
    tap /= from.window.kernel[axis];
    point /= from.out[axis];
    const auto place =
        static_cast<double>(i * from.window.stride[axis] - from.window.before[axis] + k * from.window.dilation[axis]);
    const auto offset = static_cast<std::size_t>(first + static_cast<std::int64_t>(axis) * from.points);
    taps[axis] = taps_of(place + from.offsets[offset], from.extents[axis], {});
  }
}

// The elements that the windows of item `n` read: [channels, taps, points].
void sample_columns(const Deformed& from, std::int64_t n, Reals& columns) {
  const std::int64_t per_group = from.channels / from.groups, size = count_of(from.extents);
  const auto axes = static_cast<std::int64_t>(from.extents.size());
  std::vector<Taps> taps(from.extents.size());
  Point point;
  for (std::int64_t item = 0; item < from.groups * from.taps * from.points; ++item) {
    const std::int64_t g = item / from.points / from.taps, tap = item / from.points % from.taps, p = item % from.points;
    const std::int64_t row = (n * from.groups + g) * from.taps + tap;
    read_taps(from, tap, p, row * axes * from.points + p, taps);
    combine_axes(taps, from.extents, point);
    const double share = from.mask.empty() ? 1.0 : from.mask[static_cast<std::size_t>(row * from.points + p)];
    for (std::int64_t c = g * per_group; c < (g + 1) * per_group; ++c)
      columns[static_cast<std::size_t>((c * from.taps + tap) * from.points + p)] =
          share * read_point(from.x.data() + (n * from.channels + c) * size, point);
  }
}

// Checks the operands, the bias excepted.
Result<Deformed> deformed(const Call& call) {
  const Shape &in = call.shape(0), &of_w = call.shape(1);
  if (in.size() < 3 || of_w.size() != in.size()) return call.invalid("its input or weights have another rank");
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto offsets, call.reals(2));
  ASSAY_TRY(graph::Window window, window_of(call, in, Shape(of_w.begin() + 2, of_w.end())));
  Deformed from{.window = std::move(window),
                .extents = Shape(in.begin() + 2, in.end()),
                .out = {},
                .x = x,
                .offsets = offsets,
                .channels = in[1],
                .groups = call.integer("offset_group", 1)};
  if (from.groups < 1 || from.groups > std::max<std::int64_t>(in[1], 1) || in[1] % from.groups != 0)
    return call.invalid("the channels do not fit the offset_group");
  for (std::size_t i = 0; i < from.extents.size(); ++i)
    from.out.push_back(std::max<std::int64_t>(from.window.count(i, from.extents[i]), 0));
  ASSAY_CHECK_OK(call.elements_of(from.out));
  from.taps = count_of(from.window.kernel);
  from.points = count_of(from.out);
  const Shape of_offsets = from.shape_of(in[0], from.groups * from.taps * static_cast<std::int64_t>(from.out.size())),
              of_mask = from.shape_of(in[0], from.groups * from.taps);
  if (call.shape(2) != of_offsets)
    return call.invalid("offsets " + to_string(call.shape(2)) + " instead of " + to_string(of_offsets));
  if (call.has(4)) {
    ASSAY_TRY(from.mask, call.reals(4));
    if (call.shape(4) != of_mask)
      return call.invalid("a mask " + to_string(call.shape(4)) + " instead of " + to_string(of_mask));
  }
  return from;
}

}  // namespace

// A convolution whose window reads places with offsets: they are sampled, then multiplied with the weights as a matrix.
Outputs deformed_convolution(const Call& call) {
  ASSAY_TRY(const Deformed from, deformed(call));
  ASSAY_TRY(const auto w, call.reals(1));
  const Shape& of_w = call.shape(1);
  const std::int64_t groups = call.integer("group", 1), batch = call.shape(0)[0], filters = of_w[0], own = of_w[1];
  if (groups < 1 || groups > std::max<std::int64_t>(from.channels, 1) || from.channels != own * groups ||
      filters % groups != 0)
    return call.invalid("the channels do not fit the weights and the group");
  std::span<const double> bias;
  if (call.has(3)) {
    ASSAY_TRY(bias, call.reals(3));
    if (static_cast<std::int64_t>(bias.size()) != filters) return call.invalid("the bias does not fit the weights");
  }
  Shape shape = from.shape_of(batch, filters);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  ASSAY_TRY(const std::size_t in_columns, call.elements_of({from.channels, from.taps, from.points}));
  if (count_of(from.extents) == 0 && count > 0) return call.invalid("an image without elements");
  Reals y(count, 0.0);
  const std::int64_t points = from.points, depth = own * from.taps, rows = filters / groups;
  parallel(call.threads(), batch, static_cast<double>(in_columns) * 50, [&](std::int64_t begin, std::int64_t end) {
    Reals columns(in_columns);
    for (std::int64_t n = begin; n < end; ++n) {
      sample_columns(from, n, columns);
      for (std::int64_t g = 0; g < groups; ++g)
        add_product({w.data() + g * rows * depth, depth, 1}, {columns.data() + g * depth * points, points, 1},
                    y.data() + (n * filters + g * rows) * points, rows, depth, points, 1);
      for (std::int64_t i = 0; !bias.empty() && i < filters * points; ++i)
        y[static_cast<std::size_t>(n * filters * points + i)] += bias[static_cast<std::size_t>(i / points)];
    }
  });
  return Values{Value(call.dtype(0), std::move(shape), std::move(y))};
}

}  // namespace assay::evaluate
