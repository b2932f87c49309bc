// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/onnx/inspect.hpp"
#include "models/zoo/catalogue/catalogue.hpp"
#include "models/zoo/fake_checkpoint.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay::zoo {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

onnx::ModelProto parse(const std::filesystem::path& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(read_file(path).value()));
  return model;
}

std::vector<std::string> input_names(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& input : model.graph().input()) names.push_back(input.name());
  return names;
}

class Build : public ZooTest {
 protected:
  [[nodiscard]] Result<BuiltModel> build_golden(const std::string& name, const std::filesystem::path& weights,
                                                const std::string& model_class = {}) const {
    BuildRequest request;
    request.config = golden_config(name);
    request.model_class = model_class;
    request.weights = weights;
    return build(request, path("model.onnx"));
  }
};

TEST_F(Build, GivesTheSameBytesForTheSameRequestAndOthersForAnotherSeed) {
  BuildRequest request;
  request.config = golden_config("bert");
  ASSERT_TRUE(build(request, path("a.onnx")));
  ASSERT_TRUE(build(request, path("b.onnx")));
  request.seed = 1;
  const Result<BuiltModel> other = build(request, path("c.onnx"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->weights_hash, "seeded:splitmix64-ih4-1:1");
  EXPECT_TRUE(other->seeded);
  EXPECT_EQ(read_file(path("a.onnx")).value(), read_file(path("b.onnx")).value());
  EXPECT_NE(read_file(path("a.onnx")).value(), read_file(path("c.onnx")).value());
}

TEST_F(Build, CountsParametersAsHuggingFaceDoes) {
  for (const std::string name : {"bert", "vit", "vit__model", "resnet", "t5", "t5__encoder", "whisper"}) {
    const Result<BuiltModel> built = build_golden(name, golden_folder(name));
    ASSERT_TRUE(built) << to_string(built.error());
    EXPECT_EQ(built->parameter_count, read_json(golden_folder(name) / "meta.json").value()["param_count"]) << name;
    const Result<ModelInfo> info = inspect_model(path("model.onnx"));
    ASSERT_TRUE(info) << to_string(info.error());
    EXPECT_EQ(info->parameter_count, built->parameter_count) << "rows say what Hugging Face says: " << name;
  }
}

TEST_F(Build, WritesWhatTheModelIsIntoTheFile) {
  ASSERT_TRUE(build_seeded(golden_config("vit")));
  std::map<std::string, std::string> metadata;
  const onnx::ModelProto model = parse(path("model.onnx"));
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  EXPECT_THAT(metadata, Contains(Pair("assay.architecture", "vit")));
  EXPECT_THAT(metadata, Contains(Pair("assay.class", "ViTForImageClassification")));
  EXPECT_THAT(metadata, Contains(Pair("assay.family", "vision")));
  EXPECT_THAT(metadata, Contains(Pair("assay.weights_hash", "seeded:splitmix64-ih4-1:0")));
  EXPECT_THAT(metadata, Contains(Pair("assay.config_hash", ::testing::SizeIs(64))));
}

// ONNX Runtime warns of each one at each load.
TEST_F(Build, LeavesNoInitializerUnused) {
  for (const std::string name : {"bert", "vit", "vit__model", "resnet"}) {
    ASSERT_TRUE(build_seeded(golden_config(name)));
    const onnx::ModelProto model = parse(path("model.onnx"));
    std::set<std::string> used;
    for (const auto& node : model.graph().node()) used.insert(node.input().begin(), node.input().end());
    for (const auto& tensor : model.graph().initializer())
      EXPECT_TRUE(used.contains(tensor.name())) << name << ": " << tensor.name();
  }
}

TEST_F(Build, NamesNodesByTheirPlaceInTheModel) {
  ASSERT_TRUE(build_seeded(golden_config("bert")));
  std::set<std::string> names;
  const onnx::ModelProto model = parse(path("model.onnx"));
  for (const auto& node : model.graph().node()) names.insert(node.name());
  EXPECT_THAT(names, Contains("/encoder/layer.1/attention/self/query/MatMul"));
  EXPECT_THAT(names, Contains("/pooler/Tanh"));
}

TEST_F(Build, HasTheUsualInputsOrExactlyThoseAskedFor) {
  ASSERT_TRUE(build_seeded(golden_config("bert")));
  EXPECT_THAT(input_names(parse(path("model.onnx"))),
              UnorderedElementsAre("input_ids", "attention_mask", "token_type_ids"));

  BuildRequest request;
  request.config = golden_config("bert");
  request.input_shapes = {{"input_ids", {2, 12}}, {"position_ids", {1, 12}}};
  ASSERT_TRUE(build(request, path("model.onnx")));
  EXPECT_THAT(input_names(parse(path("model.onnx"))), UnorderedElementsAre("input_ids", "position_ids"));

  request.input_shapes["langs"] = {2};
  const Result<BuiltModel> refused = build(request, path("model.onnx"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message, "unsupported: input langs");
}

TEST_F(Build, RefusesInputsOfAnotherRankTypeOrSize) {
  BuildRequest request;
  request.config = golden_config("bert");
  request.input_shapes = {{"input_ids", {2, 12}}, {"attention_mask", {2, 1, 12, 12}}};
  EXPECT_EQ(build(request, path("m.onnx")).error().message,
            "unsupported: input attention_mask of shape [2, 1, 12, 12]");
  request.input_shapes = {{"input_ids", {2, 12}}};
  request.input_dtypes = {{"input_ids", DType::kFloat32}};
  EXPECT_EQ(build(request, path("m.onnx")).error().message, "unsupported: input input_ids of type float32");
  request.input_shapes = {{"attention_mask", {2, 12}}};
  EXPECT_EQ(build(request, path("m.onnx")).error().code, ErrorCode::kInvalidArgument);

  BuildRequest image;
  image.config = golden_config("vit");
  image.input_shapes = {{"pixel_values", {1, 3, 48, 48}}};
  EXPECT_THAT(build(image, path("m.onnx")).error().message, HasSubstr("unsupported: input pixel_values of shape"));
}

TEST_F(Build, TakesImageSidesOfAConvolutionalNetworkFromTheInputs) {
  BuildRequest request;
  request.config = golden_config("resnet");
  request.model_class = "ResNetModel";
  request.input_shapes = {{"pixel_values", {2, 3, 65, 31}}};
  ASSERT_TRUE(build(request, path("model.onnx")));
  const onnx::ModelProto model = parse(path("model.onnx"));
  const auto& shape = model.graph().output(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(2).dim_value(), 3);  // 65 → 33 → 17 → 17 → 9 → 5 → 3
  EXPECT_EQ(shape.dim(3).dim_value(), 1);  // 31 → 16 → 8 → 8 → 4 → 2 → 1
}

TEST_F(Build, EveryBuiltClassBuildsAndNamesItsOutputs) {
  for (const Architecture& architecture : architectures()) {
    // Most goldens lie in the large collection only.
    if (!std::filesystem::exists(golden_folder(architecture.name))) continue;
    for (const auto& [model_class, spec] : architecture.classes) {
      // The golden has 2 labels (BERT's default), which question answering needs, and 5 elsewhere.
      const Result<BuiltModel> built = build_seeded(golden_config(architecture.name), model_class);
      ASSERT_TRUE(built) << model_class << to_string(built.error());
      EXPECT_THAT(built->outputs, Not(IsEmpty()));
    }
  }
}

TEST_F(Build, QuestionAnsweringNeedsTwoLabelsAndAHeadAtLeastOne) {
  Json config = golden_config("bert");
  config["num_labels"] = 3;
  EXPECT_THAT(build_seeded(config, "BertForQuestionAnswering").error().message, HasSubstr("num_labels = 3"));
  config["num_labels"] = 0;
  EXPECT_EQ(build_seeded(config, "BertForSequenceClassification").error().message, "unsupported: num_labels = 0");
}

TEST_F(Build, RefusesOtherPrecisions) {
  BuildRequest request;
  request.config = golden_config("bert");
  request.precision = "float64";
  EXPECT_EQ(build(request, path("m.onnx")).error().message, "unsupported: precision = float64");
}

TEST_F(Build, RefusesMoreWeightsThanTheDiskHolds) {
  Json config = golden_config("bert");
  config["hidden_size"] = 131072;
  config["intermediate_size"] = 1048576;
  config["num_hidden_layers"] = 1024;
  const Result<BuiltModel> built = build_seeded(config);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(built.error().message, HasSubstr("GB free"));
}

TEST_F(Build, NamesMissingMisshapenAndUnknownTensors) {
  FakeCheckpoint checkpoint("bert");
  checkpoint.remove("encoder.layer.1.output.dense.bias");
  checkpoint.add("encoder.layer.2.output.dense.bias", Tensor::create(DType::kFloat32, {32}).value());
  for (NamedView& tensor : checkpoint.tensors()) {
    if (tensor.name == "pooler.dense.weight") tensor.view.shape = {16, 64};
  }
  const Result<BuiltModel> built = build_golden("bert", checkpoint.write(path("w.safetensors")));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(built.error().message, HasSubstr("'encoder.layer.1.output.dense.bias' of shape [32] is missing"));
  EXPECT_THAT(built.error().message,
              HasSubstr("'pooler.dense.weight' has shape [16, 64], the configuration requires [32, 32]"));
  EXPECT_THAT(built.error().message, HasSubstr("'encoder.layer.2.output.dense.bias' is not a parameter of this model"));
  EXPECT_FALSE(std::filesystem::exists(path("model.onnx")));
}

TEST_F(Build, ListsNonParametersAndForeignHeadsThatItIgnores) {
  FakeCheckpoint checkpoint("bert");
  checkpoint.add("embeddings.position_ids", Tensor::create(DType::kInt64, {1, 64}).value());
  checkpoint.add("cls.predictions.bias", Tensor::create(DType::kFloat32, {99}).value());
  const Result<BuiltModel> built = build_golden("bert", checkpoint.write(path("w.safetensors")));
  ASSERT_TRUE(built) << to_string(built.error());
  EXPECT_THAT(built->ignored_tensors, ElementsAre("cls.predictions.bias", "embeddings.position_ids"));
}

TEST_F(Build, FindsParametersUnderOlderNamesAndEitherPrefix) {
  const Result<BuiltModel> plain = build_golden("bert", golden_folder("bert"));
  ASSERT_TRUE(plain);
  const std::string expected = parse(path("model.onnx")).graph().SerializeAsString();

  FakeCheckpoint older("bert");
  older.rename("LayerNorm.weight", "LayerNorm.gamma");
  older.rename("LayerNorm.bias", "LayerNorm.beta");
  for (NamedView& tensor : older.tensors()) tensor.name = "bert." + tensor.name;
  ASSERT_TRUE(build_golden("bert", older.write(path("w.safetensors"))));
  EXPECT_EQ(parse(path("model.onnx")).graph().SerializeAsString(), expected);

  FakeCheckpoint newer("vit");
  newer.rename("vit.", "");
  newer.rename("encoder.layer.", "layers.");
  newer.rename("attention.attention.query", "attention.q_proj");
  newer.rename("attention.attention.key", "attention.k_proj");
  newer.rename("attention.attention.value", "attention.v_proj");
  newer.rename("attention.output.dense", "attention.o_proj");
  newer.rename("intermediate.dense", "mlp.fc1");
  newer.rename("output.dense", "mlp.fc2");
  ASSERT_TRUE(build_golden("vit", golden_folder("vit")));
  const std::string vit = parse(path("model.onnx")).graph().SerializeAsString();
  const Result<BuiltModel> renamed = build_golden("vit", newer.write(path("w.safetensors")));
  ASSERT_TRUE(renamed) << to_string(renamed.error());
  EXPECT_EQ(parse(path("model.onnx")).graph().SerializeAsString(), vit);
}

TEST_F(Build, ReadsShardsAndRefusesThoseOutsideTheFolder) {
  FakeCheckpoint checkpoint("bert");
  FakeCheckpoint first("bert");
  FakeCheckpoint second("bert");
  Json index;
  std::size_t i = 0;
  for (const NamedView& tensor : checkpoint.tensors()) {
    const bool even = i++ % 2 == 0;
    (even ? second : first).remove(tensor.name);
    index["weight_map"][tensor.name] = even ? "a-1.safetensors" : "a-2.safetensors";
  }
  (void)first.write(path("a-1.safetensors"));
  (void)second.write(path("a-2.safetensors"));
  const auto index_path = path("model.safetensors.index.json");
  ASSERT_TRUE(write_file_atomically(index_path, index.dump()));
  const Result<BuiltModel> built = build_golden("bert", folder_->path());
  ASSERT_TRUE(built) << to_string(built.error());
  const std::string graph = parse(path("model.onnx")).graph().SerializeAsString();
  ASSERT_TRUE(build_golden("bert", golden_folder("bert")));
  EXPECT_EQ(graph, parse(path("model.onnx")).graph().SerializeAsString());

  index["weight_map"]["pooler.dense.bias"] = "../a-1.safetensors";
  ASSERT_TRUE(write_file_atomically(index_path, index.dump()));
  EXPECT_THAT(build_golden("bert", folder_->path()).error().message, HasSubstr("outside the folder"));
  ASSERT_TRUE(write_file_atomically(index_path, R"({"weight_map": [1]})"));
  EXPECT_EQ(build_golden("bert", folder_->path()).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Build, ConvertsHalfPrecisionWeights) {
  FakeCheckpoint checkpoint("bert");
  std::vector<Tensor> halves;
  for (NamedView& tensor : checkpoint.tensors()) {
    Tensor half = Tensor::create(DType::kBFloat16, tensor.view.shape).value();
    for (std::size_t i = 0; i < half.as<std::uint16_t>().size(); ++i) {
      half.as<std::uint16_t>()[i] =
          float_to_bfloat16(static_cast<float>(element_as_double(tensor.view, static_cast<std::int64_t>(i))));
    }
    tensor.view = half.view();
    halves.push_back(std::move(half));
  }
  ASSERT_TRUE(build_golden("bert", checkpoint.write(path("w.safetensors"))));
  EXPECT_EQ(parse(path("model.onnx")).graph().initializer(0).data_type(), onnx::TensorProto_DataType_FLOAT);
}

TEST_F(Build, RefusesIntegerWeights) {
  FakeCheckpoint checkpoint("bert");
  checkpoint.remove("pooler.dense.bias");
  checkpoint.add("pooler.dense.bias", Tensor::create(DType::kInt8, {32}).value());
  EXPECT_THAT(build_golden("bert", checkpoint.write(path("w.safetensors"))).error().message,
              HasSubstr("'pooler.dense.bias' is int8"));
}

TEST_F(Build, SaysHowToConvertAPickle) {
  ASSERT_TRUE(write_file_atomically(path("pytorch_model.bin"), "x"));
  const Result<BuiltModel> built = build_golden("bert", folder_->path());
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(built.error().hint, HasSubstr("save_pretrained"));
  EXPECT_EQ(build_golden("bert", path("nowhere")).error().code, ErrorCode::kNotFound);
}

TEST_F(Build, TiesTheMaskedLanguageHeadUnlessTheCheckpointSaysOtherwise) {
  // A checkpoint of BertForMaskedLM made of BertModel's.
  const auto checkpoint = [] {
    FakeCheckpoint made("bert");
    made.remove("pooler.dense.weight");
    made.remove("pooler.dense.bias");
    for (NamedView& tensor : made.tensors()) tensor.name = "bert." + tensor.name;
    const auto add = [&](const std::string& name, const Shape& shape) {
      made.add("cls.predictions." + name, Tensor::create(DType::kFloat32, shape).value());
    };
    add("bias", {99});
    add("transform.dense.weight", {32, 32});
    add("transform.dense.bias", {32});
    add("transform.LayerNorm.weight", {32});
    add("transform.LayerNorm.bias", {32});
    return made;
  };
  const auto build_with = [&](const FakeCheckpoint& made, bool tied) {
    BuildRequest request;
    request.config = golden_config("bert");
    request.config["tie_word_embeddings"] = tied;
    request.model_class = "BertForMaskedLM";
    request.weights = made.write(path("w.safetensors"));
    return build(request, path("model.onnx"));
  };
  const Result<BuiltModel> tied = build_with(checkpoint(), true);
  ASSERT_TRUE(tied) << to_string(tied.error());
  EXPECT_THAT(build_with(checkpoint(), false).error().message, HasSubstr("'cls.predictions.decoder.weight'"));

  FakeCheckpoint differing = checkpoint();
  differing.add("cls.predictions.decoder.weight", Tensor::create(DType::kFloat32, {99, 32}).value());
  const Result<BuiltModel> apart = build_with(differing, true);
  ASSERT_TRUE(apart) << to_string(apart.error());
  EXPECT_EQ(apart->parameter_count, tied->parameter_count + std::int64_t{99} * 32);

  FakeCheckpoint swapped = checkpoint();
  swapped.rename("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight");
  const Result<BuiltModel> other_way = build_with(swapped, true);
  ASSERT_TRUE(other_way) << to_string(other_way.error());
  EXPECT_EQ(other_way->parameter_count, tied->parameter_count);
}

}  // namespace
}  // namespace assay::zoo
