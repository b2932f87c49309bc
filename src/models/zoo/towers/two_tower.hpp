// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// CLIP's towers and those made after it: a text transformer and a vision transformer, each pooled into one vector.

struct Tower {
  Value hidden;                 ///< [B, tokens, hidden], as the tower's model returns it
  std::int64_t tokens = 0;      ///< 0: dynamic
  std::int64_t width = 0;       ///< width of `hidden`
  std::optional<Value> pooled;  ///< [B, pooled_width]
  std::int64_t pooled_width = 0;
};

/// The text tower of `config` (a clip_text_model or the like) at `base`: takes input_ids and, if they are wanted,
/// attention_mask and position_ids. Errors: those of inputs and configuration.
[[nodiscard]] Result<Tower> clip_text_tower(BuildContext& context, const Module& base, const Config& config);

/// The same for a text encoder of the skeleton bert_encoder; takes token_type_ids, too, if they are wanted.
[[nodiscard]] Result<Tower> bert_text_tower(BuildContext& context, const Module& base, const Config& config);

/// The vision tower at `base`; its input pixel_values gets the batch symbol `batch`. `pooled`: whether the pooled row
/// is wanted.
[[nodiscard]] Result<Tower> clip_vision_tower(const Module& base, const Config& config, Inputs& inputs,
                                              const std::string& batch, bool pooled);

/// x / |x| over the last axis.
[[nodiscard]] Value normalised(const Module& at, const Value& input);

}  // namespace assay::zoo
