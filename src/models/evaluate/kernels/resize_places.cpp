// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/resize_places.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace assay::evaluate {
namespace {

// Scales are float32: 49 times a scale of 1/49 is only nearly 1.
bool is_one(float length) { return std::abs(length - 1) < 1e-6F; }

// The place of the input that element `x` of the output shows.
float original_place(const ResizeRules& rules, const ResizedAxis& axis, float x) {
  const auto from = static_cast<float>(axis.from), to = static_cast<float>(axis.to);
  if (rules.coordinates == "asymmetric") return x / axis.scale;
  if (rules.coordinates == "tf_half_pixel_for_nn") return (x + 0.5F) / axis.scale;
  if (rules.coordinates == "align_corners") return is_one(axis.length) ? 0 : x * (from - 1) / (axis.length - 1);
  if (rules.reads_a_region()) {
    if (is_one(axis.length)) return 0.5F * (axis.begin + axis.end) * (from - 1);
    return axis.begin * (from - 1) + x * (axis.end - axis.begin) * (from - 1) / (axis.length - 1);
  }
  if (rules.coordinates == "pytorch_half_pixel" && is_one(axis.length)) return 0;
  const float half_pixel = (x + 0.5F) / axis.scale - 0.5F;
  return rules.coordinates == "half_pixel_symmetric" ? from / 2 * (1 - to / axis.length) + half_pixel : half_pixel;
}

float nearest_place(std::string_view rounding, float place) {
  if (rounding == "floor") return std::floor(place);
  if (rounding == "ceil") return std::ceil(place);
  const float below = std::floor(place), share = place - below;
  return share > 0.5F || (share == 0.5F && rounding == "round_prefer_ceil") ? below + 1 : below;
}

// The weight of an element at a distance from the place. Cubic: R. G. Keys, "Cubic convolution interpolation for
// digital image processing" (1981), equation 4.
double weight_at(const ResizeRules& rules, double distance) {
  const double s = std::abs(distance), a = rules.cubic;
  if (rules.mode == ResizeMode::kLinear) return std::max(0.0, 1 - s);
  if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
  return s < 2 ? a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a : 0;
}

/// How far around a place elements have a weight.
struct SamplingKernel {
  double narrow = 1;  ///< below 1: as many times wider as the axis becomes shorter
  double reach = 1;
};

SamplingKernel kernel_of(const ResizeRules& rules, const ResizedAxis& axis) {
  const double narrow = rules.antialias ? std::min(static_cast<double>(axis.scale), 1.0) : 1;
  return {narrow, (rules.mode == ResizeMode::kCubic ? 2 : 1) / narrow};
}

// The places and weights of one element, which shows `place`. Beyond the border the element at the border repeats.
void weigh(const ResizeRules& rules, const ResizedAxis& axis, const SamplingKernel& kernel, double place,
           std::span<std::int64_t> places, std::span<double> weights) {
  const auto first = static_cast<std::int64_t>(std::floor(place - kernel.reach)) + 1;
  double total = 0;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::int64_t at = first + static_cast<std::int64_t>(k);
    const bool counts = !rules.excludes_outside || (at >= 0 && at < axis.from);
    weights[k] = counts ? weight_at(rules, (static_cast<double>(at) - place) * kernel.narrow) : 0;
    total += weights[k];
    places[k] = std::clamp<std::int64_t>(at, 0, axis.from - 1);
  }
  if ((rules.excludes_outside || rules.antialias) && total != 0)
    for (double& weight : weights) weight /= total;
}

}  // namespace

Result<AxisPlaces> places_of(const Call& call, const ResizeRules& rules, const ResizedAxis& axis) {
  const bool nearest = rules.mode == ResizeMode::kNearest;
  const SamplingKernel kernel = kernel_of(rules, axis);
  const double taps = nearest ? 1 : std::ceil(2 * kernel.reach);
  if (!(taps <= static_cast<double>(kMostElements))) return call.unsupported("an axis that becomes so much shorter");
  AxisPlaces found{.taps = static_cast<std::int64_t>(taps)};
  ASSAY_TRY(const std::size_t count, call.elements_of({axis.to, found.taps}));
  found.places.assign(count, -1);
  found.weights.assign(count, 1.0);
  const auto size = static_cast<std::size_t>(found.taps);
  const auto last = static_cast<float>(axis.from - 1);
  for (std::int64_t i = 0; i < axis.to; ++i) {
    const float place = original_place(rules, axis, static_cast<float>(i));
    if (rules.reads_a_region() && !(place >= 0 && place <= last)) continue;
    const std::size_t begin = static_cast<std::size_t>(i) * size;
    if (nearest) {
      found.places[begin] = static_cast<std::int64_t>(std::clamp(nearest_place(rules.rounding, place), 0.0F, last));
      continue;
    }
    // Farther outside than the kernel reaches nothing changes.
    const double near =
        std::clamp(static_cast<double>(place), -kernel.reach - 1, static_cast<double>(axis.from) + kernel.reach + 1);
    weigh(rules, axis, kernel, near, std::span(found.places).subspan(begin, size),
          std::span(found.weights).subspan(begin, size));
  }
  return found;
}

}  // namespace assay::evaluate
