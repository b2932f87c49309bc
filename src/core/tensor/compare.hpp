// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {

/// |candidate - reference| <= absolute + relative * |reference|
struct Tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};

/// The result of comparing two outputs. Floats are compared in double, integers in their own type. One pass without
/// allocation; a second pass only if a sum of squares overflows. Sums (cosine, nmse, deviation) are over
/// the elements that are finite on both sides.
struct Comparison {
  std::int64_t elements = 0;      ///< number of compared elements, without masked positions
  std::int64_t exceeding = 0;     ///< elements outside the tolerance; NaN against a number is outside
  double max_abs_error = 0.0;     ///< infinity if NaNs or infinities do not match
  double max_rel_error = 0.0;     ///< |c - r| / max(|r|, smallest normal float)
  double worst_ratio = 0.0;       ///< max of |c - r| / (absolute + relative * |r|): <= 1 passes
  std::int64_t worst_index = -1;  ///< flat index of worst_ratio; -1 when nothing was compared
  double worst_reference = 0.0, worst_candidate = 0.0;
  double cosine = 1.0;     ///< cosine similarity; 1 if both vectors are zero, 0 if only one is
  double nmse = 0.0;       ///< sum((r-c)^2) / sum(r^2); a zero reference gives 0 if c is zero too, else infinity
  double agreement = 1.0;  ///< share of equal elements; the criterion for integer outputs
  std::int64_t nan_reference = 0, nan_candidate = 0, inf_reference = 0, inf_candidate = 0;
  double reference_deviation = 0.0;  ///< standard deviation of the reference's finite elements (divided by n)
  double reference_rms = 0.0;        ///< root of their mean square
  double reference_min = 0.0, reference_max = 0.0;  ///< range of the reference's finite elements
  bool reference_constant = false;                  ///< every element of the reference is the same
};

/// Compares element by element. NaN equals NaN at the same index and nothing else; infinities must agree in sign.
/// A difference is a finding, not an error. `mask`: same number of elements as a leading block of the shape
/// ([B, S] against [B, S, H]): rows whose mask is 0 are left out.
/// Errors: mismatch, when shape or dtype differ, or the mask is not a leading block; the message shows both sides.
///         unsupported for strings and complex numbers.
[[nodiscard]] Result<Comparison> compare(const TensorView& reference, const TensorView& candidate,
                                         const Tolerance& tolerance, const std::optional<TensorView>& mask = {});

}  // namespace assay
