// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/artefact.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bench/prepare/zoo_source.hpp"
#include "core/base/files.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Artefacts : public ::testing::Test {
 protected:
  Artefacts()
      : store_({&registry_, folder_.path() / "models", std::chrono::minutes(1), [this] { return cancelled_; },
                [this](const std::string& what) { said_.push_back(what); }}) {}

  static ArtefactSpec tiny() {
    const ZooSource source = zoo_source(zoo::find_known("prajjwal1/bert-tiny").value());
    ArtefactSpec spec;
    spec.zoo = ZooBuild{.config = source.config, .model_class = source.model_class};
    return spec;
  }
  [[nodiscard]] std::size_t folders() const {
    std::error_code none;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path() / "models", none), fs::directory_iterator()));
  }
  static std::string weights_of(const Artefact& artefact) { return inspect_model(artefact.model).value().weights_hash; }

  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  EngineRegistry registry_{EngineRegistry::Places{}};
  bool cancelled_ = false;
  std::vector<std::string> said_;
  ArtefactStore store_;
};

TEST_F(Artefacts, AModelFileIsTakenAsItIs) {
  const fs::path file = folder_.path() / "mine.onnx";
  ASSERT_TRUE(write_file_atomically(file, "12345"));
  const Result<Artefact> made = store_.make({.file = file}, "mine");
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->model, file);
  EXPECT_EQ(made->bytes, 5U);
  EXPECT_EQ(store_.make({}, "null")->model, "") << "an engine that needs no file";
  EXPECT_TRUE(said_.empty());
}

TEST_F(Artefacts, TheSameIsMadeOnceAndRemovedWithItsLastUser) {
  {
    const Artefact first = store_.make(tiny(), "bert").value(), second = store_.make(tiny(), "bert").value();
    EXPECT_EQ(first.model, second.model);
    EXPECT_GT(first.bytes, 17'000'000U);
    EXPECT_THAT(said_, ElementsAre("building bert"));
    ArtefactSpec other = tiny();
    other.zoo->seed = 1;
    EXPECT_NE(weights_of(store_.make(other, "bert").value()), weights_of(first));
    EXPECT_EQ(folders(), 1U) << "nobody holds the other one";
  }
  EXPECT_EQ(folders(), 0U);
  ASSERT_TRUE(store_.make(tiny(), "bert"));
  EXPECT_EQ(said_.size(), 3U) << "made again";
}

TEST_F(Artefacts, WeightsAreRoundedThenPerturbed) {
  ArtefactSpec rounded = tiny(), perturbed = tiny();
  rounded.rounded_to = DType::kBFloat16;
  perturbed.rounded_to = DType::kBFloat16;
  perturbed.perturbation = ArtefactSpec::Perturbation{DType::kBFloat16, 1};
  const std::string plain = weights_of(store_.make(tiny(), "bert").value());
  const std::string after_rounding = weights_of(store_.make(rounded, "bert").value());
  const std::string after_both = weights_of(store_.make(perturbed, "bert").value());
  EXPECT_NE(plain, after_rounding);
  EXPECT_NE(after_rounding, after_both);
}

TEST_F(Artefacts, AGraphIsSpecialisedToShapes) {
  ArtefactSpec spec = tiny();
  spec.shapes = {{"input_ids", {2, 16}}, {"attention_mask", {2, 16}}, {"token_type_ids", {2, 16}}};
  const Result<Artefact> made = store_.make(spec, "bert");
  ASSERT_TRUE(made) << to_string(made.error());
  const ModelInfo info = inspect_graph(made->model).value();
  for (const ModelValue& input : info.inputs) EXPECT_EQ(input.shape, (Shape{2, 16}));
}

TEST_F(Artefacts, AnInterruptionAndAMistakeAreErrorsAndLeaveNothing) {
  ArtefactSpec wrong = tiny();
  wrong.zoo->config["hidden_size"] = 7;
  EXPECT_FALSE(store_.make(wrong, "bert"));
  cancelled_ = true;
  EXPECT_EQ(store_.make(tiny(), "bert").error().code, ErrorCode::kCancelled);
  EXPECT_EQ(folders(), 0U);
}

TEST_F(Artefacts, ACopyDoesNotOverwriteDataThatAreCalledLikeAModel) {
  onnx::ModelProto model = testing::small_model();
  const testing::ModelFolder folder;
  folder.write_bytes(model.graph().initializer(0).raw_data(), "model.onnx");
  testing::set_external(*model.mutable_graph()->mutable_initializer(0), {{"location", "model.onnx"}});
  ArtefactSpec spec{.file = folder.write(model, "net.onnx")};
  const std::string weights = inspect_model(spec.file)->weights_hash;
  spec.perturbation = ArtefactSpec::Perturbation{DType::kFloat32, 3};
  const Result<Artefact> perturbed = store_.make(spec, "net");
  ASSERT_TRUE(perturbed) << to_string(perturbed.error());
  EXPECT_NE(inspect_model(perturbed->model)->weights_hash, weights);
  spec.perturbation.reset();
  spec.honest = ArtefactSpec::HonestRun{ArtefactSpec::HonestRun::Kind::kRounded, DType::kFloat16, 0};
  const Result<Artefact> rounded = store_.make(spec, "net");
  ASSERT_TRUE(rounded) << to_string(rounded.error());
  EXPECT_EQ(inspect_model(rounded->model)->parameter_count, inspect_model(spec.file)->parameter_count);
}

TEST(ArtefactSpecJson, IsAValueThatAnotherProcessReads) {
  ArtefactSpec spec;
  spec.zoo = ZooBuild{{{"model_type", "bert"}}, "BertModel", "/weights",      "abc", 7, "float16",
                      DType::kFloat16,          true,        KvCache::kStatic};
  spec.rounded_to = DType::kBFloat16;
  spec.perturbation = ArtefactSpec::Perturbation{DType::kFloat16, 3};
  spec.honest = ArtefactSpec::HonestRun{ArtefactSpec::HonestRun::Kind::kQuantised, DType::kFloat32, 5};
  spec.shapes = {{"x", {1, 2}}};
  spec.lowered_to = lowering::Dialect::kStableHlo;
  spec.converter = "openvino";
  const Result<ArtefactSpec> again = artefact_from_json(to_json(spec));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), to_json(spec));
  EXPECT_EQ(again->zoo->weights_rounded_to, DType::kFloat16);
  EXPECT_EQ(again->perturbation->seed, 3U);
  EXPECT_EQ(again->honest->seed, 5U);
  EXPECT_EQ(to_json(artefact_from_json(to_json(ArtefactSpec{.file = "/a.onnx"})).value()), Json({{"file", "/a.onnx"}}));
  EXPECT_THAT(artefact_from_json(Json({{"lowered_to", "llvm"}})).error().message, HasSubstr("llvm"));
  EXPECT_THAT(artefact_from_json(Json({{"rounded_to", "float99"}})).error().message, HasSubstr("float99"));
}

}  // namespace
}  // namespace assay
