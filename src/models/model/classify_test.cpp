// SPDX-License-Identifier: Apache-2.0
#include "models/model/classify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "models/onnx/inspect.hpp"

namespace assay {

bool operator==(const Classification& a, const Classification& b) {
  return a.family == b.family && a.category == b.category && a.task == b.task && a.basis == b.basis;
}
std::ostream& operator<<(std::ostream& out, const Classification& what) {
  return out << what.family << ", " << what.category << ", " << what.task << " by " << what.basis;
}

namespace {

const Classification kNothing{};
const DType kFloat = DType::kFloat32, kInt = DType::kInt64;

ModelValue value(const char* name, DType dtype, Shape shape, const char* made_by = "MatMul") {
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .made_by = made_by};
}

Classification of(std::vector<ModelValue> inputs, std::vector<ModelValue> outputs,
                  std::vector<std::string> operators = {"MatMul"}) {
  ModelInfo model;
  model.inputs = std::move(inputs);
  model.outputs = std::move(outputs);
  for (std::string& name : operators) model.operators.emplace_back("", std::move(name));
  return classify(model);
}

const ModelValue kIds = value("input_ids", kInt, {-1, -1}), kMask = value("attention_mask", kInt, {-1, -1}),
                 kTypes = value("token_type_ids", kInt, {-1, -1}),
                 kPixels = value("pixel_values", kFloat, {-1, 3, 224, 224}),
                 kWave = value("input_values", kFloat, {-1, -1}),
                 kMel = value("input_features", kFloat, {-1, 80, 3000}),
                 kHidden = value("last_hidden_state", kFloat, {-1, -1, 384}),
                 kVocabulary = value("logits", kFloat, {-1, -1, 30522}), kTwo = value("logits", kFloat, {-1, 2});

TEST(ClassifyGraph, TellsImageClassifiersOfTheWheelOfOnnx) {
  const std::filesystem::path light = std::filesystem::path(ASSAY_TEST_DEPS_DIR) / "onnx/onnx/backend/test/data/light";
  for (const char* name : {"bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet",
                           "squeezenet", "vgg19", "zfnet512"}) {
    const auto info = inspect_graph(light / (std::string("light_") + name + ".onnx"));
    ASSERT_TRUE(info) << to_string(info.error());
    EXPECT_EQ(classify(*info), (Classification{"vision", "vision", "image-classification", "graph"})) << name;
  }
}

TEST(ClassifyGraph, TellsTextEncodersByTheirHeads) {
  const auto encoder = [](const char* task) { return Classification{"embedding", "text_encoders", task}; };
  EXPECT_EQ(of({kIds, kMask, kTypes}, {kHidden}), encoder("feature-extraction"));
  EXPECT_EQ(of({kIds, kMask}, {kTwo}), encoder("text-classification"));
  EXPECT_EQ(of({kIds, kMask}, {value("logits", kFloat, {-1, -1, 9})}), encoder("token-classification"));
  EXPECT_EQ(of({kIds, kMask}, {value("start_logits", kFloat, {-1, -1}), value("end_logits", kFloat, {-1, -1})}),
            encoder("question-answering"));
  EXPECT_EQ(of({kIds, kMask, kTypes}, {kVocabulary}), encoder("fill-mask"));
  EXPECT_EQ(of({kIds, kMask}, {value("output_0", kFloat, {-1, 384})}), encoder("unknown"));
}

TEST(ClassifyGraph, TellsDecodersByTheirStatesOrTheirMask) {
  const Classification decoder{"text_generation", "text_decoders", "text-generation"};
  const ModelValue past = value("past_key_values.0.key", kFloat, {-1, 4, -1, 64});
  EXPECT_EQ(of({kIds, kMask, past}, {kVocabulary}), decoder);
  EXPECT_EQ(of({kIds, kMask}, {kVocabulary}, {"MatMul", "Trilu"}), decoder);
  EXPECT_EQ(of({kIds, kMask}, {kHidden}, {"MatMul", "Trilu"}).task, "feature-extraction");
  EXPECT_EQ(of({kIds, kMask}, {kVocabulary}), kNothing) << "it may as well fill masks";
  EXPECT_EQ(of({kIds, kMask, value("decoder_input_ids", kInt, {-1, -1})}, {kVocabulary}),
            (Classification{"text_generation", "encoder_decoders", "text2text-generation"}));
  EXPECT_EQ(of({kIds, value("encoder_hidden_states", kFloat, {-1, -1, 384}), past}, {kVocabulary}), kNothing)
      << "what was encoded may be an image or speech";
}

TEST(ClassifyGraph, TellsWhatLooksAtImages) {
  const auto vision = [](const char* task) { return Classification{"vision", "vision", task}; };
  const ModelValue image = value("x", kFloat, {1, 3, 32, 32});
  EXPECT_EQ(of({kPixels}, {kHidden}), vision("image-feature-extraction"));
  EXPECT_EQ(of({kPixels}, {kTwo}), vision("image-classification"));
  EXPECT_EQ(of({image}, {value("y", kFloat, {1, 10}, "Softmax")}, {"Conv"}), vision("image-classification"));
  EXPECT_EQ(of({image}, {value("y", kFloat, {1, 10})}, {"Conv"}), vision("unknown")) << "classes, or a vector of ten?";
  EXPECT_EQ(of({image}, {value("y", kFloat, {1, 10})}), kNothing) << "nothing but a shape";
  EXPECT_EQ(of({value("x", kFloat, {1, 512, 32, 32})}, {value("y", kFloat, {1, 10})}, {"Conv"}), kNothing);
  EXPECT_EQ(of({value("x", DType::kUInt8, {1, -1, -1, 3})}, {value("boxes", kFloat, {1, 100, 4})}, {"Conv"}),
            vision("object-detection"));
  EXPECT_EQ(of({kPixels}, {value("logits", kFloat, {-1, 150, 128, 128})}), vision("image-segmentation"));
  EXPECT_EQ(of({kPixels}, {value("predicted_depth", kFloat, {-1, 384, 384})}), vision("depth-estimation"));
  EXPECT_EQ(of({value("sample", kFloat, {-1, 4, 64, 64}), value("timestep", kInt, {-1}),
                value("encoder_hidden_states", kFloat, {-1, 77, 768})},
               {value("out_sample", kFloat, {-1, 4, 64, 64})}, {"Conv"}),
            (Classification{"multimodal", "diffusion", "text-to-image"}));
}

TEST(ClassifyGraph, TellsWhatListens) {
  EXPECT_EQ(of({kWave}, {value("logits", kFloat, {-1, -1, 32})}),
            (Classification{"audio", "audio", "automatic-speech-recognition"}));
  EXPECT_EQ(of({kWave}, {value("logits", kFloat, {-1, -1, 2})}), (Classification{"audio", "audio", "unknown"}))
      << "frames";
  EXPECT_EQ(of({kMel}, {kTwo}), (Classification{"audio", "audio", "audio-classification"}));
  EXPECT_EQ(of({kMel, value("decoder_input_ids", kInt, {-1, -1})}, {kVocabulary}),
            (Classification{"audio", "speech_text", "automatic-speech-recognition"}));
}

TEST(ClassifyGraph, TellsWhatTakesTwoKinds) {
  const ModelValue per_image = value("logits_per_image", kFloat, {-1, -1});
  EXPECT_EQ(of({kIds, kPixels, kMask}, {per_image}),
            (Classification{"multimodal", "vision_language", "zero-shot-image-classification"}));
  EXPECT_EQ(of({kIds, kPixels, kMask}, {kVocabulary}),
            (Classification{"multimodal", "vision_language", "image-text-to-text"}));
  EXPECT_EQ(of({kIds, kMel}, {value("logits_per_audio", kFloat, {-1, -1})}),
            (Classification{"multimodal", "audio", "zero-shot-audio-classification"}));
  EXPECT_EQ(of({kIds, value("pixel_values", kFloat, {-1, 8, 3, 224, 224})}, {kVocabulary}),
            (Classification{"multimodal", "unknown", "unknown"}))
      << "frames of a video, or tiles of an image";
}

TEST(ClassifyGraph, SaysNothingOfWhatIsNoneOfThese) {
  EXPECT_EQ(of({value("x", kFloat, {-1, 4})}, {value("y", kFloat, {-1, 3}, "Softmax")}, {"Gemm", "Softmax"}), kNothing);
  EXPECT_EQ(of({value("user_ids", kInt, {-1})}, {value("score", kFloat, {-1})}, {"Gather"}), kNothing);
  EXPECT_EQ(of({}, {}), kNothing);
}

TEST(Classify, TakesTheWordsOfTheConfigurationThatAFileCarries) {
  ModelInfo model;
  model.inputs = {kPixels};
  model.outputs = {kTwo};
  model.metadata_family = "embedding";
  model.metadata_category = "text_encoders";
  model.metadata_task = "fill-mask";
  EXPECT_EQ(classify(model), (Classification{"embedding", "text_encoders", "fill-mask", "configuration"}));
  EXPECT_EQ(classify_graph(model).task, "image-classification");
  model.metadata_task = "poetry";
  EXPECT_EQ(classify(model).task, "unknown") << "no word of the list";
}

}  // namespace
}  // namespace assay
