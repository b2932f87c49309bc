// SPDX-License-Identifier: Apache-2.0
#include "engine/registry.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Registry : public ::testing::Test {
 protected:
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  fs::path root_ = folder_.path();
  EngineRegistry::Places places_{root_ / "plugins",      root_ / "deps",  {root_ / "site"},
                                 root_ / "assay-worker", {root_ / "usr"}, {}};

  void SetUp() override {
    for (const char* name : {"onnxruntime", "openvino", "null"}) put(fmt::format("plugins/assay_engine_{}.so", name));
  }
  void put(const fs::path& file) { ASSERT_TRUE(write_file_atomically(root_ / file, "")); }
  Result<EngineLocation> locate(std::string_view name) { return EngineRegistry(places_).locate(name); }
};

TEST_F(Registry, TellsUnknownNotBuiltAndNotInstalledApart) {
  const auto unknown = locate("onnx-runtime");
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(unknown.error().hint, HasSubstr("onnxruntime, openvino"));
  EXPECT_EQ(locate("libtorch").error().code, ErrorCode::kUnsupported);
  const auto missing = locate("openvino");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("no libopenvino_c.so in " + (root_ / "deps/openvino").string()));
  EXPECT_THAT(missing.error().hint, HasSubstr("ASSAY_OPENVINO_HOME"));
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
  places_.homes["onnxruntime"] = root_ / "mine";
  EXPECT_EQ(locate("onnxruntime")->found_by, "ASSAY_ONNXRUNTIME_HOME");
  EXPECT_EQ(locate("onnxruntime")->home, root_ / "mine/lib");
  EXPECT_EQ(locate("onnxruntime")->version, "");
}

TEST_F(Registry, SaysWhenTheVariablePointsNowhereInsteadOfTakingAnother) {
  put("deps/onnxruntime/onnxruntime/capi/libonnxruntime.so.1.31.1");
  places_.homes["onnxruntime"] = root_ / "typo";
  EXPECT_THAT(locate("onnxruntime").error().message,
              HasSubstr("ASSAY_ONNXRUNTIME_HOME is '" + (root_ / "typo").string()));
}

TEST_F(Registry, KeepsSeveralVersionsSideBySide) {
  put("deps/onnxruntime-1.9.2/onnxruntime/capi/libonnxruntime.so.1.9.2");
  put("deps/onnxruntime-1.24.1/lib/libonnxruntime.so");
  EXPECT_EQ(locate("onnxruntime")->version, "1.24.1") << "the newest, by number and not by letter";
  EXPECT_EQ(locate("onnxruntime@1.9.2")->home, root_ / "deps/onnxruntime-1.9.2/onnxruntime/capi");
  EXPECT_EQ(locate("onnxruntime@1.9")->version, "1.9.2");
  const auto none = locate("onnxruntime@1.2");
  EXPECT_THAT(none.error().message, HasSubstr("onnxruntime 1.2 is not installed"));
  EXPECT_THAT(none.error().message, HasSubstr("there is 1.24.1, 1.9.2"));
  EXPECT_THAT(none.error().hint,
              HasSubstr("--target " + (root_ / "deps/onnxruntime-1.2").string() + " onnxruntime==1.2`"));
}

TEST_F(Registry, TakesAPythonWheelsVersionOverThatOfItsLibrary) {
  put("deps/openvino/openvino/libs/libopenvino_c.so.2641");
  put("deps/openvino/openvino-2026.4.1.dist-info/METADATA");
  EXPECT_EQ(locate("openvino")->version, "2026.4.1");
}

TEST_F(Registry, IsNotMisledByOtherFilesOfSimilarNames) {
  put("usr/libonnxruntime.so_old");
  put("usr/libonnxruntime.so.bak");
  put("usr/libonnxruntime_providers_shared.so");
  EXPECT_EQ(locate("onnxruntime").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
