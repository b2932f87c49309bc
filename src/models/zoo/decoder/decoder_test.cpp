// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/decoder/decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "models/zoo/fake_checkpoint.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay::zoo {
namespace {
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Decoder : public ZooTest {
 protected:
  [[nodiscard]] Result<BuiltModel> build_part(const Json& config, Part part, bool last_logits_only = false) const {
    BuildRequest request;
    request.config = config;
    request.part = part;
    request.last_logits_only = last_logits_only;
    return build(request, path("model.onnx"));
  }
  [[nodiscard]] onnx::ModelProto model() const {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read_file(path("model.onnx")).value()));
    return model;
  }
};

std::string shown(const onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& extent : value.type().tensor_type().shape().dim()) {
    text +=
        (text.empty() ? "" : ", ") + (extent.has_dim_param() ? extent.dim_param() : std::to_string(extent.dim_value()));
  }
  return text;
}

TEST_F(Decoder, APrefillGivesItsStatesAndADecodeTakesThem) {
  Json config = golden_config("llama");
  config["num_key_value_heads"] = 2;
  const Result<BuiltModel> prefill = build_part(config, Part::kPrefill);
  ASSERT_TRUE(prefill) << to_string(prefill.error());
  EXPECT_THAT(prefill->inputs, ElementsAre("input_ids", "attention_mask"));
  EXPECT_THAT(prefill->outputs,
              ElementsAre("logits", "present.0.key", "present.0.value", "present.1.key", "present.1.value"));
  EXPECT_EQ(shown(model().graph().output(1)), "batch, 2, sequence, 8");

  const Result<BuiltModel> decode = build_part(config, Part::kDecode);
  ASSERT_TRUE(decode) << to_string(decode.error());
  EXPECT_THAT(decode->inputs,
              ElementsAre("input_ids", "attention_mask", "past_key_values.0.key", "past_key_values.0.value",
                          "past_key_values.1.key", "past_key_values.1.value"));
  EXPECT_EQ(shown(model().graph().input(1)), "batch, past + sequence");
  EXPECT_EQ(shown(model().graph().input(2)), "batch, 2, past, 8");
  EXPECT_EQ(shown(model().graph().output(1)), "batch, 2, past + sequence, 8");
  ASSERT_THAT(decode->states, SizeIs(4));
  EXPECT_EQ(decode->states[3].input, "past_key_values.1.value");
  EXPECT_EQ(decode->states[3].output, "present.1.value");
  EXPECT_NE(decode->config_hash, prefill->config_hash);

  EXPECT_THAT(build_part(config, Part::kWhole)->states, IsEmpty());
}

TEST_F(Decoder, AnArchitectureWithoutStatesRefusesOtherParts) {
  EXPECT_EQ(build_part(golden_config("bert"), Part::kDecode).error().message, "the model has no decode part");
}

TEST_F(Decoder, AnEncoderOfItsLayersSeesLaterTokensAndHasNoStates) {
  Json config = golden_config("llama");
  config["model_type"] = "eurobert";
  config["architectures"] = {"EuroBertForMaskedLM"};
  const auto compares = [&] {
    const onnx::ModelProto built = model();
    return std::ranges::any_of(built.graph().node(), [](const auto& node) { return node.op_type() == "LessOrEqual"; });
  };
  const Result<BuiltModel> whole = build_part(config, Part::kWhole);
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_EQ(whole->task, "fill-mask");
  EXPECT_THAT(whole->outputs, ElementsAre("logits"));
  EXPECT_FALSE(compares()) << "positions make no difference to what a token sees";

  for (const Part part : {Part::kPrefill, Part::kDecode})
    EXPECT_EQ(build_part(config, part).error().message, "the model has no " + std::string(part_name(part)) + " part");
  config["architectures"] = {"EuroBertModel"};
  EXPECT_EQ(build_part(config, Part::kPrefill).error().message, "the model has no prefill part");

  ASSERT_TRUE(build_part(golden_config("llama"), Part::kWhole));
  EXPECT_TRUE(compares());
}

TEST_F(Decoder, GivesTheLastPositionsLogitsAloneWhenAsked) {
  ASSERT_TRUE(build_part(golden_config("llama"), Part::kWhole, true));
  EXPECT_EQ(shown(model().graph().output(0)), "batch, 1, 99");
}

TEST_F(Decoder, WritesNothingWhenTheWeightsAreMoreThanAllowed) {
  BuildRequest request;
  request.config = find_known("meta-llama/Llama-2-7b-hf")->config;
  request.max_weight_bytes = 1'000'000'000;
  const Result<BuiltModel> built = build(request, path("model.onnx"));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(built.error().message, HasSubstr("need 27.0 GB, 1.0 GB are allowed"));
  EXPECT_FALSE(std::filesystem::exists(path("model.onnx")));
}

TEST_F(Decoder, ComesInFormsWhoseCachesKeepTheirLength) {
  Json config = golden_config("llama");
  config["head_dim"] = 16;
  config["num_key_value_heads"] = 2;
  BuildRequest request;
  request.config = config;
  request.part = Part::kDecode;
  request.kv_cache = KvCache::kRuntime;
  const Result<BuiltModel> native = build(request, path("model.onnx"));
  ASSERT_TRUE(native) << to_string(native.error());
  EXPECT_EQ(native->kv_cache, KvCache::kRuntime);
  EXPECT_THAT(native->inputs, SizeIs(2 + 4));
  const onnx::ModelProto graph = model();
  EXPECT_EQ(shown(graph.graph().input(1)), "batch, past + sequence");
  EXPECT_EQ(shown(graph.graph().input(2)), "batch, 2, cache, 16");
  EXPECT_EQ(shown(graph.graph().output(1)), "batch, 2, cache, 16");
  ASSERT_EQ(graph.opset_import_size(), 2);
  EXPECT_EQ(graph.opset_import(1).domain(), "com.microsoft");
  int operators = 0;
  for (const onnx::NodeProto& node : graph.graph().node()) {
    if (node.op_type() != "GroupQueryAttention") {
      EXPECT_EQ(node.domain(), "");
      continue;
    }
    ++operators;
    EXPECT_EQ(node.domain(), "com.microsoft");
    EXPECT_EQ(node.input_size(), 9) << "it rotates queries and keys itself";
    EXPECT_EQ(node.input(1) + node.input(2), "") << "one projection gives it queries, keys and values";
  }
  EXPECT_EQ(operators, 2);

  request.kv_cache = KvCache::kStatic;
  const Result<BuiltModel> fixed = build(request, path("model.onnx"));
  ASSERT_TRUE(fixed) << to_string(fixed.error());
  EXPECT_THAT(fixed->inputs,
              ElementsAre("input_ids", "attention_mask", "cache_position", "past_key_values.0.key",
                          "past_key_values.0.value", "past_key_values.1.key", "past_key_values.1.value"));
  EXPECT_EQ(shown(model().graph().input(1)), "batch, cache");
  EXPECT_EQ(shown(model().graph().output(1)), "batch, 2, cache, 16");
  EXPECT_EQ(model().opset_import_size(), 1);
  EXPECT_NE(fixed->config_hash, native->config_hash);
}

std::vector<float> floats(const onnx::ModelProto& model, const std::string& name) {
  std::vector<float> values;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.name() != name) continue;
    values.resize(tensor.raw_data().size() / sizeof(float));
    std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(float));
  }
  return values;
}

TEST_F(Decoder, TheRuntimesOperatorGetsTheProjectionsBesideEachOtherWithTheWeightsOfTheOtherForms) {
  Json config = golden_config("llama");
  config["num_key_value_heads"] = 2;
  config["head_dim"] = 16;
  config["attention_bias"] = true;
  BuildRequest request;
  request.config = config;
  request.part = Part::kDecode;
  ASSERT_TRUE(build(request, path("model.onnx")));
  const onnx::ModelProto growing = model();
  request.kv_cache = KvCache::kRuntime;
  ASSERT_TRUE(build(request, path("model.onnx")));
  const onnx::ModelProto native = model();

  const std::string place = "model.layers.1.self_attn.";
  const auto joined = [&](const std::string& parameter) { return place + "q_proj+k_proj+v_proj." + parameter; };
  const std::size_t hidden = config["hidden_size"];
  std::vector<float> biases, weights;
  for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
    const std::vector<float> bias = floats(growing, place + part + ".bias");
    ASSERT_FALSE(bias.empty());
    biases.insert(biases.end(), bias.begin(), bias.end());
  }
  for (std::size_t row = 0; row < hidden; ++row) {
    for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
      const std::vector<float> weight = floats(growing, place + part + ".weight.T");
      const auto width = static_cast<std::ptrdiff_t>(weight.size() / hidden);
      const auto first = weight.begin() + static_cast<std::ptrdiff_t>(row) * width;
      weights.insert(weights.end(), first, first + width);
    }
  }
  EXPECT_EQ(weights.size(), hidden * biases.size());
  EXPECT_EQ(floats(native, joined("bias")), biases);
  EXPECT_EQ(floats(native, joined("weight.T")), weights);
  EXPECT_THAT(floats(native, place + "q_proj.weight.T"), IsEmpty());
  EXPECT_THAT(floats(growing, joined("weight.T")), IsEmpty());
}

TEST_F(Decoder, RefusesAKvCacheThatTheAttentionOrThePartDoesNotSupport) {
  const auto refusal = [&](const Json& config, KvCache kv_cache, Part part) {
    BuildRequest request;
    request.config = config;
    request.part = part;
    request.kv_cache = kv_cache;
    const Result<BuiltModel> built = build(request, path("model.onnx"));
    return built ? std::string() : to_string(built.error());
  };
  EXPECT_THAT(refusal(golden_config("llama"), KvCache::kStatic, Part::kWhole),
              HasSubstr("unsupported: kv_cache = static"));
  EXPECT_THAT(refusal(golden_config("llama"), KvCache::kRuntime, Part::kPrefill),
              HasSubstr("unsupported: kv_cache = runtime"));
  EXPECT_THAT(refusal(golden_config("t5"), KvCache::kRuntime, Part::kDecode),
              HasSubstr("unsupported: kv_cache = runtime"));
  Json odd = golden_config("llama");
  odd["head_dim"] = 12;
  EXPECT_THAT(refusal(odd, KvCache::kRuntime, Part::kDecode), HasSubstr("a multiple of 8 elements, these have 12"));
  EXPECT_EQ(refusal(odd, KvCache::kStatic, Part::kDecode), "");
  const Json bloom = find_known("bigscience/bloom-560m")->config;
  EXPECT_THAT(refusal(bloom, KvCache::kRuntime, Part::kDecode), HasSubstr("fall with the distance"));
}

TEST_F(Decoder, RefusesConfigurationsThatContradictThemselves) {
  const auto refusal = [&](const char* key, const Json& value) {
    Json config = golden_config("llama");
    config[key] = value;
    const Result<BuiltModel> built = build_seeded(config);
    return built ? std::string() : built.error().message;
  };
  EXPECT_THAT(refusal("num_key_value_heads", 3), HasSubstr("is not a multiple of num_key_value_heads = 3"));
  EXPECT_EQ(refusal("head_dim", 7), "unsupported: head_dim = 7");
  EXPECT_EQ(refusal("rope_parameters", {{"rope_type", "mrope"}}), "unsupported: rope_parameters.rope_type = mrope");
  EXPECT_EQ(refusal("rope_parameters", {{"rope_type", "default"}, {"mrope_section", {1, 1, 2}}}),
            "unsupported: rope_parameters.mrope_section = [1,1,2]");
  EXPECT_THAT(refusal("rope_parameters", {{"rope_type", "linear"}}), HasSubstr("rope_parameters.factor = missing"));
  EXPECT_EQ(refusal("sliding_window", 4), "unsupported: sliding_window = 4");
}

RopeSource source(const Json& parameters) {
  RopeSource source;
  source.parameters = parameters;
  source.key = "rope_parameters";
  source.head_width = 4;
  source.max_positions = 64;
  return source;
}

TEST(Rope, FrequenciesFallByPowersOfTheBase) {
  const RopeSpec spec = read_rope(source({{"rope_theta", 100.0}})).value();
  EXPECT_THAT(spec.frequencies, ElementsAre(FloatEq(1.0F), FloatEq(0.1F)));
  EXPECT_EQ(spec.width, 4);
  EXPECT_EQ(spec.attention_factor, 1.0F);
}

TEST(Rope, LinearScalingDividesThem) {
  const RopeSpec spec = read_rope(source({{"rope_theta", 100.0}, {"type", "linear"}, {"factor", 4.0}})).value();
  EXPECT_THAT(spec.frequencies, ElementsAre(FloatEq(0.25F), FloatEq(0.025F)));
}

// A wave of 2π ≤ 64 / 4 stays, one of 20π > 64 / 1.25 is divided by the factor.
TEST(Rope, Llama3KeepsShortWavesAndStretchesLongOnes) {
  const RopeSpec spec = read_rope(source({{"rope_theta", 100.0},
                                          {"rope_type", "llama3"},
                                          {"factor", 8.0},
                                          {"low_freq_factor", 1.25},
                                          {"high_freq_factor", 4.0},
                                          {"original_max_position_embeddings", 64}}))
                            .value();
  EXPECT_THAT(spec.frequencies, ElementsAre(FloatEq(1.0F), FloatEq(0.0125F)));
}

TEST(Rope, TheConfigurationsOwnLimitStandsAboveTheParameters) {
  RopeSource longrope = source({{"rope_type", "longrope"},
                                {"short_factor", {1.0, 2.0}},
                                {"long_factor", {4.0, 8.0}},
                                {"original_max_position_embeddings", 32}});
  EXPECT_EQ(read_rope(longrope).value().original_positions, 32);
  longrope.original_positions = 16;
  EXPECT_EQ(read_rope(longrope).value().original_positions, 16);
}

TEST(Alibi, SlopesArePowersOfTwo) {
  EXPECT_THAT(alibi_slopes(4), ElementsAre(0.25F, 0.0625F, 0.015625F, 0.00390625F));
  EXPECT_THAT(alibi_slopes(3), ElementsAre(0.0625F, 0.00390625F, 0.25F));
}

}  // namespace
}  // namespace assay::zoo
