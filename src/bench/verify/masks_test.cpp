// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/verify/verify.hpp"

namespace assay {
namespace {

const std::vector<NamedShape> kEncoderOnly{{"input_ids", {2, 12}}, {"attention_mask", {2, 12}}};
const std::vector<NamedShape> kEncoderDecoder{{"input_ids", {2, 12}},
                                              {"attention_mask", {2, 12}},
                                              {"decoder_input_ids", {2, 12}},
                                              {"decoder_attention_mask", {2, 12}}};

TEST(Masks, ApplyToOutputsPerToken) {
  EXPECT_EQ(mask_for("last_hidden_state", {2, 12, 32}, kEncoderOnly), 1U);
  EXPECT_EQ(mask_for("logits", {2, 12, 99}, kEncoderOnly), 1U);
  EXPECT_EQ(mask_for("start_logits", {2, 12}, kEncoderOnly), 1U);
}

TEST(Masks, DoNotApplyToPooledOutputsOfTheSameShape) {
  EXPECT_EQ(mask_for("pooler_output", {2, 12}, kEncoderOnly), std::nullopt);
  EXPECT_EQ(mask_for("text_embeds", {2, 12}, kEncoderOnly), std::nullopt);
}

TEST(Masks, NeedTheOutputsOwnTokenAxis) {
  EXPECT_EQ(mask_for("last_hidden_state", {2, 13, 32}, kEncoderOnly), std::nullopt);
  EXPECT_EQ(mask_for("image_embeds", {2, 12, 32}, kEncoderOnly), std::nullopt);
  EXPECT_EQ(mask_for("vision_output", {2, 12, 32}, kEncoderOnly), std::nullopt);
}

TEST(Masks, OfTheDecoderApplyToItsOutputs) {
  EXPECT_EQ(mask_for("logits", {2, 12, 99}, kEncoderDecoder), 3U);
  EXPECT_EQ(mask_for("encoder_last_hidden_state", {2, 12, 32}, kEncoderDecoder), 1U);
  std::vector<NamedShape> unmasked = kEncoderDecoder;
  unmasked.pop_back();
  EXPECT_EQ(mask_for("logits", {2, 12, 99}, unmasked), std::nullopt) << "the encoder's mask is not the decoder's";
}

TEST(Masks, OfOtherThingsMaskNothing) {
  const std::vector<NamedShape> inputs{{"global_attention_mask", {2, 12}},
                                       {"pixel_mask", {2, 12}},
                                       {"cross_attention_mask", {2, 12}},
                                       {"encoder_attention_mask", {2, 12}},
                                       {"image_embeds_position_mask", {2, 12}}};
  EXPECT_EQ(mask_for("logits", {2, 12, 99}, inputs), std::nullopt);
}

TEST(Masks, OfEntitiesApplyToEntities) {
  const std::vector<NamedShape> inputs{{"attention_mask", {2, 3}}, {"entity_attention_mask", {2, 3}}};
  EXPECT_EQ(mask_for("entity_last_hidden_state", {2, 3, 32}, inputs), 1U);
  EXPECT_EQ(mask_for("last_hidden_state", {2, 3, 32}, inputs), 0U);
}

TEST(Masks, AreLookedForInFewInputs) {
  EXPECT_TRUE(matters_to_masks("attention_mask"));
  EXPECT_TRUE(matters_to_masks("decoder_input_ids"));
  EXPECT_FALSE(matters_to_masks("pixel_values"));
}

}  // namespace
}  // namespace assay
