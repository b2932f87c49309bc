// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/registry.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/files.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class Registry : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  fs::path root_ = folder_.path();
  EngineRegistry::Places places_{
      root_ / "plugins", root_ / "deps", {root_ / "site"}, root_ / "assay-worker", {root_ / "usr"}, {}, {}};

  void SetUp() override {
    for (const char* name : {"onnxruntime", "openvino", "null"}) put(fmt::format("plugins/assay_engine_{}.so", name));
  }
  void put(const fs::path& file, std::string_view text = "") { ASSERT_TRUE(write_file_atomically(root_ / file, text)); }
  /// An external engine in `others/<folder>`.
  void put_engine(const std::string& folder, const std::string& name, const std::string& more = "") {
    put(fs::path("others") / folder / "engine.json",
        fmt::format(R"({{"name": "{}", "hardware": ["cpu"], "formats": ["onnx"]{}}})", name, more));
    put(fs::path("others") / folder / fmt::format("assay_engine_{}.so", name));
  }
  [[nodiscard]] std::vector<std::string> problems() const {
    const EngineRegistry registry(places_);
    std::vector<std::string> messages;
    for (const Error& problem : registry.problems()) messages.push_back(problem.message);
    return messages;
  }
  Result<EngineLocation> locate(std::string_view name) { return EngineRegistry(places_).locate(name); }
};

TEST_F(Registry, DistinguishesUnknownNotBuiltAndNotInstalled) {
  const auto unknown = locate("onnx-runtime");
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(unknown.error().hint, HasSubstr("onnxruntime, openvino"));
  EXPECT_EQ(locate("browser").error().code, ErrorCode::kUnsupported);
  const auto missing = locate("openvino");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("no libopenvino_c.so in " + (root_ / "deps/openvino").string()));
  EXPECT_THAT(missing.error().hint, HasSubstr("ASSAY_OPENVINO_HOME"));
}

TEST_F(Registry, NamesTheSetUpOfACheckoutThatHasOneForTheEngine) {
  const auto how = [&] { return EngineRegistry(places_).entry("openvino")->how_to_get; };
  EXPECT_THAT(how(), HasSubstr("pip install --no-deps --target " + (root_ / "deps/openvino").string()));
  put("setup/fetch");
  put("engines/openvino/setup/lock.txt");
  EXPECT_EQ(how(), (root_ / "setup/fetch").string() + " openvino");
}

TEST_F(Registry, NeedsNothingButThePluginForTheNullEngine) {
  EXPECT_EQ(locate("null")->home, "");
  fs::remove(root_ / "plugins/assay_engine_null.so");
  EXPECT_THAT(locate("null").error().message, HasSubstr("plug-in of engine null is missing"));
}

TEST_F(Registry, PrefersTheVariableThenItsOwnFolderThenPythonThenTheSystem) {
  put("usr/libonnxruntime.so.1.14.0");
  EXPECT_EQ(locate("onnxruntime")->found_by, "system libraries");
  EXPECT_EQ(locate("onnxruntime")->home, root_ / "usr");
  put("site/onnxruntime/capi/libonnxruntime.so.1.20.1");
  put("site/onnxruntime_gpu-1.20.1.dist-info/METADATA");
  EXPECT_EQ(locate("onnxruntime")->found_by, "site-packages");
  EXPECT_EQ(locate("onnxruntime")->version, "1.20.1");
  put("deps/onnxruntime/onnxruntime/capi/libonnxruntime.so.1.31.1");
  EXPECT_EQ(locate("onnxruntime")->found_by, "assay's own folder");
  EXPECT_EQ(locate("onnxruntime")->home, root_ / "deps/onnxruntime/onnxruntime/capi");
  put("mine/lib/libonnxruntime.so");
  places_.homes["ASSAY_ONNXRUNTIME_HOME"] = root_ / "mine";
  EXPECT_EQ(locate("onnxruntime")->found_by, "ASSAY_ONNXRUNTIME_HOME");
  EXPECT_EQ(locate("onnxruntime")->home, root_ / "mine/lib");
  EXPECT_EQ(locate("onnxruntime")->version, "");
}

TEST_F(Registry, ReportsAVariableWithoutARuntimeInsteadOfUsingAnother) {
  put("deps/onnxruntime/onnxruntime/capi/libonnxruntime.so.1.31.1");
  places_.homes["ASSAY_ONNXRUNTIME_HOME"] = root_ / "typo";
  EXPECT_THAT(locate("onnxruntime").error().message,
              HasSubstr("ASSAY_ONNXRUNTIME_HOME is '" + (root_ / "typo").string()));
}

TEST_F(Registry, KeepsSeveralVersionsSideBySide) {
  put("deps/onnxruntime-1.9.2/onnxruntime/capi/libonnxruntime.so.1.9.2");
  put("deps/onnxruntime-1.24.1/lib/libonnxruntime.so");
  EXPECT_EQ(locate("onnxruntime")->version, "1.24.1") << "the newest, compared by numbers";
  EXPECT_EQ(locate("onnxruntime@1.9.2")->home, root_ / "deps/onnxruntime-1.9.2/onnxruntime/capi");
  EXPECT_EQ(locate("onnxruntime@1.9")->version, "1.9.2");
  const auto none = locate("onnxruntime@1.2");
  EXPECT_THAT(none.error().message, HasSubstr("onnxruntime 1.2 is not installed"));
  EXPECT_THAT(none.error().message, HasSubstr("there is 1.24.1, 1.9.2"));
  EXPECT_THAT(none.error().hint,
              HasSubstr("--target " + (root_ / "deps/onnxruntime-1.2").string() + " onnxruntime==1.2`"));
}

TEST_F(Registry, NamesTheFirstFoldersThatItSearched) {
  for (const char* folder : {"a", "b", "c", "d", "e"}) places_.site_packages.push_back(root_ / folder);
  const std::string said = locate("onnxruntime").error().message;
  EXPECT_THAT(said, ::testing::ContainsRegex("/a and 5 more of Python.s and the system.s folders"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr((root_ / "e").string())));
  const EngineRegistry registry(places_);
  const std::vector<fs::path> all = registry.searched_folders(*registry.entry("onnxruntime"));
  for (const char* folder : {"deps/onnxruntime", "a", "e"}) EXPECT_THAT(all, ::testing::Contains(root_ / folder));
  EXPECT_THAT(registry.searched_folders(*registry.entry("null")), ::testing::IsEmpty());
}

TEST_F(Registry, PrefersTheVersionOfAPythonWheelOverThatOfItsLibrary) {
  put("deps/openvino/openvino/libs/libopenvino_c.so.2641");
  put("deps/openvino/openvino-2026.4.1.dist-info/METADATA");
  EXPECT_EQ(locate("openvino")->version, "2026.4.1");
}

TEST_F(Registry, IgnoresOtherFilesWithSimilarNames) {
  put("usr/libonnxruntime.so_old");
  put("usr/libonnxruntime.so.bak");
  put("usr/libonnxruntime_providers_shared.so");
  EXPECT_EQ(locate("onnxruntime").error().code, ErrorCode::kNotFound);
}

TEST_F(Registry, FindsExternalEngines) {
  put_engine("late", "late", R"(, "preference": 30)");
  put_engine("early", "early", R"(, "preference": 1)");
  put("mine/engine.json", R"({"name": "mine", "hardware": ["cpu"], "formats": ["onnx"]})");
  put("mine/assay_engine_mine.so");
  put("plugins/installed/engine.json", R"({"name": "installed", "hardware": ["cpu"], "formats": ["onnx"]})");
  put("plugins/installed/assay_engine_installed.so");
  places_.engine_folders = {root_ / "others", root_ / "mine"};
  const EngineRegistry registry(places_);
  EXPECT_THAT(problems(), IsEmpty());
  std::vector<std::string> own;
  for (const EngineEntry& engine : own_engines()) own.push_back(engine.name);
  const std::vector<std::string> names = registry.names();
  ASSERT_EQ(names.size(), own.size() + 4);
  EXPECT_TRUE(std::equal(own.begin(), own.end(), names.begin())) << "assay's own are first";
  EXPECT_THAT(std::vector(names.begin() + static_cast<std::ptrdiff_t>(own.size()), names.end()),
              ElementsAre("early", "late", "installed", "mine"));
  EXPECT_EQ(registry.locate("late")->plugin, root_ / "others/late/assay_engine_late.so");
  EXPECT_EQ(registry.locate("installed")->plugin, root_ / "plugins/installed/assay_engine_installed.so");
  EXPECT_EQ(engines_for("cpu", registry.entries()).front(), engines_for("cpu", own_engines()).front())
      << "whatever the preference of an external engine";
}

TEST_F(Registry, UsesTheFirstEngineWithAName) {
  put_engine("b", "twin");
  put("mine/engine.json", R"({"name": "twin", "hardware": ["cuda"], "formats": ["onnx"]})");
  places_.engine_folders = {root_ / "mine", root_ / "others"};
  EXPECT_THAT(EngineRegistry(places_).entry("twin")->hardware, ElementsAre("cuda"));
}

TEST_F(Registry, LeavesOutAnEngineWithAMistakeAndReportsIt) {
  put_engine("good", "good");
  put("others/bad/engine.json", "{\n  \"name\": \"bad\",\n  \"hardwear\": [\"cpu\"]\n}");
  places_.engine_folders = {root_ / "others"};
  const EngineRegistry registry(places_);
  EXPECT_TRUE(registry.locate("good"));
  EXPECT_THAT(problems(), ElementsAre(HasSubstr((root_ / "others/bad/engine.json").string() +
                                                ":3: unknown key \"hardwear\"; did you mean \"hardware\"?")));
  EXPECT_THAT(registry.locate("bad").error().hint, HasSubstr("left out: " + (root_ / "others/bad").string()));
}

TEST_F(Registry, RefusesExistingNamesDefaultsAndFoldersWithoutAnEngine) {
  put_engine("a", "openvino");
  put_engine("b", "pushy", R"(, "default_for": ["cpu"])");
  places_.engine_folders = {root_ / "others", root_ / "nowhere"};
  EXPECT_THAT(problems(),
              ElementsAre(HasSubstr("'openvino' is the name of one of assay's own engines"),
                          HasSubstr("only assay's own engines are defaults"),
                          HasSubstr((root_ / "nowhere").string() + "', but there is no engine.json in it")));
}

TEST_F(Registry, NamesTheMissingPlugInOfAnExternalEngineAndTheCommandForItsRuntime) {
  put_engine("toy", "toy", R"(, "runtime": {"library": "libtoy.so", "how_to_get": "make -C toy install"})");
  places_.engine_folders = {root_ / "others"};
  EXPECT_THAT(locate("toy").error().hint, HasSubstr("`make -C toy install` installs it, or set ASSAY_TOY_HOME to"));
  put("mine/libtoy.so.3");
  places_.homes["ASSAY_TOY_HOME"] = root_ / "mine";
  EXPECT_EQ(locate("toy")->version, "3");
  fs::remove(root_ / "others/toy/assay_engine_toy.so");
  EXPECT_THAT(locate("toy").error().hint, HasSubstr("the folder of its engine.json"));
}

}  // namespace
}  // namespace assay
