// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/onnx/inspect.hpp"
#include "models/zoo/catalogue/catalogue.hpp"
#include "models/zoo/fake_checkpoint.hpp"

namespace assay::zoo {
namespace {
using ::testing::Contains;

const Architecture& architecture(const std::string& name) {
  const Architecture* found = find_architecture(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

TEST(ClassifyConfiguration, KnowsWhatEveryClassIsFor) {
  for (const Architecture& each : architectures()) {
    for (const auto& [model_class, unused] : each.classes) {
      const Classification what = classify(each, model_class);
      EXPECT_THAT(model_families(), Contains(what.family)) << each.name << " " << model_class;
      EXPECT_THAT(model_categories(), Contains(what.category)) << each.name << " " << model_class;
      EXPECT_THAT(model_tasks(), Contains(what.task)) << each.name << " " << model_class;
      EXPECT_EQ(what.basis, "configuration");
    }
  }
}

TEST(ClassifyConfiguration, GoesByTheClass) {
  const auto task = [](const char* name, const char* model_class) {
    return classify(architecture(name), model_class).task;
  };
  EXPECT_EQ(task("bert", "BertModel"), "feature-extraction");
  EXPECT_EQ(task("bert", "BertForMaskedLM"), "fill-mask");
  EXPECT_EQ(task("gpt2", "GPT2LMHeadModel"), "text-generation");
  EXPECT_EQ(task("electra", "ElectraForPreTraining"), "replaced-token-detection");
  EXPECT_EQ(task("marian", "MarianMTModel"), "text2text-generation");
  EXPECT_EQ(task("roberta", "RobertaForSequenceClassification"), "text-classification");
  EXPECT_EQ(task("hubert", "HubertForSequenceClassification"), "audio-classification");
  EXPECT_EQ(task("bart", "BartForConditionalGeneration"), "text2text-generation");
  EXPECT_EQ(task("whisper", "WhisperForConditionalGeneration"), "automatic-speech-recognition");
  EXPECT_EQ(task("llava", "LlavaForConditionalGeneration"), "image-text-to-text");
  EXPECT_EQ(task("vit", "ViTModel"), "image-feature-extraction");
  EXPECT_EQ(task("clip", "CLIPModel"), "zero-shot-image-classification");
  EXPECT_EQ(task("clip", "CLIPForImageClassification"), "image-classification");
  EXPECT_EQ(task("clip_vision_model", "CLIPVisionModelWithProjection"), "image-feature-extraction");
  EXPECT_EQ(task("bert", "BertForPoetry"), "unknown");
  const Classification encoder = classify(architecture("t5"), "T5EncoderModel");
  EXPECT_EQ(encoder.category, "text_encoders");
  EXPECT_EQ(encoder.family, "embedding");
}

TEST(ClassifyConfiguration, CategoriesAreThoseOfTheGoldens) {
  const char* collection = std::getenv("ASSAY_GOLDENS_DIR");
  const auto folders = collection != nullptr ? std::filesystem::path(collection)
                                             : std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/goldens";
  int compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(folders)) {
    const Result<Json> meta = read_json(folder.path() / "meta.json");
    if (!meta) continue;
    const Architecture* built = find_architecture((*meta)["model_type"]);
    if (built == nullptr) continue;
    EXPECT_EQ(classify(*built, (*meta)["class"]).category, (*meta)["category"].get<std::string>()) << folder.path();
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

// What the graph shows agrees with the configuration, or is unknown: each architecture's smallest checkpoint as if it
// were anybody's file.
class ClassifyGraph : public ZooTest {};

TEST_F(ClassifyGraph, DoesNotContradictTheConfiguration) {
  int known_tasks = 0;
  for (const Architecture& each : architectures()) {
    const std::vector<KnownModel> checkpoints = published(each.name);
    if (checkpoints.empty()) continue;
    BuildRequest request;
    request.config = checkpoints.back().config;
    request.model_class = each.default_class;
    request.weights_left_out = true;
    const Result<BuiltModel> built = build(request, path("model.onnx"));
    ASSERT_TRUE(built) << each.name << ": " << to_string(built.error());
    const Result<ModelInfo> info = inspect_graph(path("model.onnx"));
    ASSERT_TRUE(info) << each.name << ": " << to_string(info.error());
    const Classification known = assay::classify(*info), seen = classify_graph(*info);
    EXPECT_EQ(known.task, classify(each, request.model_class).task) << each.name;
    known_tasks += seen.task != kUnknownClass ? 1 : 0;
    for (const auto& [word, expected] :
         {std::pair(seen.family, known.family), {seen.category, known.category}, {seen.task, known.task}})
      EXPECT_TRUE(word == expected || word == kUnknownClass) << each.name << ": " << word << ", not " << expected;
  }
  EXPECT_GT(known_tasks, 50);
}

}  // namespace
}  // namespace assay::zoo
