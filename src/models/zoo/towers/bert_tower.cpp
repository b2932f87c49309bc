// SPDX-License-Identifier: Apache-2.0
// The text encoders that are BERT or RoBERTa: chinese_clip's and clap's.
#include "models/zoo/layers/tensors.hpp"
#include "models/zoo/text/text_encoder.hpp"
#include "models/zoo/towers/two_tower.hpp"

namespace assay::zoo {

Result<Tower> bert_text_tower(BuildContext& context, const Module& base, const Config& config) {
  BuildContext own{base, config, context.inputs, context.states};
  ASSAY_TRY(const TextEncoder encoder, TextEncoder::read(own, base));
  ASSAY_TRY(const Embedded embedded, embed_text(encoder));
  base.graph().declare(embedded.hidden, {"batch", "sequence", encoder.hidden});
  ASSAY_TRY(const std::optional<Value> mask, mask_input(encoder));
  ASSAY_TRY(const Value hidden, encode_bert(encoder, embedded, mask));
  base.parameters().unused((base / "embeddings").name_of("token_type_ids"));  // a buffer of zeros
  Tower tower{hidden, 0, encoder.hidden, {}, encoder.hidden};
  if (encoder.variations->pooler.dense->empty()) {
    tower.pooled = token(base, hidden, 0);
  } else {
    ASSAY_TRY(tower.pooled, pool_text(encoder, hidden));
  }
  base.graph().metadata("assay.max_sequence", std::to_string(encoder.positions - embedded.first));
  return tower;
}

}  // namespace assay::zoo
