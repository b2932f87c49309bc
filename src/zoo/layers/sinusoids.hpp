// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace assay::zoo {

// Tables of positions that transformers computes instead of learning them. Row by row, [rows, width] float32.

/// Pegasus's and Marian's: sines in the first half of a row, cosines in the second, of position / 10000^(2i/width).
[[nodiscard]] std::vector<float> halved_sinusoids(std::int64_t rows, std::int64_t width);

/// fairseq's: position · 10000^(-i / (width/2 - 1)), sines then cosines; a last column of zeros where width is odd; the
/// row of the padding token is zero (`padding` < 0: none is). `cosines_first`: the halves the other way round.
[[nodiscard]] std::vector<float> fairseq_sinusoids(std::int64_t rows, std::int64_t width, std::int64_t padding,
                                                   bool cosines_first = false);

}  // namespace assay::zoo
