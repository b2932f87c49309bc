// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace assay::zoo {

Value distance_index(const Module& at, const Value& queries, const Value& keys, std::int64_t farthest) {
  GraphBuilder& graph = at.graph();
  const Value distance = at.node(
      "Sub", {at.node("Unsqueeze", {keys, graph.integers({0})}), at.node("Unsqueeze", {queries, graph.integers({1})})});
  const Value clipped = at.node("Clip", {distance, graph.integer(-farthest), graph.integer(farthest)});
  return at.node("Add", {clipped, graph.integer(farthest)});
}

std::int64_t bucket_of(std::int64_t distance, const DistanceBuckets& buckets) {
  std::int64_t count = buckets.count;
  std::int64_t first = 0;
  if (buckets.both_directions) {
    count /= 2;
    if (distance > 0) first = count;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = count / 2;
  if (distance < exact) return first + distance;
  const auto range = static_cast<float>(std::log(static_cast<double>(buckets.farthest) / static_cast<double>(exact)));
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / range;
  const float beyond = share * static_cast<float>(count - exact);
  const std::int64_t large = buckets.rounds_sum ? static_cast<std::int64_t>(static_cast<float>(exact) + beyond)
                                                : exact + static_cast<std::int64_t>(beyond);
  return first + std::min(large, count - 1);
}

Value distance_bias(const Module& at, const DistanceBuckets& buckets, std::int64_t heads, const Value& query_positions,
                    const Value& key_positions) {
  GraphBuilder& graph = at.graph();
  std::vector<std::int64_t> numbers;
  for (std::int64_t distance = -buckets.farthest; distance <= buckets.farthest; ++distance) {
    numbers.push_back(bucket_of(distance, buckets));
  }
  const Value weight = at.parameter("weight", {std::max(buckets.rows, buckets.count), heads}, Role::kTable);
  const Value by_distance = at.node("Transpose", {at.node("Gather", {weight, graph.integers(numbers)})},
                                    {{"perm", std::vector<std::int64_t>{1, 0}}});
  const Value index = distance_index(at, query_positions, key_positions, buckets.farthest);
  const Value bias = at.node("Gather", {by_distance, index}, {{"axis", std::int64_t{1}}});
  return at.node("Unsqueeze", {bias, graph.integers({0})});
}

}  // namespace assay::zoo
