// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "bench/verify/verify.hpp"

namespace assay {
namespace {

constexpr std::string_view kMask = "attention_mask";
constexpr std::string_view kDecoder = "decoder_";
constexpr std::string_view kEncoder = "encoder_";

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return text.starts_with(p); });
}

// Outputs over patches, frames, boxes or entities: never along the text's axis, whatever their extents.
bool is_of_another_modality(std::string_view output) {
  constexpr std::array<std::string_view, 9> kOthers{"image",  "vision",     "visual",       "video",     "pixel",
                                                    "entity", "pred_boxes", "class_embeds", "objectness"};
  return begins_with_one_of(output, kOthers);
}

bool is_per_token(std::string_view output, std::size_t rank) {
  return rank >= 3 || output.ends_with("start_logits") || output.ends_with("end_logits");
}

bool speaks_of(std::string_view mask, std::string_view output, bool has_decoder) {
  const bool of_encoder = output.starts_with(kEncoder);
  if (mask == kMask) return has_decoder ? of_encoder : !is_of_another_modality(output);
  if (mask == "decoder_attention_mask") return !of_encoder;
  // "entity_attention_mask" speaks of "entity_last_hidden_state".
  return mask.ends_with(kMask) && output.starts_with(mask.substr(0, mask.size() - kMask.size()));
}

}  // namespace

bool matters_to_masks(std::string_view input) { return input.ends_with(kMask) || input.starts_with(kDecoder); }

std::optional<std::size_t> mask_for(std::string_view output, const Shape& shape, std::span<const NamedShape> inputs) {
  if (!is_per_token(output, shape.size())) return std::nullopt;
  const bool has_decoder =
      std::any_of(inputs.begin(), inputs.end(), [](const NamedShape& i) { return i.name.starts_with(kDecoder); });
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, extents] = inputs[i];
    if (extents.size() == 2 && std::equal(extents.begin(), extents.end(), shape.begin()) &&
        speaks_of(name, output, has_decoder))
      return i;
  }
  return std::nullopt;
}

}  // namespace assay
