// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "openvino_engine.hpp"
#include "support/runtime_suite.hpp"

namespace assay::plugin::test {

Result<std::unique_ptr<Engine>> open_engine() {
  const char* home = std::getenv("ASSAY_OPENVINO_HOME");
  return OpenvinoEngine::create(home ? home : ASSAY_TEST_DEPS_DIR "/openvino", host());
}

namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Pair;

class Openvino : public RuntimeTest {
 protected:
  [[nodiscard]] KeyValues effective(const LoadArgs& args) const {
    const auto program = engine_->load(args);
    EXPECT_THAT(program, IsOk());
    return program ? (*program)->effective().value_or(KeyValues{}) : KeyValues{};
  }
};

/// y = x · x, the matrix product, with this type.
LoadArgs product(assay_dtype dtype = 1) {
  LoadArgs args;
  args.model_path = write({{{"MatMul", {"x", "x"}, {"y"}}}, {{"x", dtype, {"n", "n"}}}, {{"y", dtype, {"n", "n"}}}},
                          "product" + std::to_string(dtype) + ".onnx");
  args.precision = "as_is";
  args.threads = 1;
  return args;
}

TEST(OpenvinoLibrary, SaysWhereItLooked) {
  EXPECT_THAT(OpenvinoEngine::create("/nowhere", host()), HasError(ErrorCode::kNotFound, "/nowhere"));
}

TEST_F(Openvino, ListsTheProcessorAsCpuAndOpenvinoAndAuto) {
  const auto devices = engine_->devices();
  ASSERT_THAT(devices, IsOk());
  EXPECT_THAT(*devices, Contains(AllOf(Field(&Device::id, "CPU"), Field(&Device::hardware, "cpu"))));
  EXPECT_THAT(*devices, Contains(AllOf(Field(&Device::id, "CPU"), Field(&Device::hardware, "openvino"))));
  EXPECT_EQ(devices->back().id, "AUTO");
}

// A list of all devices costs tens of megabytes: it loads the plug-ins of GPU and NPU. In a process of its own, because
// the other tests do list them. Those that this OpenVINO does not have prove nothing.
TEST_F(Openvino, LoadsOnlyTheProcessorsPluginForTheProcessor) {
  const char* home = std::getenv("ASSAY_OPENVINO_HOME");
  std::vector<std::string> others;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(home != nullptr ? home : ASSAY_TEST_DEPS_DIR "/openvino"))
    for (const char* name : {"openvino_intel_gpu_plugin", "openvino_intel_npu_plugin"})
      if (file.path().filename().string().find(name) != std::string::npos) others.emplace_back(name);
  if (others.empty()) GTEST_SKIP() << "this OpenVINO has no plug-in for GPU or NPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto others_loaded = [&] {
    for (const char* device : {"", "CPU"}) {
      LoadArgs args = product();
      args.device_id = device;
      if (!engine_->load(args)) return 2;
    }
    std::ifstream maps("/proc/self/maps");
    const std::string all{std::istreambuf_iterator<char>(maps), {}};
    return std::ranges::any_of(others, [&](const auto& name) { return all.find(name) != std::string::npos; }) ? 1 : 0;
  };
  EXPECT_EXIT(std::exit(others_loaded()), ::testing::ExitedWithCode(0), "");
}

TEST_F(Openvino, ComputesFloat32InFloat32EvenOnProcessorsWithBfloat16) {
  for (const char* device : {"CPU", "AUTO"}) {
    LoadArgs args = product();
    args.device_id = device;
    const auto program = engine_->load(args);
    ASSERT_THAT(program, IsOk());
    const auto in_force = (*program)->effective();
    EXPECT_THAT(*in_force, Contains(Pair("precision", "float32")));
    EXPECT_THAT(*in_force, Contains(Pair("INFERENCE_PRECISION_HINT", "f32")));
    EXPECT_THAT(*in_force, Contains(Pair("KV_CACHE_PRECISION", "f32")));
    EXPECT_THAT(*in_force, Contains(Pair("DYNAMIC_QUANTIZATION_GROUP_SIZE", "0")));

    constexpr std::int64_t kSide = 64;
    const float value = 1.0f + 0x1p-12f;  // no bfloat16 is nearer than 2^-12
    Tensor x = floats({kSide, kSide}, std::vector<float>(kSide * kSide, value));
    const auto context = (*program)->create_context(std::vector{x.shape()});
    ASSERT_THAT(context, IsOk());
    ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
    ASSERT_THAT((*context)->run(0), IsOk());
    const auto y = output(**context);
    ASSERT_THAT(y, IsOk());
    EXPECT_NEAR(y->values[5] / (kSide * value * value), 1, 1e-6);
  }
}

TEST_F(Openvino, KeepsDenormalNumbersAndMeasuresIt) {
  EXPECT_THAT(effective(product()), Contains(Pair("denormals", "kept")));
}

TEST_F(Openvino, LeavesThePrecisionToTheRuntimeOnRequestAndReportsIt) {
  LoadArgs args = product();
  args.precision = "runtime";
  const KeyValues in_force = effective(args);
  const auto hint = std::find_if(in_force.begin(), in_force.end(),
                                 [](const auto& e) { return e.first == "INFERENCE_PRECISION_HINT"; });
  ASSERT_NE(hint, in_force.end());
  EXPECT_THAT(in_force, Contains(Pair("precision", hint->second == "bf16"  ? "bfloat16"
                                                   : hint->second == "f16" ? "float16"
                                                                           : "float32")));
}

TEST_F(Openvino, NeverComputesAModelInASmallerTypeThanItsOwn) {
  const auto of = [](const KeyValues& in_force) {
    for (const auto& [key, value] : in_force)
      if (key == "precision") return value;
    return std::string();
  };
  EXPECT_THAT(of(effective(product(10))), ::testing::AnyOf("float16", "float32"));   // not bfloat16
  EXPECT_THAT(of(effective(product(16))), ::testing::AnyOf("bfloat16", "float32"));  // not float16
  EXPECT_THAT(engine_->load(product(11)), HasError(ErrorCode::kUnsupported, "float64"));
}

TEST_F(Openvino, DividesTheThreadsAmongStreams) {
  LoadArgs args = product();
  args.streams = 2;
  args.threads = 2;
  const KeyValues in_force = effective(args);
  EXPECT_THAT(in_force, Contains(Pair("NUM_STREAMS", "2")));
  EXPECT_THAT(in_force, Contains(Pair("threads", "2"))) << "of all streams together";
  EXPECT_THAT(in_force, Contains(Pair("PERFORMANCE_HINT", "THROUGHPUT")));
  args.streams = 1;
  EXPECT_THAT(effective(args), Contains(Pair("PERFORMANCE_HINT", "LATENCY")));
}

TEST_F(Openvino, RunsEveryShapeWithAndWithoutCompilingItAgain) {
  for (const char* fixed : {"false", "true"}) {
    LoadArgs args = product();
    args.options = {{"static_shapes", fixed}};
    const auto program = engine_->load(args);
    ASSERT_THAT(program, IsOk());
    EXPECT_THAT(*(*program)->effective(), Contains(Pair("static_shapes", fixed)));
    for (const std::int64_t side : {2, 3, 2}) {
      Tensor x = floats({side, side}, std::vector<float>(static_cast<std::size_t>(side * side), 2));
      const auto first = (*program)->create_context(std::vector{x.shape()});
      const auto second = (*program)->create_context(std::vector{x.shape()});
      for (const auto* context : {&first, &second}) {
        ASSERT_THAT(*context, IsOk());
        ASSERT_THAT((**context)->set_input(0, 0, x.view()), IsOk());
        for (int run = 0; run < 2; ++run) {
          ASSERT_THAT((**context)->run(0), IsOk());
          const auto y = output(***context);
          ASSERT_THAT(y, IsOk());
          EXPECT_THAT(y->dims, ElementsAre(side, side));
          EXPECT_EQ(y->values[0], 4.0f * static_cast<float>(side));
        }
      }
    }
  }
}

TEST_F(Openvino, DoesNotReadTheModelAgainWhileItCompiles) {
  LoadArgs args = product();
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  Tensor two = floats({2, 2}, {1, 2, 3, 4}), one = floats({1, 1}, {3});
  ASSERT_THAT((*program)->create_context(std::vector{two.shape()}), IsOk());
  ASSERT_THAT((*program)->prepare_context(std::vector{one.shape()}), IsOk());
  ASSERT_TRUE(std::filesystem::remove(args.model_path));
  const auto context = (*program)->create_context(std::vector{one.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, one.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context)->values, ElementsAre(9));
  EXPECT_THAT((*program)->create_context(std::vector{two.shape()}), ::testing::Not(IsOk())) << "the file is gone";
}

TEST_F(Openvino, ReportsAFailureWithoutATextByItsStatusAndNotByAnEarlierText) {
  EXPECT_THAT(engine_->load(product(11)), HasError(ErrorCode::kUnsupported, "float64"));
  LoadArgs args;
  args.precision = "as_is";
  args.model_path = write({{{"Frobnicate", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}}, "unknown.onnx");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "Frobnicate"));
  const char* home = std::getenv("ASSAY_OPENVINO_HOME");
  const auto runtime = OvRuntime::open(home ? home : ASSAY_TEST_DEPS_DIR "/openvino", host());
  ASSERT_THAT(runtime, IsOk());
  const Status refused = (*runtime)->check(INVALID_C_PARAM);
  EXPECT_THAT(refused, HasError(ErrorCode::kInternal, "status -14"));
  EXPECT_EQ(refused.error().message.find("Frobnicate"), std::string::npos);
}

TEST_F(Openvino, ReturnsUnsupportedIfOpenvinoSaysSo) {
  LoadArgs args;
  args.precision = "as_is";
  // An element type that its importer lacks, whatever the operator.
  args.model_path = write({{{"Identity", {"x"}, {"y"}}}, {{"x", 18, {"3"}}}, {{"y", 18, {"3"}}}}, "float8.onnx");
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "Unsupported type"));
  // A rank that is known only at run time: the device refuses it, not the importer.
  args.model_path = write({{{"Reshape", {"x", "s"}, {"y"}}, {"Shape", {"y"}, {"z"}}},
                           {{"x", 1, {"n"}}, {"s", 7, {"k"}}},
                           {{"z", 7, {"r"}}}},
                          "rank.onnx");
  args.options = {{"static_shapes", "false"}};
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kUnsupported, "dynamic rank"));
}

TEST_F(Openvino, NamesTheReasonAndTheOperatorThatItCannotConvert) {
  LoadArgs args;
  args.precision = "as_is";
  args.model_path =
      write({{{"ReduceSum", {"x", "axes"}, {"y"}}}, {{"x", 1, {"n", "3"}}, {"axes", 7, {"k"}}}, {{"y", 1, {"1", "1"}}}},
            "axes.onnx");
  const auto refused = engine_->load(args);
  EXPECT_THAT(refused, HasError(ErrorCode::kUnsupported, "ReduceSum"));
  EXPECT_THAT(refused, HasError(ErrorCode::kUnsupported, "axes tensor's shape"));
}

TEST_F(Openvino, ReadsItsOwnFormat) {
  LoadArgs args;
  args.precision = "float32";
  args.model_path = write_bytes(R"(<?xml version="1.0"?><net name="m" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,3" element_type="f32"/>
      <output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>3</dim></port></output></layer>
    <layer id="1" name="relu" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input>
      <output><port id="1" precision="FP32" names="y"><dim>-1</dim><dim>3</dim></port></output></layer>
    <layer id="2" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input></layer>
    </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges>
    </net>)",
                                "relu.xml");
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  EXPECT_EQ((*program)->inputs()[0].name, "x");
  EXPECT_EQ((*program)->outputs()[0].name, "y");
  Tensor x = floats({1, 3}, {-1, 0, 1});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context)->values, ElementsAre(0, 0, 1));
}

}  // namespace
}  // namespace assay::plugin::test
