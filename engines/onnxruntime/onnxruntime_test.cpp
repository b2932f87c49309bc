// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "onnxruntime_engine.hpp"
#include "ort_probe.hpp"
#include "support/runtime_suite.hpp"

namespace assay::plugin::test {

Result<std::unique_ptr<Engine>> open_engine() {
  const char* home = std::getenv("ASSAY_ONNXRUNTIME_HOME");
  return OnnxruntimeEngine::create(home ? home : ASSAY_TEST_DEPS_DIR "/onnxruntime", host());
}

namespace {

using Onnxruntime = RuntimeTest;

/// y = -x on three elements of this type.
LoadArgs negation(assay_dtype dtype = 1) {
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", dtype, {"3"}}}, {{"y", dtype, {"3"}}}},
                          "neg" + std::to_string(dtype) + ".onnx");
  args.precision = "as_is";
  return args;
}

TEST(OnnxruntimeLibrary, SaysWhereItLookedForTheLibrary) {
  EXPECT_THAT(OnnxruntimeEngine::create("/nowhere", host()), HasError(ErrorCode::kNotFound, "/nowhere"));
}

TEST_F(Onnxruntime, RunsWithoutTheTelemetryOfOfficialBuilds) {
  EXPECT_STREQ(std::getenv("ORT_DISABLE_TELEMETRY"), "1");
  EXPECT_STREQ(std::getenv("ORT_TELEMETRY_DISABLED"), "1");
}

TEST_F(Onnxruntime, RefusesAnOpsetNewerThanItself) {
  LoadArgs args;
  args.model_path = write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}, {}, 99}, "opset.onnx");
  args.precision = "as_is";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "99"));
}

TEST_F(Onnxruntime, AcceptsEveryDescribedValueOfItsOptions) {
  LoadArgs args = negation();
  args.precision = "float32";
  for (const OptionInfo& info : OnnxruntimeEngine::option_infos()) {
    if (info.type == "string") continue;
    const std::string choices = (info.type == "bool" ? "true|false" : info.type) + "|";
    for (std::size_t from = 0, to; (to = choices.find('|', from)) != std::string::npos; from = to + 1) {
      args.options = {{info.name, choices.substr(from, to - from)}};
      const auto program = engine_->load(args);
      ASSERT_THAT(program, IsOk()) << info.name;
      EXPECT_THAT(*(*program)->effective(), ::testing::Contains(args.options[0]));
    }
    args.options = {{info.name, "perhaps"}};
    EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "perhaps"));
  }
}

TEST_F(Onnxruntime, CountsTheThreadsThatItChose) {
  LoadArgs args = negation();
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  const auto effective = *(*program)->effective();
  const auto threads =
      std::find_if(effective.begin(), effective.end(), [](const auto& e) { return e.first == "threads"; });
  EXPECT_GE(std::stoi(threads->second), 1);
}

KeyValues effective_of(Engine& onnxruntime, const LoadArgs& args) {
  const auto program = onnxruntime.load(args);
  EXPECT_THAT(program, IsOk());
  return program ? *(*program)->effective() : KeyValues();
}

TEST_F(Onnxruntime, MeasuresItsArithmetic) {
  constexpr std::pair<assay_dtype, const char*> kTypes[] = {{1, "float32"}, {11, "float64"}};
  for (const auto& [type, name] : kTypes) {
    const KeyValues effective = effective_of(*engine_, negation(type));
    EXPECT_THAT(effective, ::testing::Contains(::testing::Pair("precision", name)));
    EXPECT_THAT(effective, ::testing::Contains(::testing::Pair("denormals", "kept")));
  }
  EXPECT_THAT(effective_of(*engine_, negation(10)),
              ::testing::Contains(::testing::Pair("precision", ::testing::AnyOf("float32", "float16"))));
}

TEST_F(Onnxruntime, TheArithmeticOfATypeWithoutAMatrixProductIsUnknown) {
  const char* home = std::getenv("ASSAY_ONNXRUNTIME_HOME");
  const auto runtime = OrtRuntime::open(home ? home : ASSAY_TEST_DEPS_DIR "/onnxruntime", host());
  if (!runtime) GTEST_SKIP() << runtime.error().message;
  const auto options = ort_make<OrtOptionsPtr>(**runtime, &OrtApi::CreateSessionOptions);
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(ort_measure_arithmetic(**runtime, options->get(), "float8e4m3fn").precision, "unknown");
}

TEST_F(Onnxruntime, DividesTheThreadsAmongStreams) {
  LoadArgs args = negation();
  const auto threads = [&](int total, int streams) {
    args.threads = total;
    args.streams = streams;
    for (const auto& [key, value] : effective_of(*engine_, args))
      if (key == "threads") return std::stoi(value);
    return 0;
  };
  EXPECT_EQ(threads(4, 1), 4);
  EXPECT_EQ(threads(4, 2), 4);
  EXPECT_EQ(threads(4, 4), 4);
  EXPECT_EQ(threads(2, 3), 3) << "each stream calls from a thread of its own";
}

TEST_F(Onnxruntime, FixesOpenDimensionsOnRequest) {
  LoadArgs args;
  args.model_path =
      write({{{"Neg", {"x"}, {"y"}}}, {{"x", 1, {"batch", "n"}}}, {{"y", 1, {"batch", "n"}}}}, "open.onnx");
  args.precision = "as_is";
  args.options = {{"free_dimensions", "batch=2;n=3;absent=4"}};
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  EXPECT_THAT((*program)->inputs()[0].dims, ::testing::ElementsAre(2, 3));
  EXPECT_THAT(*(*program)->effective(), ::testing::Contains(args.options[0]));
  args.options = {{"free_dimensions", "batch=many"}};
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "batch=many"));
}

TEST_F(Onnxruntime, SpinningIsReadBack) {
  LoadArgs args = negation();
  args.threads = 2;
  EXPECT_THAT(effective_of(*engine_, args), ::testing::Contains(::testing::Pair("spin", "on")));
  args.options = {{"spinning", "false"}};
  EXPECT_THAT(effective_of(*engine_, args), ::testing::Contains(::testing::Pair("spin", "off")));
}

TEST_F(Onnxruntime, DoesNotListAnAcceleratorThatItsLibraryLacks) {
  LoadArgs args = negation();
  const auto devices = engine_->devices();
  ASSERT_THAT(devices, IsOk());
  for (const OrtProvider& provider : ort_providers()) {
    args.device_id = provider.device_id;
    const bool listed =
        std::any_of(devices->begin(), devices->end(), [&](const auto& d) { return d.id == provider.device_id; });
    const auto program = engine_->load(args);
    EXPECT_EQ(static_cast<bool>(program), provider.is_processor()) << provider.device_id;
    EXPECT_TRUE(listed || !program) << provider.device_id;
    // Bound inputs would be copied to the device outside of the timed interval.
    if (!provider.is_processor()) {
      EXPECT_THAT(program, HasError(ErrorCode::kUnsupported, provider.ort_name));
    }
  }
}

}  // namespace
}  // namespace assay::plugin::test
