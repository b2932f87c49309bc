// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.hpp"
#include "history/store/dataset.hpp"

namespace assay {

/// Results that differ in everything that makes cells incomparable: two machines of one host name, precisions requested
/// and really used, forms of the KV cache, threads, streams, options, weights; names that could be taken for markup.
[[nodiscard]] Dataset mixed_cells();

/// What C++ says of those: which rows are comparable, which are usable, the pairs of targets with their comparisons,
/// and the best of each cell. Rows by their ids.
[[nodiscard]] Json answers_about(const Dataset& data);

}  // namespace assay
