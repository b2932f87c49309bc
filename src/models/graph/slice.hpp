// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace assay::graph {

/// The part of an axis that Slice copies: `count` elements, the first at `begin`, each `step` places from the one
/// before. `step` is 1 if there are fewer than two.
struct AxisSlice {
  std::int64_t begin = 0, count = 0, step = 1;
  /// One beyond the last place, for a step above 0.
  [[nodiscard]] std::int64_t end() const { return count == 0 ? begin : begin + (count - 1) * step + 1; }
};

/// `start`, `end` and `step` are those of the node; step is not 0, extent not below 0. Source: NumPy's rule for slices,
/// which ONNX's reference implementation of Slice follows: numbers below 0 count from the end, and what is beyond the
/// axis is limited to it (with a step below 0: to the places −1 to extent − 1).
[[nodiscard]] AxisSlice slice_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent);

}  // namespace assay::graph
