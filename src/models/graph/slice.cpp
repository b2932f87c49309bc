// SPDX-License-Identifier: Apache-2.0
#include "models/graph/slice.hpp"

#include <algorithm>

namespace assay::graph {

AxisSlice slice_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const bool forward = step > 0;
  const std::int64_t least = forward ? 0 : -1, most = forward ? extent : extent - 1;
  const auto place = [&](std::int64_t number) {
    const std::int64_t from_0 = number < 0 ? std::max(number, -extent - 1) + extent : number;
    return std::clamp(from_0, least, most);
  };
  const std::int64_t from = place(start), to = place(end);
  const std::int64_t span = forward ? to - from : from - to;
  if (span <= 0) return {};
  const std::int64_t width = forward ? step : step == INT64_MIN ? INT64_MAX : -step;
  const std::int64_t count = 1 + (span - 1) / width;
  return {from, count, count == 1 ? 1 : step};
}

}  // namespace assay::graph
