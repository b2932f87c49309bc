// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "models/lower/static_program.hpp"

/// How Resize and Upsample compute an output, for both dialects. Each axis is sampled by itself: an element of the
/// output is one element of the input, or a sum of a few with weights.
///
/// Source of the formulas: ONNX's description of Resize (operator sets 10 to 19) and its reference implementation in
/// the package onnx, `onnx.reference`, which is where the expected results of ONNX's tests come from. The kernel of
/// cubic convolution is that of R. G. Keys, "Cubic convolution interpolation for digital image processing" (1981),
/// equation 4. Where description and implementation differ, the implementation is followed:
///   - align_corners, tf_crop_and_resize and pytorch_half_pixel use extent · scale as the length of the output, which
///     need not be an integer; the description uses the output's extent;
///   - pytorch_half_pixel reads at −0.5 if that length is 1, the description at 0. Only cubic sampling differs.
namespace assay::lowering {

/// An axis that changes.
struct ResizedAxis {
  std::int64_t axis = 0;          ///< axis of the input, counted from 0
  std::int64_t from = 0, to = 0;  ///< its extents in the input and in the output; at least 1
  double scale = 1, length = 1;   ///< length: from · scale
  double begin = 0, end = 1;      ///< the region that tf_crop_and_resize reads; 1 is the last element
};

struct Resize {
  enum class Mode { kNearest, kLinear, kCubic };
  Mode mode = Mode::kNearest;
  std::string_view coordinates, rounding;  ///< coordinate_transformation_mode, nearest_mode
  double cubic = -0.75;                    ///< the number `a` of the cubic kernel
  double outside = 0;                      ///< extrapolation_value
  bool excludes_outside = false, antialias = false;
  std::vector<ResizedAxis> axes{};  ///< axes that change, in the order in which the node names them
};

/// Errors: unsupported: a mode that ONNX does not have, scales, sizes or a region that are not constants or of another
/// rank, an axis that is empty or has 2^31 elements or more.
[[nodiscard]] Result<Resize> read_resize(const StaticProgram& program, const graph::Node& node);

/// Element i of an axis of the output is the sum over k of `weights[k · to + i]` times the element
/// `places[k · to + i]` of the input, or Resize::outside.
struct Samples {
  std::int64_t to = 0, taps = 1;        ///< elements of the axis; how many places each has
  std::vector<std::int64_t> places{};   ///< [taps, to]; each is a place of the input
  std::vector<double> weights{};        ///< [taps, to]; empty if the mode is nearest: then one place has the weight 1
  std::vector<std::int64_t> outside{};  ///< [to]; 1: Resize::outside; empty: none is
};

/// Errors: unsupported: the node needs more than kMostSamples places and weights on one axis.
[[nodiscard]] Result<Samples> samples_of(const graph::Node& node, const Resize& resize, const ResizedAxis& axis);
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;  ///< 256 MiB as int64 and float64

/// Whether the weights are few enough for a dense matrix, whose product is faster than reading `taps` places.
[[nodiscard]] bool is_small_matrix(const ResizedAxis& axis);
/// [to, from] in row-major order: how much of each element of the input belongs to an element of the output.
[[nodiscard]] std::vector<double> matrix_of(const Samples& samples, std::int64_t from);

/// The type that sums of weighted elements are computed in: float32 if it has all numbers of `dtype`, else float64.
[[nodiscard]] DType resize_type(DType dtype);

/// The numbers that an integer type has, as far as a double has them. Results are rounded to integers, halves to even,
/// and limited to these.
struct IntegerRange {
  double lowest = 0, highest = 0;
};
[[nodiscard]] IntegerRange integer_range(DType dtype);

/// Resize::outside as an element of `dtype`.
[[nodiscard]] double outside_element(const Resize& resize, DType dtype);

}  // namespace assay::lowering
