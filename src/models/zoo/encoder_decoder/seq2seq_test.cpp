// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/encoder_decoder/seq2seq.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/zoo/fake_checkpoint.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay::zoo {
namespace {
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class EncoderDecoder : public ZooTest {
 protected:
  [[nodiscard]] Result<BuiltModel> build_part(const Json& config, Part part, const std::string& model_class = {},
                                              bool last_logits_only = false,
                                              KvCache kv_cache = KvCache::kGrowing) const {
    BuildRequest request;
    request.kv_cache = kv_cache;
    request.config = config;
    request.model_class = model_class;
    request.part = part;
    request.last_logits_only = last_logits_only;
    return build(request, path("model.onnx"));
  }
  /// "batch, 4, past, 8" of an input or output of the model built last.
  [[nodiscard]] std::string extents(const std::string& name) const {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read_file(path("model.onnx")).value()));
    std::vector<onnx::ValueInfoProto> values(model.graph().input().begin(), model.graph().input().end());
    values.insert(values.end(), model.graph().output().begin(), model.graph().output().end());
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& value) { return value.name() == name; });
    if (found == values.end()) return "none of that name";
    std::string text;
    for (const auto& extent : found->type().tensor_type().shape().dim()) {
      text += text.empty() ? "" : ", ";
      text += extent.has_dim_param() ? extent.dim_param() : std::to_string(extent.dim_value());
    }
    return text;
  }
};

Json one_layer(const std::string& golden) {
  Json config = golden_config(golden);
  config[golden == "t5" ? "num_decoder_layers" : "decoder_layers"] = 1;
  return config;
}

TEST_F(EncoderDecoder, APrefillGivesBothCachesAndADecodeNeedsNoEncoder) {
  const Result<BuiltModel> prefill = build_part(one_layer("t5"), Part::kPrefill);
  ASSERT_TRUE(prefill) << to_string(prefill.error());
  EXPECT_THAT(prefill->inputs, ElementsAre("input_ids", "attention_mask", "decoder_input_ids"));
  EXPECT_THAT(prefill->outputs,
              ElementsAre("logits", "encoder_last_hidden_state", "present.0.decoder.key", "present.0.decoder.value",
                          "present.0.encoder.key", "present.0.encoder.value"));
  EXPECT_EQ(extents("present.0.decoder.key"), "batch, 4, decoder_sequence, 8");
  EXPECT_EQ(extents("present.0.encoder.key"), "batch, 4, sequence, 8");

  const Result<BuiltModel> decode = build_part(one_layer("t5"), Part::kDecode);
  ASSERT_TRUE(decode) << to_string(decode.error());
  EXPECT_THAT(decode->inputs, ElementsAre("attention_mask", "decoder_input_ids", "past_key_values.0.decoder.key",
                                          "past_key_values.0.decoder.value", "past_key_values.0.encoder.key",
                                          "past_key_values.0.encoder.value"));
  EXPECT_THAT(decode->outputs, ElementsAre("logits", "present.0.decoder.key", "present.0.decoder.value"));
  EXPECT_EQ(extents("past_key_values.0.decoder.key"), "batch, 4, past, 8");
  EXPECT_EQ(extents("past_key_values.0.encoder.key"), "batch, 4, sequence, 8");
  EXPECT_EQ(extents("present.0.decoder.key"), "batch, 4, past + decoder_sequence, 8");
  EXPECT_EQ(decode->states.at(2).input, "past_key_values.0.encoder.key");
  EXPECT_EQ(decode->states.at(2).output, "") << "decode leaves it as it is";
  EXPECT_LT(decode->parameter_count, prefill->parameter_count);
}

TEST_F(EncoderDecoder, AStaticCacheIsWrittenAtPositionsAndTheEncodersStatesStay) {
  for (const char* golden : {"t5", "whisper"}) {
    SCOPED_TRACE(golden);
    const Result<BuiltModel> decode = build_part(one_layer(golden), Part::kDecode, {}, true, KvCache::kStatic);
    ASSERT_TRUE(decode) << to_string(decode.error());
    EXPECT_EQ(decode->kv_cache, KvCache::kStatic);
    EXPECT_EQ(extents("cache_position"), "decoder_sequence");
    EXPECT_EQ(extents("past_key_values.0.decoder.key"), extents("present.0.decoder.key"));
    EXPECT_THAT(extents("present.0.decoder.key"), ::testing::HasSubstr(", cache, "));
    EXPECT_THAT(decode->outputs, Not(Contains("present.0.encoder.key")));
  }
  EXPECT_EQ(build_part(one_layer("t5"), Part::kDecode, {}, true, KvCache::kRuntime).error().message,
            "unsupported: kv_cache = runtime");
}

TEST_F(EncoderDecoder, AnAudioEncodersStatesHaveAFixedLength) {
  const Json config = one_layer("whisper");
  const Result<BuiltModel> decode = build_part(config, Part::kDecode);
  ASSERT_TRUE(decode) << to_string(decode.error());
  EXPECT_THAT(decode->inputs, Each(Not(StartsWith("input_features"))));
  EXPECT_EQ(extents("past_key_values.0.encoder.value"), "batch, 4, " + config["max_source_positions"].dump() + ", 8");
}

TEST_F(EncoderDecoder, ADecoderAloneHasOneCache) {
  const Result<BuiltModel> decode = build_part(one_layer("whisper"), Part::kDecode, "WhisperForCausalLM");
  ASSERT_TRUE(decode) << to_string(decode.error());
  EXPECT_THAT(decode->inputs,
              ElementsAre("input_ids", "attention_mask", "past_key_values.0.key", "past_key_values.0.value"));
}

TEST_F(EncoderDecoder, ClassesThatGenerateNothingRefuseAPart) {
  EXPECT_EQ(build_part(golden_config("t5"), Part::kDecode, "T5ForSequenceClassification").error().message,
            "the model has no decode part");
  EXPECT_EQ(build_part(golden_config("t5"), Part::kPrefill, "T5EncoderModel").error().message,
            "the model has no prefill part");
  EXPECT_EQ(build_part(golden_config("whisper"), Part::kDecode, "WhisperForAudioClassification").error().message,
            "the model has no decode part");
  Json config = golden_config("whisper");
  config["decoder_layers"] = 0;
  EXPECT_EQ(build_part(config, Part::kDecode).error().message, "the model has no decode part");
}

TEST_F(EncoderDecoder, GivesTheLastPositionsLogitsAloneWhenAsked) {
  for (const char* golden : {"t5", "whisper"}) {
    ASSERT_TRUE(build_part(golden_config(golden), Part::kPrefill, {}, true));
    EXPECT_EQ(extents("logits"), "batch, 1, 99") << golden;
  }
}

}  // namespace
}  // namespace assay::zoo
