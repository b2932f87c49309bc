// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/zoo/fake_checkpoint.hpp"

namespace assay::zoo {
namespace {
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// One key of a golden's configuration set to something else, and what must be said about it.
struct Change {
  const char* golden;
  const char* key;
  const char* value;  ///< JSON
  ErrorCode code;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const Change& change) {
  return out << change.golden << " " << change.key << " " << change.value;
}

class ConfigRefuses : public ZooTest, public ::testing::WithParamInterface<Change> {};

TEST_P(ConfigRefuses, TheKeyByNameAndValue) {
  const Change& change = GetParam();
  Json config = golden_config(change.golden);
  config[change.key] = Json::parse(change.value);
  const Result<BuiltModel> built = build_seeded(config);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, change.code);
  EXPECT_THAT(built.error().message, StartsWith(change.message));
  EXPECT_TRUE(std::filesystem::is_empty(folder_->path())) << "nothing half-written";
}

INSTANTIATE_TEST_SUITE_P(
    Flags, ConfigRefuses,
    ::testing::Values(
        Change{"clip", "vision_config", R"({"hidden_act": "foo"})", ErrorCode::kUnsupported,
               "unsupported: vision_config.hidden_act = foo"},
        Change{"clip", "text_config", R"({"new_key": 3})", ErrorCode::kUnsupported,
               "unsupported: text_config.new_key = 3"},
        Change{"clip", "text_config", R"({"hidden_size": 0})", ErrorCode::kInvalidArgument,
               "text_config.hidden_size = 0: expected"},
        Change{"clip", "text_config", R"({"model_type": "xlstm"})", ErrorCode::kUnsupported,
               "unsupported: text_config.model_type = xlstm"},
        Change{"clip", "vision_config", "7", ErrorCode::kInvalidArgument, "vision_config = 7: expected an object"},
        Change{"detr", "auxiliary_loss", "true", ErrorCode::kUnsupported, "unsupported: auxiliary_loss = true"},
        Change{"bert", "position_embedding_type", R"("relative_key")", ErrorCode::kUnsupported,
               "unsupported: position_embedding_type = relative_key"},
        Change{"bert", "is_decoder", "true", ErrorCode::kUnsupported, "unsupported: is_decoder = true"},
        Change{"bert", "add_cross_attention", "true", ErrorCode::kUnsupported,
               "unsupported: add_cross_attention = true"},
        Change{"bert", "hidden_act", R"("prelu")", ErrorCode::kUnsupported, "unsupported: hidden_act = prelu"},
        Change{"bert", "output_hidden_states", "true", ErrorCode::kUnsupported,
               "unsupported: output_hidden_states = true"},
        Change{"bert", "output_attentions", "true", ErrorCode::kUnsupported, "unsupported: output_attentions = true"},
        Change{"bert", "is_encoder_decoder", "true", ErrorCode::kUnsupported, "unsupported: is_encoder_decoder = true"},
        Change{"bert", "embedding_size", "16", ErrorCode::kUnsupported, "unsupported: embedding_size = 16"},
        Change{"bert", "pruned_heads", R"({"0": [1]})", ErrorCode::kUnsupported,
               R"(unsupported: pruned_heads = {"0":[1]})"},
        Change{"bert", "quantization_config", R"({"bits": 4})", ErrorCode::kUnsupported,
               "unsupported: quantization_config"},
        Change{"bert", "per_layer_config", R"({"0": {"hidden_act": "relu"}})", ErrorCode::kUnsupported,
               "unsupported: per_layer_config"},
        Change{"bert", "model_type", R"("xlstm")", ErrorCode::kUnsupported, "unsupported: model_type = xlstm"},
        Change{"bert", "architectures", R"(["BertForMultipleChoice"])", ErrorCode::kUnsupported,
               "unsupported: class = BertForMultipleChoice"},
        Change{"vit", "architectures", R"(["ViTForMaskedImageModeling"])", ErrorCode::kUnsupported,
               "unsupported: class = ViTForMaskedImageModeling"},
        Change{"vit", "hidden_act", R"("xielu")", ErrorCode::kUnsupported, "unsupported: hidden_act = xielu"},
        Change{"vit", "layer_scale_init_value", "0.1", ErrorCode::kUnsupported,
               "unsupported: layer_scale_init_value = 0.1"},
        Change{"resnet", "layer_type", R"("wide")", ErrorCode::kUnsupported, "unsupported: layer_type = wide"},
        Change{"resnet", "groups", "2", ErrorCode::kUnsupported, "unsupported: groups = 2"},
        Change{"resnet", "architectures", R"(["ResNetBackbone"])", ErrorCode::kUnsupported,
               "unsupported: class = ResNetBackbone"}));

INSTANTIATE_TEST_SUITE_P(
    HostileValues, ConfigRefuses,
    ::testing::Values(
        Change{"bert", "hidden_size", "-32", ErrorCode::kInvalidArgument, "hidden_size = -32: expected an integer"},
        Change{"bert", "hidden_size", "0", ErrorCode::kInvalidArgument, "hidden_size = 0"},
        Change{"bert", "hidden_size", R"("32")", ErrorCode::kInvalidArgument, "hidden_size = 32"},
        Change{"bert", "hidden_size", "32.5", ErrorCode::kInvalidArgument, "hidden_size = 32.5"},
        Change{"bert", "hidden_size", "true", ErrorCode::kInvalidArgument, "hidden_size = true"},
        Change{"bert", "hidden_size", "null", ErrorCode::kInvalidArgument, "hidden_size = null"},
        Change{"bert", "hidden_size", "[32]", ErrorCode::kInvalidArgument, "hidden_size = [32]"},
        Change{"bert", "hidden_size", "33", ErrorCode::kInvalidArgument,
               "hidden_size = 33 is not a multiple of num_attention_heads = 4"},
        Change{"bert", "num_hidden_layers", "1000000000", ErrorCode::kInvalidArgument,
               "num_hidden_layers = 1000000000"},
        Change{"bert", "vocab_size", "1000000000000", ErrorCode::kInvalidArgument, "vocab_size = 1000000000000"},
        Change{"bert", "vocab_size", "18446744073709551615", ErrorCode::kInvalidArgument,
               "vocab_size = 18446744073709551615"},
        Change{"bert", "num_attention_heads", "0", ErrorCode::kInvalidArgument, "num_attention_heads = 0"},
        Change{"bert", "layer_norm_eps", "-1e-5", ErrorCode::kInvalidArgument, "layer_norm_eps = -1e-05"},
        Change{"bert", "layer_norm_eps", R"("1e-12")", ErrorCode::kInvalidArgument, "layer_norm_eps = 1e-12"},
        Change{"bert", "hidden_act", "3", ErrorCode::kInvalidArgument, "hidden_act = 3"},
        Change{"bert", "is_decoder", R"("no")", ErrorCode::kInvalidArgument, "is_decoder = no: expected true or false"},
        Change{"bert", "model_type", "7", ErrorCode::kInvalidArgument, "model_type = 7"},
        Change{"bert", "architectures", R"("BertModel")", ErrorCode::kInvalidArgument, "architectures = BertModel"},
        Change{"bert", "architectures", R"(["ViTModel"])", ErrorCode::kInvalidArgument,
               "model_type bert has no class ViTModel"},
        Change{"vit", "id2label", "[0, 1]", ErrorCode::kInvalidArgument, "id2label = [0,1]"},
        Change{"vit", "id2label", R"({"cat": "0"})", ErrorCode::kInvalidArgument, "id2label"},
        Change{"vit", "patch_size", "64", ErrorCode::kInvalidArgument,
               "patch_size = 64 x 64 is larger than image_size"},
        Change{"vit", "image_size", "[32, -1]", ErrorCode::kInvalidArgument, "image_size = [32,-1]"},
        Change{"vit", "image_size", "[32, 32, 32]", ErrorCode::kInvalidArgument, "image_size = [32,32,32]"},
        Change{"resnet", "depths", "[]", ErrorCode::kInvalidArgument, "depths = []"},
        Change{"resnet", "depths", "[1, 1, 0, 1]", ErrorCode::kInvalidArgument, "depths = [1,1,0,1]"},
        Change{"resnet", "depths", "[1, 1]", ErrorCode::kInvalidArgument, "hidden_sizes has 4 stages, depths has 2"},
        Change{"resnet", "depths", "3", ErrorCode::kInvalidArgument, "depths = 3"},
        Change{"resnet", "hidden_sizes", "[2, 4, 8, 16]", ErrorCode::kInvalidArgument, "hidden_sizes has 2"}));

TEST(Config, TakesDefaultsForAbsentKeysAndIgnoresWhatChangesNoGraph) {
  const Json json = Json::parse(R"({"model_type": "bert", "hidden_dropout_prob": 0.5, "pad_token_id": 3,
                                    "transformers_version": "4.8.2", "some_new_flag": false, "another": null})");
  const Result<Config> config = Config::read(json, "");
  ASSERT_TRUE(config) << to_string(config.error());
  EXPECT_EQ(config->integer("hidden_size"), 768);
  EXPECT_EQ(config->model_class(), "BertModel");
  EXPECT_EQ(config->label_count(), 2);
}

TEST(Config, CountsLabelsFromId2labelThenNumLabels) {
  Json json = golden_config("vit");
  json["num_labels"] = 9;
  EXPECT_EQ(Config::read(json, "")->label_count(), 5);
  json["id2label"] = nullptr;
  EXPECT_EQ(Config::read(json, "")->label_count(), 9);
  json.erase("num_labels");
  EXPECT_EQ(Config::read(json, "")->label_count(), 2);
}

TEST(Config, RefusesWhatIsNoObject) {
  EXPECT_EQ(Config::read(Json::parse("[1]"), "").error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(Config::read(Json::object(), "").error().message, HasSubstr("model_type = (missing)"));
}

TEST(Config, EffectiveValuesDoNotDependOnTheOrderOrOnProvenance) {
  const Json a = Json::parse(R"({"model_type": "bert", "hidden_size": 64, "vocab_size": 9, "_name_or_path": "x"})");
  const Json b = Json::parse(R"({"vocab_size": 9, "hidden_size": 64, "model_type": "bert", "num_hidden_layers": 12})");
  EXPECT_EQ(Config::read(a, "")->effective().dump(), Config::read(b, "")->effective().dump());
}

TEST(Config, AValidNumberBeyondWhatIsBuiltIsUnsupported) {
  Json config{{"model_type", "big_bird"}, {"max_position_embeddings", 704}};
  EXPECT_TRUE(Config::read(config, ""));
  config["max_position_embeddings"] = 4096;
  const Error beyond = Config::read(config, "").error();
  EXPECT_EQ(beyond.code, ErrorCode::kUnsupported);
  EXPECT_EQ(beyond.message, "unsupported: max_position_embeddings = 4096");
  EXPECT_EQ(beyond.hint, "built is up to 704");
  config["max_position_embeddings"] = 1 << 30;
  EXPECT_EQ(Config::read(config, "").error().code, ErrorCode::kInvalidArgument) << "of any architecture";
}

}  // namespace
}  // namespace assay::zoo
