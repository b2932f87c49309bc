// SPDX-License-Identifier: Apache-2.0
#include "core/traits/engine_entry.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/traits/own_engine_files.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
namespace fs = std::filesystem;

std::string refusal(const std::string& text) {
  const Result<EngineEntry> engine = parse_engine(text, "e/engine.json");
  return engine ? "accepted" : engine.error().message;
}

TEST(EngineFile, HasDefaultsForAllButThreeKeys) {
  const EngineEntry engine =
      parse_engine(R"({"name": "toy_2", "hardware": ["cpu"], "formats": ["onnx"]})", "engine.json").value();
  EXPECT_EQ(engine.framework, "toy_2");
  EXPECT_EQ(engine.home_variable(), "ASSAY_TOY_2_HOME");
  EXPECT_EQ(engine.reference_name(), "toy_2");
  EXPECT_EQ(engine.cpu_device, "cpu");
  EXPECT_TRUE(engine.built && engine.needs_model);
  EXPECT_FALSE(engine.static_shapes);
  EXPECT_THAT(engine.kv_cache, ElementsAre("growing", "static"));
  EXPECT_FALSE(engine.runtime_cache);
  EXPECT_EQ(engine.library, "");
  EXPECT_EQ(engine.lowered_to, "");
}

TEST(EngineFile, AnEngineWithALoweringTakesOnnxModelsForOneSetOfShapes) {
  const EngineEntry engine =
      parse_engine(R"({"name": "toy", "hardware": ["cpu"], "formats": ["toy"], "lowered_to": "stablehlo",
                       "saves": ["toy"]})",
                   "engine.json")
          .value();
  EXPECT_EQ(engine.lowered_to, "stablehlo");
  EXPECT_THAT(engine.saves, ElementsAre("toy"));
  EXPECT_TRUE(engine.takes("onnx") && engine.takes("toy"));
  EXPECT_FALSE(engine.reads("onnx") || engine.takes("xml"));
  EXPECT_TRUE(engine.fixes_shapes_of("onnx"));
  EXPECT_FALSE(engine.fixes_shapes_of("toy")) << "its own files may have open extents";
}

TEST(EngineFile, SaysTheDefaultFormOfShapesForAllModelsOrByFamily) {
  const auto with = [](const std::string& more) {
    return parse_engine(R"({"name": "toy", "hardware": ["cpu"], "formats": ["onnx"])" + more + "}", "e/engine.json");
  };
  EXPECT_FALSE(with("")->gets_exported_shapes("vision"));
  EXPECT_TRUE(with(R"(, "default_shapes": "exported")")->gets_exported_shapes("vision"));
  EXPECT_TRUE(with(R"(, "default_shapes": "exported")")->gets_exported_shapes("unknown"));
  EXPECT_FALSE(with(R"(, "default_shapes": "static")")->gets_exported_shapes("vision"));
  const auto by_family = with(R"(, "default_shapes": {"vision": "static", "other": "exported"})");
  EXPECT_FALSE(by_family->gets_exported_shapes("vision"));
  EXPECT_TRUE(by_family->gets_exported_shapes("audio"));
  EXPECT_FALSE(with(R"(, "default_shapes": {"vision": "exported"})")->gets_exported_shapes("audio"));

  EXPECT_THAT(with(R"(, "default_shapes": "export")").error().message,
              HasSubstr("\"default_shapes\" has the unknown value \"export\"; did you mean \"exported\"?"));
  EXPECT_THAT(with(R"(, "default_shapes": {"visoin": "static"})").error().message,
              HasSubstr("unknown key \"visoin\"; did you mean \"vision\"?"));
  EXPECT_THAT(with(R"(, "shapes": "static", "default_shapes": "exported")").error().message,
              HasSubstr("\"default_shapes\" is for engines that accept open extents"));
}

TEST(EngineFile, ReadsEveryKey) {
  const EngineEntry engine = parse_engine(R"({"name": "toy", "framework": "Toys", "planned": true, "preference": 7,
    "hardware": ["cpu", "cuda"], "default_for": ["cuda"], "formats": ["onnx", "toy"], "companions": {"toy": "weights"}, "needs_model": false,
    "shapes": "static", "cpu_device": "CPU", "kv_cache": ["static"],
    "fixed_extents": "extents", "open_extents": {"reshape": "false"},
    "spin": {"on": {"wait": "busy"}, "off": {"wait": "sleep"}},
    "runtime_cache": {"converter": "toy-convert", "format": "toy"},
    "reference": {"name": "plain", "options": {"fuse": "none"}},
    "runtime": {"library": "libtoy.so", "package": "toy", "folders": ["lib"], "how_to_get": "make install"}})",
                                          "engine.json")
                                 .value();
  EXPECT_EQ(engine.framework_title, "Toys");
  EXPECT_EQ(engine.framework, "toys");
  EXPECT_FALSE(engine.built || engine.needs_model);
  EXPECT_EQ(engine.preference, 7);
  EXPECT_TRUE(engine.serves("cuda") && engine.reads("toy") && engine.static_shapes);
  EXPECT_THAT(engine.default_for, ElementsAre("cuda"));
  EXPECT_THAT(engine.companions, ElementsAre(Pair("toy", "weights")));
  EXPECT_EQ(engine.cpu_device, "CPU");
  EXPECT_EQ(engine.fixed_extents, "extents");
  EXPECT_THAT(engine.open_extents, ElementsAre(Pair("reshape", "false")));
  EXPECT_THAT(engine.spin_on, ElementsAre(Pair("wait", "busy")));
  EXPECT_THAT(engine.spin_off, ElementsAre(Pair("wait", "sleep")));
  EXPECT_THAT(engine.kv_cache, ElementsAre("static"));
  EXPECT_EQ(engine.runtime_cache->converter, "toy-convert");
  EXPECT_EQ(engine.runtime_cache->format, "toy");
  EXPECT_EQ(engine.reference_name(), "toy-plain");
  EXPECT_THAT(engine.reference.options, ElementsAre(Pair("fuse", "none")));
  EXPECT_EQ(engine.library, "libtoy.so");
  EXPECT_EQ(engine.package, "toy");
  EXPECT_THAT(engine.folders, ElementsAre("lib"));
  EXPECT_EQ(engine.how_to_get, "make install");
}

TEST(EngineFile, RefusesMistakesWithTheLineAndTheValidValues) {
  EXPECT_EQ(refusal("{\n \"name\": \"toy\",\n \"formats\": [\"onnx\"]\n}"),
            "e/engine.json:1: the key \"hardware\" is missing");
  EXPECT_EQ(
      refusal("{\n \"name\": \"toy\",\n \"hardware\": [\"cpu\"],\n \"formats\": [\"onnx\"],\n \"prefrence\": 1\n}"),
      "e/engine.json:5: unknown key \"prefrence\"; did you mean \"preference\"?");
  EXPECT_EQ(refusal("{\n \"name\": \"toy\",\n \"hardware\": [\"gpu\"],\n \"formats\": [\"onnx\"]\n}"),
            "e/engine.json:3: \"hardware\" has the unknown value \"gpu\"; did you mean \"cpu\"?");
  const auto with = [](const std::string& more) {
    return refusal(R"({"name": "toy", "hardware": ["cpu"], "formats": ["onnx"], )" + more + "}");
  };
  EXPECT_THAT(with(R"("default_for": ["cuda"])"),
              HasSubstr("\"default_for\" has \"cuda\", which \"hardware\" does not have"));
  EXPECT_THAT(with(R"("companions": {"toy": "bin"})"), HasSubstr("has \"toy\", which \"formats\" does not have"));
  EXPECT_THAT(with(R"("companions": {"onnx": ".data"})"), HasSubstr("companion \".data\" of \"onnx\" is not"));
  EXPECT_THAT(with(R"("lowered_to": "llvm")"), HasSubstr("\"lowered_to\" has the unknown value \"llvm\""));
  EXPECT_THAT(with(R"("lowered_to": "stablehlo")"), HasSubstr("is for engines that do not read it"));
  EXPECT_THAT(with(R"("saves": ["onnx"])"), HasSubstr("it is for formats of an engine with \"lowered_to\""));
  EXPECT_THAT(with(R"("shapes": "fixed")"), HasSubstr("\"shapes\" has the unknown value \"fixed\""));
  EXPECT_THAT(with(R"("kv_cache": ["runtime"])"), HasSubstr("\"kv_cache\" has the unknown value \"runtime\""));
  EXPECT_THAT(with(R"("runtime_cache": {})"), HasSubstr("needs either \"graph\" or \"converter\""));
  EXPECT_THAT(with(R"("runtime_cache": {"converter": "x"})"), HasSubstr("\"converter\" needs \"format\""));
  EXPECT_THAT(with(R"("runtime": {"package": "toy"})"), HasSubstr("the key \"library\" is missing"));
  EXPECT_THAT(with(R"("reference": {"name": "a", "options": {"x": 1}})"), HasSubstr("must be an object of strings"));
  EXPECT_THAT(refusal(R"({"name": "My-Toy", "hardware": ["cpu"], "formats": []})"),
              HasSubstr("\"My-Toy\" may contain"));
  EXPECT_THAT(refusal(R"({"name": "toy", "hardware": ["cpu"], "formats": [".onnx"]})"), HasSubstr("not an extension"));
  EXPECT_THAT(refusal(R"({"name": "toy", "hardware": [], "formats": []})"), HasSubstr("\"hardware\" is empty"));
}

TEST(EngineFile, SaysWhichFileBelongsToAModel) {
  const EngineEntry toy = parse_engine(
                              R"({"name": "toy", "hardware": ["cpu"], "formats": ["toy", "one"],
                                  "companions": {"toy": "weights"}})",
                              "engine.json")
                              .value();
  const TemporaryDirectory folder = TemporaryDirectory::create().value();
  for (const char* name : {"m.weights", "m.bin"}) ASSERT_TRUE(write_file_atomically(folder.path() / name, "w"));
  EXPECT_EQ(companion_of(folder.path() / "m.toy", {toy}), folder.path() / "m.weights");
  EXPECT_EQ(companion_of(folder.path() / "m.TOY", {toy}), folder.path() / "m.weights");
  EXPECT_EQ(companion_of(folder.path() / "m.one", {toy}), std::nullopt);
  EXPECT_EQ(companion_of(folder.path() / "other.toy", {toy}), std::nullopt) << "it is not there";
  EXPECT_EQ(companion_of(folder.path() / "m.toy", {}), std::nullopt);
}

TEST(EngineFile, HasEachKeyInTheDocument) {
  const std::string document = read_file(ASSAY_SOURCE_DIR "/docs/engines.md").value();
  const auto keys_of = [](const std::string& text) {
    const std::string hint = parse_engine(text, "engine.json").error().hint;
    constexpr std::string_view kList = "valid are: ";
    EXPECT_THAT(hint, StartsWith(kList));
    return split(hint.substr(kList.size()), ',');
  };
  for (const std::string& key : keys_of(R"({"no such key": 1})"))
    if (trim(key) != "runtime") {
      EXPECT_THAT(document, HasSubstr(fmt::format("\n| `{}` |", trim(key))));
    }
  for (const std::string& key : keys_of(R"({"runtime": {"no such key": 1}})"))
    EXPECT_THAT(document, HasSubstr(fmt::format("\n| `runtime.{}` |", trim(key))));
}

TEST(OwnEngines, AreInFoldersWithTheirNameAndAreBuiltIfThereIsCode) {
  ASSERT_FALSE(own_engine_files().empty());
  for (const auto& [file, text] : own_engine_files()) {
    const EngineEntry engine = parse_engine(std::string(text), std::string(file)).value();
    EXPECT_EQ(fs::path(file), fs::path("engines") / engine.name / "engine.json");
    const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "engines" / engine.name;
    EXPECT_EQ(engine.built, fs::exists(folder / "CMakeLists.txt")) << engine.name << " is planned, or has code";
    EXPECT_EQ(engine.built, fs::exists(folder / "README.md")) << engine.name;
  }
}

TEST(OwnEngines, HaveDifferentPreferencesAndOneDefaultForEachWord) {
  std::map<std::int64_t, std::string> preferences;
  std::map<std::string, std::string> defaults;
  for (const EngineEntry& engine : own_engines()) {
    EXPECT_TRUE(preferences.emplace(engine.preference, engine.name).second)
        << engine.name << " and " << preferences[engine.preference] << " have the same preference";
    for (const std::string& word : engine.default_for)
      EXPECT_TRUE(defaults.emplace(word, engine.name).second)
          << engine.name << " and " << defaults[word] << " are both the default for " << word;
  }
  for (const std::string& word : hardware_words())
    EXPECT_FALSE(engines_for(word, own_engines()).empty()) << "stored keys need a default for " << word;
}

// The keys of stored rows depend on the defaults. A new engine may have any place after them.
TEST(OwnEngines, SupportTheHardwareInTheOrderOfTheDesign) {
  const auto expect = [](const char* word, const std::vector<std::string>& wanted) {
    std::vector<std::string> serving = engines_for(word, own_engines());
    ASSERT_FALSE(serving.empty());
    EXPECT_EQ(serving.front(), wanted.front()) << "the default for " << word;
    std::erase_if(serving, [&](const std::string& name) { return std::ranges::find(wanted, name) == wanted.end(); });
    EXPECT_EQ(serving, wanted) << word;
  };
  expect("cpu", {"onnxruntime", "openvino", "libtorch", "xla", "browser", "null"});
  expect("cuda", {"onnxruntime", "libtorch", "xla"});
  expect("rocm", {"onnxruntime", "libtorch"});
  expect("mps", {"onnxruntime", "libtorch"});
  expect("openvino", {"openvino", "onnxruntime"});
  expect("qnn", {"onnxruntime"});
  for (const char* word : {"webgpu", "webnn", "wasm"}) expect(word, {"browser"});
  expect("tpu", {"xla"});
  EXPECT_THAT(engines_for("abacus", own_engines()), IsEmpty());
}

TEST(OwnEngines, IncludeTheReference) {
  const EngineEntry* reference = own_engine(kReferenceEngine);
  ASSERT_NE(reference, nullptr);
  EXPECT_TRUE(reference->built && reference->needs_model && reference->reads("onnx"));
  EXPECT_EQ(reference->reference_name(), "onnxruntime-noopt");
}

TEST(TargetKey, IsTheHardwareForItsDefaultEngine) {
  EXPECT_EQ(target_key("cpu", "onnxruntime"), "cpu");
  EXPECT_EQ(target_key("cpu", ""), "cpu");
  EXPECT_EQ(target_key("cpu", "libtorch"), "cpu@libtorch");
  EXPECT_EQ(target_key("openvino", "openvino"), "openvino");
  EXPECT_EQ(target_key("cpu", "of_another"), "cpu@of_another");
}

}  // namespace
}  // namespace assay
