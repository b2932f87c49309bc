// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "zoo/layers/module.hpp"

namespace assay::zoo {

/// query position − key position of every pair of the S tokens, in [−farthest, farthest], plus `farthest`: an index
/// into a table by distance. `tokens` [B, S, …]; int64 [S, S].
Value distance_index(const Module& at, const Value& tokens, std::int64_t farthest);

/// MPNet's bias by distance (T5's buckets): parameter weight [rows, heads], of which the 32 buckets for distances up to
/// 128 are used. [1, heads, S, S], to be added to attention scores.
Value bucketed_bias(const Module& at, const Value& tokens, std::int64_t rows, std::int64_t heads);

}  // namespace assay::zoo
