// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

/// key position − query position of every pair, in [−farthest, farthest], plus `farthest`: an index into a table by
/// distance. `queries` [Q], `keys` [K]: positions, int64. Shape: int64 [Q, K].
Value distance_index(const Module& at, const Value& queries, const Value& keys, std::int64_t farthest);

/// Buckets of distances between positions (Raffel et al. 2019, arXiv:1910.10683): small ones exactly, larger ones by
/// their logarithm.
struct DistanceBuckets {
  std::int64_t count = 0;        ///< number of buckets, both directions together
  std::int64_t farthest = 0;     ///< every distance from here on is in the last bucket
  bool both_directions = false;  ///< otherwise later positions share the bucket of distance 0
  bool rounds_sum = false;       ///< wavlm adds the first bucket's number before it cuts off the fraction
  std::int64_t rows = 0;         ///< number of rows of the table, if it has more than `count`
};

/// The bucket of a distance, key position minus query position. float32 as transformers computes it: a bucket's edge is
/// where a logarithm's last bit decides. `farthest` must be above count / 2 (both directions: count / 4).
[[nodiscard]] std::int64_t bucket_of(std::int64_t distance, const DistanceBuckets& buckets);

/// A bias by distance for each head, [1, heads, Q, K], to be added to scores: parameter weight [count, heads]. A table
/// by distance, so that no graph computes logarithms. `query_positions`, `key_positions`: int64 [Q], [K].
Value distance_bias(const Module& at, const DistanceBuckets& buckets, std::int64_t heads, const Value& query_positions,
                    const Value& key_positions);

}  // namespace assay::zoo
