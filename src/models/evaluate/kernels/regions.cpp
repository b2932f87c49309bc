// SPDX-License-Identifier: Apache-2.0
// RoiAlign and MaxRoiPool: regions of images, each in a fixed number of bins.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/evaluate/kernels/sampling.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

constexpr double kMostSamplesOfBin = 1 << 16;  // on one axis

/// One sample on one axis: two neighbours and their shares, which are 0 outside of the image.
struct Between {
  std::int64_t low = 0, high = 0;
  double low_share = 0, high_share = 0;
};

Between between(double at, std::int64_t extent) {
  if (!(at >= -1 && at <= static_cast<double>(extent))) return {};
  at = std::clamp(at, 0.0, static_cast<double>(extent - 1));
  const auto low = static_cast<std::int64_t>(at);
  const double share = at - static_cast<double>(low);
  return {low, std::min(low + 1, extent - 1), 1 - share, share};
}

/// The samples of a region on one axis: `per_bin` for each bin.
struct AxisSamples {
  std::vector<Between> all;
  std::int64_t per_bin = 0;
};

Result<AxisSamples> axis_samples(const Call& call, double begin, double end, bool half_pixel, std::int64_t bins,
                                 std::int64_t extent) {
  const double length = half_pixel ? end - begin : std::max(end - begin, 1.0), bin = length / static_cast<double>(bins);
  const std::int64_t stated = call.integer("sampling_ratio", 0);
  const double per_bin = stated > 0 ? static_cast<double>(stated) : std::ceil(bin);
  if (!(per_bin <= kMostSamplesOfBin)) return call.invalid("a region with too many samples");
  AxisSamples samples{.all = {}, .per_bin = static_cast<std::int64_t>(std::max(per_bin, 0.0))};
  ASSAY_CHECK_OK(call.elements_of({bins, samples.per_bin}));
  for (std::int64_t i = 0; i < bins * samples.per_bin; ++i)
    samples.all.push_back(
        between(begin + bin * (static_cast<double>(i) + 0.5) / static_cast<double>(samples.per_bin), extent));
  return samples;
}

double bin_of(const double* image, std::int64_t width, std::span<const Between> rows, std::span<const Between> columns,
              bool most) {
  double sum = 0;
  bool first = true;
  for (const Between& y : rows)
    for (const Between& x : columns) {
      const std::array<double, 4> parts{y.low_share * x.low_share * image[y.low * width + x.low],
                                        y.low_share * x.high_share * image[y.low * width + x.high],
                                        y.high_share * x.low_share * image[y.high * width + x.low],
                                        y.high_share * x.high_share * image[y.high * width + x.high]};
      // "max" takes the largest of the four products: so do ONNX's reference and its tests.
      if (most)
        sum = first ? std::ranges::max(parts) : std::max(sum, std::ranges::max(parts));
      else
        sum += parts[0] + parts[1] + parts[2] + parts[3];
      first = false;
    }
  return most ? sum : sum / static_cast<double>(std::max<std::size_t>(rows.size() * columns.size(), 1));
}

}  // namespace

Outputs region_align(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto regions, call.reals(1));
  ASSAY_TRY(const auto images, call.integers(2));
  const Shape& in = call.shape(0);
  const auto count = static_cast<std::int64_t>(images.size());
  if (in.size() != 4 || call.shape(1) != Shape{count, 4}) return call.invalid("its inputs have other ranks or extents");
  const std::int64_t height = call.integer("output_height", 1), width = call.integer("output_width", 1);
  if (height < 1 || width < 1 || height > 1 << 16 || width > 1 << 16)
    return call.invalid("an output of no or too many bins");
  const double scale = call.number("spatial_scale", 1);
  const bool half = call.text("coordinate_transformation_mode",
                              call.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const bool most = call.text("mode", "avg") == "max";
  const Shape shape{count, in[1], height, width};
  ASSAY_TRY(const std::size_t elements, call.elements_of(shape));
  Reals y;
  y.reserve(elements);
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t image = images[static_cast<std::size_t>(r)];
    if (image < 0 || image >= in[0]) return call.invalid("a region of an image that is not there");
    if (in[2] < 1 || in[3] < 1) return call.invalid("an image without elements");
    const auto corner = [&](std::size_t i) {
      return regions[static_cast<std::size_t>(r) * 4 + i] * scale - (half ? 0.5 : 0);
    };
    ASSAY_TRY(const AxisSamples columns, axis_samples(call, corner(0), corner(2), half, width, in[3]));
    ASSAY_TRY(const AxisSamples rows, axis_samples(call, corner(1), corner(3), half, height, in[2]));
    const auto of_bin = [](const AxisSamples& samples, std::int64_t bin) {
      return std::span(samples.all)
          .subspan(static_cast<std::size_t>(bin * samples.per_bin), static_cast<std::size_t>(samples.per_bin));
    };
    for (std::int64_t c = 0; c < in[1]; ++c) {
      const double* const plane = x.data() + (image * in[1] + c) * in[2] * in[3];
      for (std::int64_t i = 0; i < height; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          y.push_back(bin_of(plane, in[3], of_bin(rows, i), of_bin(columns, j), most));
    }
  }
  return Values{Value(call.dtype(0), shape, std::move(y))};
}

Outputs region_pool(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto regions, call.reals(1));
  const Shape& in = call.shape(0);
  const auto pooled = call.node().integers("pooled_shape");
  if (in.size() != 4 || call.operand(1).rank() != 2 || call.shape(1)[1] != 5 || !pooled || pooled->size() != 2)
    return call.invalid("its inputs or pooled_shape have other ranks or extents");
  const double scale = call.number("spatial_scale", 1);
  const Shape shape{call.shape(1)[0], in[1], (*pooled)[0], (*pooled)[1]};
  if (shape[2] < 1 || shape[3] < 1) return call.invalid("an output of no bins");
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals y;
  y.reserve(count);
  for (std::int64_t r = 0; r < shape[0]; ++r) {
    const double* const region = regions.data() + r * 5;
    const bool finite = std::all_of(region, region + 5, [](double one) { return std::isfinite(one); });
    if (!finite || region[0] < 0 || region[0] >= static_cast<double>(in[0]))
      return call.invalid("a region of an image that is not there");
    // A bin of an axis: its first element and the one behind its last.
    const auto bin = [&](std::size_t axis, std::int64_t i) {
      const double begin = std::round(region[2 - axis] * scale), end = std::round(region[4 - axis] * scale);
      const double size = std::max(end - begin + 1, 1.0) / static_cast<double>(shape[2 + axis]);
      const auto limit = [&](double at) {
        return static_cast<std::int64_t>(std::clamp(at + begin, 0.0, static_cast<double>(in[2 + axis])));
      };
      return std::pair(limit(std::floor(static_cast<double>(i) * size)),
                       limit(std::ceil(static_cast<double>(i + 1) * size)));
    };
    for (std::int64_t c = 0; c < in[1]; ++c) {
      const double* const plane = x.data() + (static_cast<std::int64_t>(region[0]) * in[1] + c) * in[2] * in[3];
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t j = 0; j < shape[3]; ++j) {
          const auto [top, bottom] = bin(0, i);
          const auto [left, right] = bin(1, j);
          double most = top < bottom && left < right ? -HUGE_VAL : 0;
          for (std::int64_t h = top; h < bottom; ++h)
            for (std::int64_t w = left; w < right; ++w) most = std::max(most, plane[h * in[3] + w]);
          y.push_back(most);
        }
    }
  }
  return Values{Value(call.dtype(0), shape, std::move(y))};
}

}  // namespace assay::evaluate
