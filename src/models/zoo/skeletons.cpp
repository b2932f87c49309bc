// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/skeletons.hpp"

#include <map>

#include "models/zoo/audio/audio_skeletons.hpp"
#include "models/zoo/decoder/decoder_skeletons.hpp"
#include "models/zoo/encoder_decoder/encoder_decoder_skeletons.hpp"
#include "models/zoo/text/text_skeletons.hpp"
#include "models/zoo/towers/tower_skeletons.hpp"
#include "models/zoo/vision/vision_skeletons.hpp"

namespace assay::zoo {

Skeleton find_skeleton(const std::string& name) {
  static const std::map<std::string, Skeleton> all = {
      {"ast_encoder", build_ast_encoder},
      {"bart_encoder_decoder", build_bart_encoder_decoder},
      {"bert_encoder", build_bert_encoder},
      {"clap_tower", build_clap_tower},
      {"clip_text", build_clip_text},
      {"clip_vision", build_clip_vision},
      {"convbert_encoder", build_convbert_encoder},
      {"convnext_cnn", build_convnext_cnn},
      {"deberta_encoder", build_deberta_encoder},
      {"decoder", build_decoder},
      {"detr_detector", build_detr_detector},
      {"fnet_encoder", build_fnet_encoder},
      {"image_transformer", build_image_transformer},
      {"hifigan_vocoder", build_hifigan_vocoder},
      {"lilt_encoder", build_lilt_encoder},
      {"llava", build_llava},
      {"mobilebert_encoder", build_mobilebert_encoder},
      {"nystromformer_encoder", build_nystromformer_encoder},
      {"poolformer_cnn", build_poolformer_cnn},
      {"regnet_cnn", build_regnet_cnn},
      {"resnet_cnn", build_resnet_cnn},
      {"segformer", build_segformer},
      {"squeezebert_encoder", build_squeezebert_encoder},
      {"swin_encoder", build_swin_encoder},
      {"t5_encoder_decoder", build_t5_encoder_decoder},
      {"two_tower", build_two_tower},
      {"wav2vec2_encoder", build_wav2vec2_encoder},
      {"xclip_tower", build_xclip_tower},
  };
  const auto found = all.find(name);
  ASSAY_CHECK(found != all.end(), "zoo/*.json names a skeleton that is there");
  return found->second;
}

}  // namespace assay::zoo
