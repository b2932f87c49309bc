// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/evaluate/kernel.hpp"

namespace assay::evaluate {
namespace {

/// A box by its corners, the lower ones first.
struct Box {
  double top, left, bottom, right;
};

Box box_at(const double* numbers, bool by_centre) {
  if (by_centre) {  // x, y, width, height
    const double half_width = numbers[2] / 2, half_height = numbers[3] / 2;
    return {numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height, numbers[0] + half_width};
  }
  return {std::min(numbers[0], numbers[2]), std::min(numbers[1], numbers[3]), std::max(numbers[0], numbers[2]),
          std::max(numbers[1], numbers[3])};
}

double area_of(const Box& box) { return (box.right - box.left) * (box.bottom - box.top); }

bool overlaps(const Box& a, const Box& b, double limit) {
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0 || area_of(a) <= 0 || area_of(b) <= 0) return false;
  const double both = width * height;
  return both / (area_of(a) + area_of(b) - both) > limit;
}

Outputs non_max_suppression(const Call& call) {
  ASSAY_TRY(const auto boxes, call.reals(0));
  ASSAY_TRY(const auto scores, call.reals(1));
  const Shape &of_boxes = call.shape(0), &of_scores = call.shape(1);
  if (of_boxes.size() != 3 || of_boxes[2] != 4 || of_scores.size() != 3 || of_scores[0] != of_boxes[0] ||
      of_scores[2] != of_boxes[1])
    return call.invalid("its boxes and scores do not fit together");
  std::int64_t most = 0;
  double overlap = 0, least = 0;
  const auto given = [&](std::size_t i) { return call.has(i) && call.operand(i).count() > 0; };
  if (given(2)) {
    ASSAY_TRY(most, call.integer_scalar(2));
  }
  if (given(3)) {
    ASSAY_TRY(overlap, call.scalar(3));
  }
  if (given(4)) {
    ASSAY_TRY(least, call.scalar(4));
  }
  const bool by_centre = call.integer("center_point_box", 0) != 0;
  const std::int64_t classes = of_scores[1], count = of_boxes[1];
  Integers selected;
  for (std::int64_t item = 0; item < of_boxes[0] * classes; ++item) {
    const std::int64_t batch = item / classes;
    const double* const score = scores.data() + item * count;
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < count; ++i)
      if (!given(4) || score[i] > least) order.push_back(i);
    // If scores are equal, the earlier box comes first. NaN comes last.
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return score[a] > score[b] || (!std::isnan(score[a]) && std::isnan(score[b]));
    });
    std::vector<Box> kept;
    for (const std::int64_t i : order) {
      if (static_cast<std::int64_t>(kept.size()) >= most) break;
      const Box box = box_at(boxes.data() + (batch * count + i) * 4, by_centre);
      if (std::ranges::any_of(kept, [&](const Box& other) { return overlaps(box, other, overlap); })) continue;
      kept.push_back(box);
      selected.insert(selected.end(), {batch, item % classes, i});
    }
  }
  const auto rows = static_cast<std::int64_t>(selected.size() / 3);
  return Values{Value(DType::kInt64, {rows, 3}, std::move(selected))};
}

}  // namespace

Operators detection_operators() { return {{"NonMaxSuppression", &non_max_suppression, 2}}; }

}  // namespace assay::evaluate
