// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/zoo/layers/blocks.hpp"

namespace assay::zoo {

// Pieces of audio models, over [B, channels, time].

struct Convolution1d {
  std::int64_t in = 0, out = 0, kernel = 1;
  std::int64_t stride = 1, dilation = 1, groups = 1;
  std::int64_t padding_left = 0, padding_right = 0;
  bool bias = true;
};
/// torch.nn.Conv1d: weight [out, in / groups, kernel], bias [out].
Value convolution_1d(const Module& at, const Value& input, const Convolution1d& shape);
/// The same with a weight that was computed.
Value convolution_1d_with(const Module& at, const Value& input, const Value& weight, const Convolution1d& shape);

/// torch's weight normalisation: original0 · original1 / ‖original1‖, the norm over every axis that original0
/// [`extents`] has one element along. Older files call them weight_g and weight_v: the architecture's "renames" say so.
Value normalised_weight(const Module& at, const Shape& shape, const std::vector<std::int64_t>& norm_axes);

/// Halves the channels: the first half times the sigmoid of the second.
Value gated_linear_unit(const Module& at, const Value& input);

/// [B, channels, time] ↔ [B, time, channels].
Value channels_last(const Module& at, const Value& input);

/// True if a step of `count` (T as int64 [1]) is left by a mask over samples [B, S] after convolutions without
/// padding, as transformers counts: by the number of ones, ⌊(n − kernel) / stride⌋ + 1 after each. Shape: bool [B, T].
///
/// Said without a division, of the last sample that a step sees: OpenVINO computes chains of integers in floats, where
/// 5 / 2 + 1 is 3.5.
Value remaining_steps(const Module& at, const Value& mask, const Value& count, const std::vector<std::int64_t>& kernels,
                      const std::vector<std::int64_t>& strides);

}  // namespace assay::zoo
