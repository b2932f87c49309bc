// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/evaluate/kernel.hpp"

/// Which elements of the input Resize and Upsample read. Each axis is sampled by itself.
///
/// Source of the formulas: ONNX's description of Resize. Runtimes compute places in float32, and so does this: in
/// float64 an element beside the one that they read would be nearest. Where the description says "output_width" and the
/// node states scales, this is extent · scale, which need not be an integer, as in ONNX's tests.
/// Nothing here is shared with src/models/lower, whose engines the evaluator judges.
namespace assay::evaluate {

enum class ResizeMode { kNearest, kLinear, kCubic };

struct ResizeRules {
  ResizeMode mode = ResizeMode::kNearest;
  std::string_view coordinates{}, rounding{};  ///< coordinate_transformation_mode, nearest_mode
  double cubic = -0.75;                        ///< the number `a` of the cubic kernel
  double outside = 0;                          ///< extrapolation_value
  bool excludes_outside = false, antialias = false;

  [[nodiscard]] bool reads_a_region() const { return coordinates == "tf_crop_and_resize"; }
};

/// An axis that changes: number `axis` of the input, counted from 0. `length` is the extent of the output or, if the
/// node states scales, from · scale.
struct ResizedAxis {
  std::int64_t axis = 0;
  std::int64_t from = 0, to = 0;  ///< its extents in the input and in the output; at least 1
  float scale = 1;
  float length = 1;
  float begin = 0, end = 1;  ///< the region that tf_crop_and_resize reads; 1 is the last element
};

/// Element i of the output is the sum over k of `weights[i · taps + k]` times the element `places[i · taps + k]`.
struct AxisPlaces {
  std::int64_t taps = 1;
  std::vector<std::int64_t> places{};  ///< [to, taps]; −1: not the input, but ResizeRules::outside
  std::vector<double> weights{};       ///< [to, taps]
};
/// Errors: those of Call::elements_of.
[[nodiscard]] Result<AxisPlaces> places_of(const Call& call, const ResizeRules& rules, const ResizedAxis& axis);

}  // namespace assay::evaluate
