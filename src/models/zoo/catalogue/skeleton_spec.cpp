// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/skeleton_spec.hpp"

namespace assay::zoo {

const std::vector<SkeletonSpec>& skeleton_specs() {
  static const Words text = {"none",
                             "masked_lm",
                             "pre_training",
                             "next_sentence",
                             "sequence_classification",
                             "token_classification",
                             "question_answering",
                             "discriminator",
                             "first_token"};
  static const Words images = {"none", "image_classification"};
  static const std::vector<SkeletonSpec> all = {
      {"ast_encoder", {"none", "audio_classification"}, NoVariations{}},
      {"bart_encoder_decoder",
       {"none", "generation", "causal_lm", "classification", "question_answering", "audio_classification"},
       BartVariations{}},
      {"bert_encoder", text, TextVariations{}},
      {"clap_tower", {"similarity"}, NoVariations{}},
      {"clip_text", {"none", "projection"}, NoVariations{}},
      {"clip_vision", {"none", "projection"}, NoVariations{}},
      {"convbert_encoder", text, TextVariations{}},
      {"convnext_cnn", images, ConvNextVariations{}},
      {"deberta_encoder", text, TextVariations{}},
      {"decoder", {"none", "causal_lm", "masked_lm"}, DecoderVariations{}},
      {"detr_detector", {"none", "object_detection"}, DetrVariations{}},
      {"fnet_encoder", text, TextVariations{}},
      {"hifigan_vocoder", {"none"}, NoVariations{}},
      {"image_transformer", {"none", "pooled", "first", "mean", "first_and_mean", "teacher"}, NoVariations{}},
      {"lilt_encoder", text, TextVariations{}},
      {"llava", {"none", "causal_lm"}, LlavaVariations{}},
      {"mobilebert_encoder", text, TextVariations{}},
      {"nystromformer_encoder", text, TextVariations{}},
      {"poolformer_cnn", images, NoVariations{}},
      {"regnet_cnn", images, NoVariations{}},
      {"resnet_cnn", images, NoVariations{}},
      {"segformer", {"none", "image_classification", "semantic_segmentation"}, NoVariations{}},
      {"squeezebert_encoder", text, TextVariations{}},
      {"swin_encoder", images, NoVariations{}},
      {"t5_encoder_decoder",
       {"none", "generation", "encoder", "classification", "question_answering", "token_classification"},
       T5Variations{}},
      {"two_tower", {"similarity", "image_classification"}, TwoTowerVariations{}},
      {"wav2vec2_encoder", {"none", "ctc", "classification", "frame_classification"}, Wav2Vec2Variations{}},
      {"xclip_tower", {"similarity"}, NoVariations{}},
  };
  return all;
}

}  // namespace assay::zoo
