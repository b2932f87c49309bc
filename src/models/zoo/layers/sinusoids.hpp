// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace assay::zoo {

// Position tables that transformers computes. Each function returns a table [rows, width], row by row.

/// The table of Pegasus and Marian. The first half of row p has sin(p / 10000^(2i/width)), the second half the cosines
/// of the same angles.
[[nodiscard]] std::vector<float> halved_sinusoids(std::int64_t rows, std::int64_t width);

/// The table of fairseq. The first half of row p has sin(p · 10000^(-i / (width/2 - 1))), the second half the cosines
/// of the same angles; `cosines_first` exchanges the halves. If `width` is odd, the last column is zero. Row `padding`
/// is zero; if `padding` is negative, no row is.
[[nodiscard]] std::vector<float> fairseq_sinusoids(std::int64_t rows, std::int64_t width, std::int64_t padding,
                                                   bool cosines_first = false);

}  // namespace assay::zoo
