// SPDX-License-Identifier: Apache-2.0
#include "app/suite/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "core/base/files.hpp"
#include "core/base/json.hpp"

namespace assay::suite {
namespace {
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Result<SuiteConfig> parse(const std::string& text) { return parse_config(text, "my.json"); }

std::string message(const std::string& text) {
  const auto config = parse(text);
  return config ? "no error" : config.error().message;
}

TEST(SuiteConfigTest, WithoutAFileItIsTheExampleOfTheGuide) {
  const SuiteConfig& config = default_config();
  EXPECT_THAT(config.settings.batch_sizes, ElementsAre(1, 4, 8));
  EXPECT_THAT(config.settings.sequence_lengths, ElementsAre(32, 128, 512));
  EXPECT_EQ(config.settings.measure.warmup_iterations, 5);
  EXPECT_EQ(config.settings.measure.iterations, 20);
  EXPECT_EQ(config.settings.timeout, std::chrono::seconds(600));
  EXPECT_EQ(config.settings.launches, 3);
  EXPECT_FALSE(config.settings.default_batches);
  EXPECT_THAT(config.targets.hardware, ElementsAre("cpu", "cuda", "mps", "openvino"));
  ASSERT_THAT(config.models, SizeIs(11));
  EXPECT_EQ(config.models.front().name, "bert-base-uncased");
  EXPECT_EQ(config.models.front().family, "embedding");
  EXPECT_TRUE(config.models.front().from_set);
  EXPECT_EQ(config.models.back().family, "multimodal");
  EXPECT_TRUE(config.parallel && config.plots && config.matrix && config.settings.resource_pool);
  EXPECT_FALSE(config.schedule.enabled);
  EXPECT_THAT(config.given, IsEmpty());
}

TEST(SuiteConfigTest, TheExampleIsReadBackAsItIs) {
  const auto config = parse(example_config());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->given, SizeIs(14));
  const Json written = to_json(*config), example = *parse_json(example_config(), "example");
  for (const auto& [key, value] : example.items()) EXPECT_EQ(written.at(key), value) << key;
}

TEST(SuiteConfigTest, KeysThatAreAbsentKeepTheirDefaults) {
  const auto config = parse(R"({"batch_sizes": [2, 1, 2], "model_families": {"vision": ["vit"]}, "timeout": 1.5,
    "launches": 1, "budget": "1h30m", "max_time": 2, "precision": "fp16", "threads": [1], "seed": 7,
    "warmup_iterations": null, "benchmark_iterations": null, "hardware_types": ["CPU", "qualcomm"],
    "schedule": {"enabled": true, "frequency": "weekly", "time": "23:59"}, "$schema": "x"})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->settings.batch_sizes, ElementsAre(1, 2));
  EXPECT_THAT(config->settings.sequence_lengths, ElementsAre(32, 128, 512));
  EXPECT_THAT(config->models, SizeIs(1));
  EXPECT_EQ(config->settings.timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(config->settings.budget, std::chrono::minutes(90));
  EXPECT_EQ(config->settings.max_time, std::chrono::seconds(2));
  EXPECT_EQ(config->settings.launches, 1);
  EXPECT_EQ(config->settings.precision, "float16");
  EXPECT_TRUE(config->settings.precision_asked);
  EXPECT_EQ(config->settings.measure.iterations, std::nullopt);
  EXPECT_EQ(config->settings.seed, 7U);
  EXPECT_TRUE(config->schedule.enabled);
  EXPECT_EQ(config->schedule.time, "23:59");
}

TEST(SuiteConfigTest, EnginesAloneDecideTheHardware) {
  const auto config = parse(R"({"engines": ["null"]})");
  ASSERT_TRUE(config);
  EXPECT_THAT(config->targets.hardware, IsEmpty());
  EXPECT_FALSE(to_json(*config).contains("hardware_types"));
  EXPECT_THAT(parse(R"({"engines": ["null"], "hardware_types": ["cpu"]})")->targets.hardware, ElementsAre("cpu"));
}

TEST(SuiteConfigTest, PathsAreRelativeToTheFolderOfTheFile) {
  const auto folder = TemporaryDirectory::create();
  ASSERT_TRUE(folder);
  std::ofstream(folder->path() / "m.onnx") << "x";
  const std::filesystem::path file = folder->path() / "c.json";
  std::ofstream(file) << R"({"model_families": {"embedding": ["m.onnx", "bert-base-uncased"]}})";
  const auto config = read_config(file);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->models.at(0).name, "m.onnx");
  EXPECT_EQ(config->models.at(0).reference, (folder->path() / "m.onnx").string());
  EXPECT_EQ(config->models.at(1).reference, "bert-base-uncased");
}

TEST(SuiteConfigTest, MistakesNameLineColumnAndTheNearestKey) {
  EXPECT_THAT(message("{\n  \"batch_size\": [1]\n}"),
              AllOf(HasSubstr("my.json:2:3: \"batch_size\" is not a key"), HasSubstr("did you mean batch_sizes?")));
  EXPECT_THAT(message("{\n  \"batch_sizes\": \"4\"\n}"),
              AllOf(HasSubstr("my.json:2:18: \"batch_sizes\": \"4\" is a string"), HasSubstr("such as [1, 4, 8]")));
  EXPECT_THAT(message("{\"schedule\": {\"time\": \"25:00\"}}"), HasSubstr("my.json:1:23: \"time\": \"25:00\""));
  EXPECT_THAT(message("{\"schedule\": {\"frequency\": \"dayly\"}}"), HasSubstr("did you mean daily?"));
  EXPECT_THAT(message("{\"model_families\": {\"visoin\": []}}"),
              AllOf(HasSubstr("my.json:1:21"), HasSubstr("did you mean vision?")));
  EXPECT_THAT(message("{\"hardware_types\": [\"cudda\"]}"), HasSubstr("did you mean cuda?"));
  EXPECT_THAT(message("{"), HasSubstr("line 1, column"));
  EXPECT_THAT(message("\n [1]"), HasSubstr("my.json:2:2: the file must have one JSON object, {…}, not [1]"));
  EXPECT_THAT(message("{\"parallel\": true,\n \"parallel\": false}"),
              HasSubstr("my.json: the key \"parallel\" is given twice in one object, again at line 2, column 2"));
}

TEST(SuiteConfigTest, AWrongElementOfAListIsNamedAtItsPlace) {
  EXPECT_THAT(message("{\"batch_sizes\": [1,\n  \"2\"]}"),
              HasSubstr("my.json:2:3: \"batch_sizes\": \"2\" is not valid; a list of integers from 1"));
  EXPECT_THAT(message("{\"hardware_types\": [\"cpu\",\n \"cudda\"]}"),
              HasSubstr("my.json:2:2: \"hardware_types\": \"cudda\" is not a hardware; did you mean cuda?"));
  EXPECT_THAT(message("{\"hardware_types\": [\"cpu\", \"cpu\"]}"), HasSubstr("my.json:1:28:"));
  EXPECT_THAT(message("{\"engines\": [\"null\", {}]}"),
              HasSubstr("my.json:1:22: \"engines\": {} is an object; a list of names of runtimes is valid"));
  EXPECT_THAT(
      message("{\"model_families\": {\"vision\": [\"vit\", \"\"]}}"),
      HasSubstr("my.json:1:39: \"vision\": \"\" is not a name; a list of names, ids or paths of models is valid"));
  EXPECT_THAT(message("{\"model_families\": {\"vision\": [\"a\"], \"audio\": [\"b\", \"a\"]}}"),
              HasSubstr("my.json:1:53: \"audio\": \"a\" is in the family vision, too"));
}

TEST(SuiteConfigTest, EveryWrongValueIsAnError) {
  for (const char* wrong : {R"("batch_sizes": [])",
                            R"("batch_sizes": [0])",
                            R"("batch_sizes": [1.5])",
                            R"("batch_sizes": [99999999999])",
                            R"("batch_sizes": [18446744073709551615])",
                            R"("sequence_lengths": 128)",
                            R"("warmup_iterations": -1)",
                            R"("benchmark_iterations": 0)",
                            R"("benchmark_iterations": "20")",
                            R"("timeout": 0)",
                            R"("timeout": "600")",
                            R"("model_families": [])",
                            R"("model_families": {})",
                            R"("model_families": {"vision": "vit"})",
                            R"("model_families": {"vision": [""]})",
                            R"("model_families": {"vision": ["a", "a"]})",
                            R"("model_families": {"vision": ["a"], "audio": ["a"]})",
                            R"("hardware_types": [])",
                            R"("hardware_types": "cpu")",
                            R"("parallel": 1)",
                            R"("use_resource_pool": "true")",
                            R"("generate_plots": null)",
                            R"("schedule": true)",
                            R"("schedule": {"enabled": 1})",
                            R"("schedule": {"time": "2:00"})",
                            R"("launches": 0)",
                            R"("launches": 101)",
                            R"("budget": "5x")",
                            R"("budget": 0)",
                            R"("max_time": -1)",
                            R"("precision": "fp17")",
                            R"("seed": -1)",
                            R"("output_dir": "")",
                            R"("threads": [0])",
                            R"("engines": [1])"})
    EXPECT_THAT(message(std::string("{") + wrong + "}"), HasSubstr("my.json:1:")) << wrong;
}

TEST(SuiteConfigTest, AllMistakesAreNamedAtOnce) {
  const std::string said = message("{\"a\": 1,\n\"timeout\": 0,\n\"parallel\": 2}");
  EXPECT_THAT(said, AllOf(HasSubstr("my.json:1:2:"), HasSubstr("my.json:2:12:"), HasSubstr("my.json:3:13:")));
  const std::string lists = message(
      "{\"hardware_types\": [\"cudda\", \"cpu\", \"opnvino\"],\n\"batch_sizes\": [0, 1, \"2\"],\n"
      "\"model_families\": {\"vision\": [\"\", \"a\", \"a\"], \"audio\": [\"a\", 3]}}");
  for (const char* each : {"1:21: \"hardware_types\": \"cudda\" is not a hardware; did you mean cuda?",
                           "1:37: \"hardware_types\": \"opnvino\"", "2:17: \"batch_sizes\": 0 is not valid",
                           "2:23: \"batch_sizes\": \"2\" is not valid", "3:31: \"vision\": \"\" is not a name",
                           "3:40: \"vision\": \"a\" is there twice",
                           "3:56: \"audio\": \"a\" is in the family vision, too", "3:61: \"audio\": 3 is a number"})
    EXPECT_THAT(lists, HasSubstr(each));
  std::string many = "{\"k0\": 0";
  for (int i = 1; i < 12; ++i) many += ", \"k" + std::to_string(i) + "\": 0";
  EXPECT_THAT(message(many + "}"), HasSubstr("and 2 more"));
}

TEST(SuiteConfigTest, ModelsAreChosenByFamilyNameAndId) {
  SuiteConfig config = default_config();
  ASSERT_TRUE(choose_models(config, {"vision", "gpt2"}));
  std::vector<std::string> names;
  for (const ModelChoice& model : config.models) names.push_back(model.name);
  EXPECT_THAT(names, ElementsAre("gpt2", "google/vit-base-patch16-224", "microsoft/resnet-50"));
  const Status unknown = choose_models(config, {"visoin"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().hint, HasSubstr("vision"));
  EXPECT_FALSE(choose_models(config, {"audio"}));
}

}  // namespace
}  // namespace assay::suite
