// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "models/graph/static_graph.hpp"
#include "models/zoo/fake_checkpoint.hpp"

namespace assay::zoo {
namespace {
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class Check : public ZooTest {
 protected:
  /// A copy of a golden with its meta.json changed.
  fs::path copy(const std::string& name, const std::function<void(Json&)>& change) {
    fs::path to = path("goldens") / name;
    fs::create_directories(to);
    for (const auto& file : fs::directory_iterator(golden_folder(name))) {
      fs::copy_file(file.path(), to / file.path().filename(), fs::copy_options::overwrite_existing);
    }
    Json meta = read_json(to / "meta.json").value();
    change(meta);
    EXPECT_TRUE(write_file_atomically(to / "meta.json", meta.dump()));
    return to;
  }
  [[nodiscard]] Result<GoldenCase> prepare(const fs::path& folder) const {
    return prepare_golden(folder, path("work"));
  }
};

TEST_F(Check, PreparesTheCommittedGoldens) {
  const auto folders = find_goldens(fs::path(ASSAY_SOURCE_DIR) / "tests/goldens");
  ASSERT_TRUE(folders);
  ASSERT_THAT(*folders, SizeIs(::testing::Ge(6)));
  for (const fs::path& folder : *folders) {
    const Result<GoldenCase> golden = prepare(folder);
    ASSERT_TRUE(golden) << to_string(golden.error());
    EXPECT_TRUE(fs::exists(golden->model.path));
    EXPECT_TRUE(fs::exists(folder / "past") || !golden->refused_part);
    for (const InputRecipe& recipe : golden->inputs) {
      const Result<Tensor> tensor = make_input(recipe, 0, 0);
      ASSERT_TRUE(tensor) << to_string(tensor.error());
      EXPECT_EQ(tensor->shape(), recipe.shape);
    }
  }
}

// What follows from the graph alone is what Hugging Face's outputs are, and every operator has a rule.
TEST_F(Check, TheGraphTellsTheShapesOfItsOutputs) {
  const auto folders = find_goldens(fs::path(ASSAY_SOURCE_DIR) / "tests/goldens");
  ASSERT_TRUE(folders);
  for (const fs::path& folder : *folders) {
    const Result<GoldenCase> golden = prepare(folder);
    ASSERT_TRUE(golden) << to_string(golden.error());
    std::map<std::string, Shape> shapes;
    for (const InputRecipe& recipe : golden->inputs) shapes[recipe.name] = recipe.shape;
    const Result<StaticGraph> graph = StaticGraph::infer(golden->model.path, shapes);
    ASSERT_TRUE(graph) << golden->name << ": " << to_string(graph.error());
    EXPECT_THAT(graph->unknown_operators(), IsEmpty()) << golden->name;
    EXPECT_EQ(graph->cost().counted, 1.0) << golden->name;
    const SafetensorsFile expected = SafetensorsFile::open(golden->expected).value();
    for (const std::string& name : expected.names()) {
      EXPECT_EQ(graph->values().at(name).shape, expected.tensor(name)->shape) << golden->name << " " << name;
    }
  }
}

TEST_F(Check, ReadsTolerancesFromTheFolder) {
  const Result<GoldenCase> golden = prepare(golden_folder("bert"));
  ASSERT_TRUE(golden);
  EXPECT_NEAR(golden->tolerance.absolute, 1.33e-5, 1e-7);
  EXPECT_NEAR(golden->tolerance.relative, 1e-4, 1e-9);
}

TEST_F(Check, RefusesWhatItCannotBuildAsUnsupported) {
  const auto refusal = [&](const std::function<void(Json&)>& change) {
    const Result<GoldenCase> golden = prepare(copy("bert", change));
    EXPECT_FALSE(golden);
    EXPECT_EQ(golden.error().code, ErrorCode::kUnsupported);
    return golden.error().message;
  };
  EXPECT_EQ(refusal([](Json& meta) { meta["class"] = "BertLMHeadModel"; }), "unsupported: class = BertLMHeadModel");
  EXPECT_EQ(refusal([](Json& meta) { meta["fixed_args"]["output_attentions"] = "True"; }),
            "unsupported: fixed_args.output_attentions = True");
}

// A configuration whose model_type is not a name is refused by what stands there, not by what meta.json says it is.
TEST_F(Check, NamesTheModelTypeThatStandsInTheConfiguration) {
  const auto refusal = [&](const Json& type) {
    const fs::path folder = copy("bert", [](Json&) {});
    Json config = read_json(folder / "config.json").value();
    config["model_type"] = type;
    EXPECT_TRUE(write_file_atomically(folder / "config.json", config.dump()));
    const Result<GoldenCase> golden = prepare(folder);
    EXPECT_FALSE(golden);
    EXPECT_EQ(golden.error().code, ErrorCode::kUnsupported);
    return golden.error().message;
  };
  EXPECT_EQ(refusal(nullptr), "unsupported: model_type = null");
  EXPECT_EQ(refusal(5), "unsupported: model_type = 5");
  EXPECT_EQ(refusal("zebra"), "unsupported: model_type = zebra");

  const fs::path diffusion = copy("bert", [](Json& meta) { meta["model_type"] = "UNet2DModel"; });
  ASSERT_TRUE(write_file_atomically(diffusion / "config.json", R"({"_class_name": "UNet2DModel"})"));
  EXPECT_EQ(prepare(diffusion).error().message, "unsupported: model_type = UNet2DModel");
}

TEST_F(Check, RefusesAMetaFileWhoseEntriesHaveOtherTypes) {
  const auto refusal = [&](const char* key, const Json& value) {
    const Result<GoldenCase> golden = prepare(copy("bert", [&](Json& meta) { meta[key] = value; }));
    EXPECT_FALSE(golden) << key;
    EXPECT_EQ(golden.error().code, ErrorCode::kInvalidArgument);
    return golden.error().message;
  };
  EXPECT_EQ(refusal("fixed_args", Json::array({"output_attentions"})),
            R"(meta.json: fixed_args = ["output_attentions"]: expected an object)");
  EXPECT_EQ(refusal("class", 7), "meta.json: class = 7: expected a string");
  EXPECT_EQ(refusal("model_type", Json::array()), "meta.json: model_type = []: expected a string");
  EXPECT_TRUE(prepare(copy("bert", [](Json& meta) { meta["fixed_args"] = nullptr; })));
}

TEST_F(Check, PreparesAPrefillAndADecodeOfAPastPart) {
  const Result<GoldenCase> golden = prepare(golden_folder("llama"));
  ASSERT_TRUE(golden) << to_string(golden.error());
  ASSERT_TRUE(golden->past);
  const GoldenPast& past = *golden->past;
  EXPECT_THAT(SafetensorsFile::open(past.prefill_expected)->names(), testing::ElementsAre("logits"));
  EXPECT_THAT(SafetensorsFile::open(past.decode_expected)->names(), testing::ElementsAre("logits"));
  ASSERT_THAT(past.decode_inputs, SizeIs(2));
  EXPECT_EQ(past.decode_inputs[0].shape, (Shape{2, 1}));
  EXPECT_EQ(past.decode_inputs[1].name, "attention_mask");
  for (const InputRecipe& recipe : past.decode_inputs) EXPECT_TRUE(make_input(recipe, 0, 0)) << recipe.name;
}

TEST_F(Check, APastPartThatCannotBeBuiltIsRefusedForTheWholeFolder) {
  const fs::path folder = copy("bert", [](Json& meta) { meta["fixed_args"]["return_dict"] = "True"; });
  fs::create_directories(folder / "past");
  fs::copy_file(golden_folder("bert") / "inputs.safetensors", folder / "past" / "inputs.safetensors");
  const Result<GoldenCase> golden = prepare(folder);
  ASSERT_TRUE(golden) << to_string(golden.error());
  EXPECT_EQ(golden->refused_part, "the model has no prefill part");
}

TEST_F(Check, SaysWhatIsWrongWithAFolder) {
  EXPECT_EQ(find_goldens(path("nowhere")).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(find_goldens(folder_->path()).error().message, HasSubstr("no folder in it has a meta.json"));
  const fs::path folder = copy("bert", [](Json& meta) { meta["tolerance_atol"] = -1; });
  EXPECT_THAT(prepare(folder).error().message, HasSubstr("tolerance_atol = -1"));
  ASSERT_TRUE(write_file_atomically(folder / "meta.json", "[]"));
  EXPECT_EQ(prepare(folder).error().code, ErrorCode::kInvalidArgument);
}

// Every folder of the large collection is prepared or refused as unsupported; none is in between.
TEST_F(Check, NeverFailsOnAKnownGolden) {
  const char* directory = std::getenv("ASSAY_GOLDENS_DIR");
  if (directory == nullptr) GTEST_SKIP() << "ASSAY_GOLDENS_DIR is not set";
  const auto folders = find_goldens(directory);
  ASSERT_TRUE(folders) << to_string(folders.error());
  for (const fs::path& folder : *folders) {
    const Result<GoldenCase> golden = prepare(folder);
    if (golden) continue;
    EXPECT_EQ(golden.error().code, ErrorCode::kUnsupported) << folder << ": " << to_string(golden.error());
    EXPECT_THAT(golden.error().message, StartsWith("unsupported: ")) << folder;
  }
}

}  // namespace
}  // namespace assay::zoo
