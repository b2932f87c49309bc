// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/catalogue/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/zoo/catalogue/config.hpp"

namespace assay::zoo {
namespace {
using ::testing::IsSupersetOf;

std::string size_of(const KnownModel& known) {
  const Config config = Config::read(known.config, known.model_class).value();
  return known.architecture + ":" + std::to_string(config.integer("num_hidden_layers")) + "x" +
         std::to_string(config.integer("hidden_size"));
}

TEST(Catalogue, EveryKnownModelHasACompleteConfigurationOfABuiltClass) {
  for (const std::string& name : known_names()) {
    const std::optional<KnownModel> known = find_known(name);
    ASSERT_TRUE(known);
    const Result<Config> config = Config::read(known->config, known->model_class);
    ASSERT_TRUE(config) << name << ": " << to_string(config.error());
    EXPECT_EQ(config->model_class(), known->config["architectures"][0].get<std::string>());
    EXPECT_FALSE(find_planned(name)) << name << " is built, so it is not planned";
  }
}

TEST(Catalogue, ArchitecturesNamedByUsersAreReferenceCheckpoints) {
  EXPECT_EQ(size_of(*find_known("bert")), "bert:12x768");
  EXPECT_EQ(find_known("bert")->model_class, "BertModel");
  EXPECT_EQ(size_of(*find_known("vit_b_16")), "vit:12x768");
  EXPECT_EQ(find_known("resnet50")->model_id, "microsoft/resnet-50");
  EXPECT_EQ(size_of(*find_known("prajjwal1/bert-tiny")), "bert:2x128");
  EXPECT_FALSE(find_known("no-such-model"));
}

TEST(Catalogue, EveryArchitectureHasATinyModelOfABuiltClass) {
  for (const Architecture& architecture : architectures()) {
    const std::optional<KnownModel> tiny = tiny_model(architecture.name);
    ASSERT_TRUE(tiny) << architecture.name << ": run tests/goldens/record.py";
    EXPECT_EQ(tiny->model_id, "zoo:" + architecture.name + "/tiny");
    EXPECT_EQ(tiny->size, "tiny");
    const Result<Config> config = Config::read(tiny->config, tiny->model_class);
    ASSERT_TRUE(config) << architecture.name << ": " << to_string(config.error());
    EXPECT_EQ(config->model_class(), tiny->model_class);
  }
  EXPECT_FALSE(tiny_model("no-such-model"));
}

TEST(Catalogue, KnowsEveryModelIdOfTheGuides) {
  for (const std::string name :
       {"bert-base-uncased", "distilbert-base-uncased", "roberta-base", "gpt2", "t5-small", "google/flan-t5-small",
        "google/vit-base-patch16-224", "microsoft/resnet-50", "openai/whisper-tiny", "facebook/wav2vec2-base",
        "openai/clip-vit-base-patch32", "prajjwal1/bert-tiny", "google/t5-efficient-tiny", "resnet50", "vit_b_16"}) {
    EXPECT_TRUE(find_known(name).has_value() || find_planned(name).has_value()) << name;
  }
}

TEST(Catalogue, SetsAreThoseOfTheGuides) {
  const auto names = [](const char* set) {
    std::vector<std::string> all;
    const std::vector<SetEntry> entries = find_set(set).value();
    for (const SetEntry& entry : entries) {
      EXPECT_FALSE(entry.category.empty()) << entry.name;
      EXPECT_EQ(entry.built, find_known(entry.model_id).has_value()) << entry.name;
      all.push_back(entry.name);
    }
    return all;
  };
  EXPECT_THAT(names("key"), ::testing::ElementsAre("bert", "clap", "clip", "detr", "llama", "llava", "llava_next",
                                                   "qwen2", "t5", "vit", "wav2vec2", "whisper", "xclip"));
  EXPECT_THAT(names("small"), ::testing::ElementsAre("bert", "t5", "vit", "whisper", "clip"));
  EXPECT_EQ(size_of(*find_known(find_set("small")->at(2).model_id)), "vit:12x192");
  EXPECT_FALSE(find_set("tiny"));
}

TEST(Catalogue, PlannedArchitecturesHaveCategoryAndFamily) {
  const std::optional<PlannedModel> xlstm = find_planned("xlstm");
  ASSERT_TRUE(xlstm);
  EXPECT_EQ(xlstm->category, "text_decoders");
  EXPECT_EQ(xlstm->family, "text_generation");
  EXPECT_EQ(find_planned("encodec")->category, "audio");
  EXPECT_EQ(find_planned("modernbert")->category, "text_encoders");
  EXPECT_FALSE(find_planned("bert"));
}

}  // namespace
}  // namespace assay::zoo
