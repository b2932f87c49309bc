// SPDX-License-Identifier: Apache-2.0
#include "zoo/layers/distance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "zoo/layers/tensors.hpp"

namespace assay::zoo {
namespace {

constexpr std::int64_t kBuckets = 32;
constexpr std::int64_t kFarthest = 128;

// float32 as transformers computes it: at a bucket's edge the last bit of a logarithm decides.
std::int64_t bucket_of(std::int64_t query_minus_key) {
  constexpr std::int64_t kHalf = kBuckets / 2;
  constexpr std::int64_t kExact = kHalf / 2;
  const std::int64_t first = query_minus_key < 0 ? kHalf : 0;
  const std::int64_t distance = std::abs(query_minus_key);
  if (distance < kExact) return first + distance;
  const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(kExact)) /
                      static_cast<float>(std::log(static_cast<double>(kFarthest) / static_cast<double>(kExact)));
  const auto far = kExact + static_cast<std::int64_t>(ratio * static_cast<float>(kHalf - kExact));
  return first + std::min(far, kHalf - 1);
}

}  // namespace

Value distance_index(const Module& at, const Value& tokens, std::int64_t farthest) {
  GraphBuilder& graph = at.graph();
  const Value range =
      at.node("Range", {graph.integer(0), scalar_extent(at, tokens, 1), graph.integer(1)}, {}, DType::kInt64);
  const Value distance = at.node(
      "Sub", {at.node("Unsqueeze", {range, graph.integers({1})}), at.node("Unsqueeze", {range, graph.integers({0})})});
  const Value clipped = at.node("Clip", {distance, graph.integer(-farthest), graph.integer(farthest)});
  return at.node("Add", {clipped, graph.integer(farthest)});
}

Value bucketed_bias(const Module& at, const Value& tokens, std::int64_t rows, std::int64_t heads) {
  GraphBuilder& graph = at.graph();
  std::vector<std::int64_t> buckets;
  for (std::int64_t distance = -kFarthest; distance <= kFarthest; ++distance) buckets.push_back(bucket_of(distance));
  const Value index = at.node("Gather", {graph.integers(buckets), distance_index(at, tokens, kFarthest)});
  const Value bias = at.node("Gather", {at.parameter("weight", {rows, heads}, Role::kTable), index});
  const Value by_head = at.node("Transpose", {bias}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}});
  return at.node("Unsqueeze", {by_head, graph.integers({0})});
}

}  // namespace assay::zoo
