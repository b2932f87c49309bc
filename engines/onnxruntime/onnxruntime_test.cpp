// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "onnxruntime_engine.hpp"
#include "support/runtime_suite.hpp"

namespace assay::plugin::test {

Result<std::unique_ptr<Engine>> open_engine() {
  const char* home = std::getenv("ASSAY_ONNXRUNTIME_HOME");
  return OnnxruntimeEngine::create(home ? home : ASSAY_TEST_DEPS_DIR "/onnxruntime", host());
}

namespace {

TEST(Onnxruntime, SaysWhereItLookedForTheLibrary) {
  EXPECT_THAT(OnnxruntimeEngine::create("/nowhere", host()), HasError(ErrorCode::kNotFound, "/nowhere"));
}

TEST(Onnxruntime, RunsWithoutTheTelemetryOfOfficialBuilds) {
  std::string why;
  if (engine(why) == nullptr) GTEST_SKIP() << why;
  EXPECT_STREQ(std::getenv("ORT_DISABLE_TELEMETRY"), "1");
  EXPECT_STREQ(std::getenv("ORT_TELEMETRY_DISABLED"), "1");
}

TEST(Onnxruntime, RefusesAnOpsetNewerThanItself) {
  std::string why;
  Engine* onnxruntime = engine(why);
  if (onnxruntime == nullptr) GTEST_SKIP() << why;
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}, {}, 99}, "opset.onnx");
  args.precision = "as_is";
  EXPECT_THAT(onnxruntime->load(args), HasError(ErrorCode::kUnsupported, "99"));
}

TEST(Onnxruntime, AcceptsEveryDescribedValueOfItsOptions) {
  std::string why;
  Engine* onnxruntime = engine(why);
  if (onnxruntime == nullptr) GTEST_SKIP() << why;
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}}, "neg.onnx");
  args.precision = "float32";
  for (const OptionInfo& info : OnnxruntimeEngine::option_infos()) {
    const std::string choices = (info.type == "bool" ? "true|false" : info.type) + "|";
    for (std::size_t from = 0, to; (to = choices.find('|', from)) != std::string::npos; from = to + 1) {
      args.options = {{info.name, choices.substr(from, to - from)}};
      const auto program = onnxruntime->load(args);
      ASSERT_THAT(program, IsOk()) << info.name;
      EXPECT_THAT(*(*program)->effective(), ::testing::Contains(args.options[0]));
    }
    args.options = {{info.name, "perhaps"}};
    EXPECT_THAT(onnxruntime->load(args), HasError(ErrorCode::kInvalidArgument, "perhaps"));
  }
}

TEST(Onnxruntime, CountsTheThreadsThatItChose) {
  std::string why;
  Engine* onnxruntime = engine(why);
  if (onnxruntime == nullptr) GTEST_SKIP() << why;
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}}, "neg.onnx");
  args.precision = "as_is";
  const auto program = onnxruntime->load(args);
  ASSERT_THAT(program, IsOk());
  const auto effective = *(*program)->effective();
  const auto threads =
      std::find_if(effective.begin(), effective.end(), [](const auto& e) { return e.first == "threads"; });
  EXPECT_GE(std::stoi(threads->second), 1);
}

TEST(Onnxruntime, DoesNotListAnAcceleratorThatItsLibraryLacks) {
  std::string why;
  Engine* onnxruntime = engine(why);
  if (onnxruntime == nullptr) GTEST_SKIP() << why;
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}}, "neg.onnx");
  args.precision = "as_is";
  const auto devices = onnxruntime->devices();
  ASSERT_THAT(devices, IsOk());
  for (const OrtProvider& provider : ort_providers()) {
    args.device_id = provider.device_id;
    const bool listed =
        std::any_of(devices->begin(), devices->end(), [&](const auto& d) { return d.id == provider.device_id; });
    EXPECT_EQ(static_cast<bool>(onnxruntime->load(args)), listed) << provider.device_id;
  }
}

}  // namespace
}  // namespace assay::plugin::test
