// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// What several kinds of models answer with.

/// The configuration's number of labels. Errors: unsupported ("num_labels") for 0.
[[nodiscard]] Result<std::int64_t> positive_label_count(const Config& config);

/// `pooled` [B, width] through `classifier`, or itself if the configuration has no labels (torch.nn.Identity).
[[nodiscard]] Value class_logits(const BuildContext& context, const Module& classifier, const Value& pooled,
                                 std::int64_t width);
/// The extents of class_logits().
[[nodiscard]] Extents class_extents(const BuildContext& context, std::int64_t width);
/// class_logits() as the graph's output "logits".
void give_class_logits(const BuildContext& context, const Module& classifier, const Value& pooled, std::int64_t width);

/// The mean over the tokens that `mask` [B, S] leaves. Shape: hidden [B, S, width]; the result [B, width].
[[nodiscard]] Value mean_of_tokens(const Module& at, const Value& hidden, const std::optional<Value>& mask);

/// Columns 0 and 1 of a linear layer's output as start_logits and end_logits. Extents: [batch, `sequence`].
void question_answering_outputs(const Module& at, const Value& logits, const std::string& sequence);

}  // namespace assay::zoo
