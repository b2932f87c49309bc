// SPDX-License-Identifier: Apache-2.0
#include "support/runtime_suite.hpp"

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

namespace assay::plugin::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

}  // namespace

using Runtime = RuntimeTest;

/// y = x · x + b over [n, 3].
Model affine() {
  return {{{"Mul", {"x", "x"}, {"m"}}, {"Add", {"m", "b"}, {"y"}}},
          {{"x", 1, {"n", "3"}}},
          {{"y", 1, {"n", "3"}}},
          {{"b", {1, 2, 3}}}};
}

TEST_F(Runtime, ReportsItsVersionAndListsTheProcessor) {
  EXPECT_THAT(engine_->version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+.*"));
  const auto devices = engine_->devices();
  ASSERT_THAT(devices, IsOk());
  EXPECT_THAT(*devices, Contains(::testing::Field(&Device::hardware, "cpu")));
  for (const Device& device : *devices) EXPECT_FALSE(device.name.empty()) << device.id;
}

TEST_F(Runtime, ReportsNamesTypesAndSymbolsOfTheModel) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  ASSERT_EQ((*program)->inputs().size(), 1u);
  const ValueInfo& x = (*program)->inputs()[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, 1);
  EXPECT_THAT(x.dims, ElementsAre(-1, 3));
  ASSERT_EQ((*program)->outputs().size(), 1u);
  EXPECT_EQ((*program)->outputs()[0].name, "y");
}

TEST_F(Runtime, KeepsTheOrderAndNamesOfTheFileThroughNodesThatVanish) {
  const auto program = load(write(
      {{{"Neg", {"x"}, {"a"}}, {"Identity", {"a"}, {"z"}}, {"Identity", {"a"}, {"b"}}, {"Identity", {"w"}, {"v"}}},
       {{"x", 1, {"2"}}, {"w", 1, {"2"}}},
       {{"z", 1, {"2"}}, {"v", 1, {"2"}}, {"b", 1, {"2"}}}},
      "identities.onnx"));
  ASSERT_THAT(program, IsOk());
  const auto names = [](const std::vector<ValueInfo>& values) {
    std::vector<std::string> list;
    list.reserve(values.size());
    for (const ValueInfo& value : values) list.push_back(value.name);
    return list;
  };
  EXPECT_THAT(names((*program)->inputs()), ElementsAre("x", "w"));
  EXPECT_THAT(names((*program)->outputs()), ElementsAre("z", "v", "b"));
  Tensor x = floats({2}, {1, 2}), w = floats({2}, {3, 4});
  const auto context = (*program)->create_context(std::vector{x.shape(), w.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  ASSERT_THAT((*context)->set_input(0, 1, w.view()), IsOk());
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT((*context)->run(0), IsOk());
    EXPECT_THAT(output(**context, 0)->values, ElementsAre(-1, -2));
    EXPECT_THAT(output(**context, 1)->values, ElementsAre(3, 4));
    EXPECT_THAT(output(**context, 2)->values, ElementsAre(-1, -2));
  }
}

TEST_F(Runtime, ComputesEachSetOfTheRotation) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  Tensor a = floats({1, 3}, {1, 2, 3}), b = floats({1, 3}, {0, 0, 0}), c = floats({1, 3}, {-1, 10, 0.5});
  const auto context = (*program)->create_context(std::vector{a.shape()});
  ASSERT_THAT(context, IsOk());
  std::size_t set = 0;
  for (Tensor* tensor : {&a, &b, &c}) ASSERT_THAT((*context)->set_input(set++, 0, tensor->view()), IsOk());

  const std::vector<std::vector<float>> expected{{2, 6, 12}, {1, 2, 3}, {2, 102, 3.25}};
  for (const std::size_t i : {0u, 1u, 2u, 0u, 2u, 1u}) {
    ASSERT_THAT((*context)->run(i), IsOk());
    const auto y = output(**context);
    ASSERT_THAT(y, IsOk());
    EXPECT_THAT(y->dims, ElementsAre(1, 3));
    EXPECT_EQ(y->values, expected[i]) << "set " << i;
  }
}

TEST_F(Runtime, SeesContentsThatChangeBetweenRuns) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({1, 3}, {0, 0, 0});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f}) {
    x.assign(std::vector<float>(3, value));
    ASSERT_THAT((*context)->run(0), IsOk());
    EXPECT_EQ(output(**context)->values[0], value * value + 1);
  }
}

TEST_F(Runtime, ReusesItsOutputBuffers) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  Tensor a = floats({2, 3}, std::vector<float>(6, 1)), b = floats({2, 3}, std::vector<float>(6, 2));
  const auto context = (*program)->create_context(std::vector{a.shape()});
  ASSERT_THAT((*context)->set_input(0, 0, a.view()), IsOk());
  ASSERT_THAT((*context)->set_input(1, 0, b.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  const void* data = output(**context)->data;
  for (const std::size_t set : {1u, 0u, 1u}) {
    ASSERT_THAT((*context)->run(set), IsOk());
    EXPECT_EQ(output(**context)->data, data);
  }
}

TEST_F(Runtime, TimesABurstInTheRequestedRotation) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  Tensor a = floats({1, 3}, {1, 1, 1}), b = floats({1, 3}, {2, 2, 2}), c = floats({1, 3}, {3, 3, 3});
  const auto context = (*program)->create_context(std::vector{a.shape()});
  std::size_t set = 0;
  for (Tensor* tensor : {&a, &b, &c}) ASSERT_THAT((*context)->set_input(set++, 0, tensor->view()), IsOk());

  std::vector<std::int64_t> start(8, -1), duration(8, -1);
  std::vector<std::uint8_t> kind(8, 9);
  assay_samples samples{sizeof samples, 0, 8, 99, start.data(), duration.data(), kind.data()};
  ASSERT_TRUE((*context)->has_run_timed());
  ASSERT_THAT((*context)->run_timed(5, 1, 3, samples), IsOk());  // 1 2 0 1 2
  EXPECT_EQ(samples.count, 5u);
  EXPECT_EQ(output(**context)->values[0], 10);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_GT(duration[i], 0);
    EXPECT_EQ(kind[i], ASSAY_SAMPLE_RUN);
    EXPECT_GE(start[i], i > 0 ? start[i - 1] + duration[i - 1] : 0);
  }
  EXPECT_EQ(duration[5], -1);

  samples.start_ns = nullptr;
  samples.kind = nullptr;
  EXPECT_THAT((*context)->run_timed(2, 0, 3, samples), IsOk());
  EXPECT_THAT((*context)->run_timed(9, 0, 3, samples), HasError(ErrorCode::kInvalidArgument, "room for 8"));
  EXPECT_THAT((*context)->run_timed(1, 0, 4, samples), HasError(ErrorCode::kInvalidArgument, "3 are bound"));
  EXPECT_THAT((*context)->run_timed(1, 0, 0, samples), HasError(ErrorCode::kInvalidArgument, "0 input sets"));
}

TEST_F(Runtime, FollowsOutputsWhoseSizeDependsOnTheData) {
  const auto program =
      load(write({{{"NonZero", {"x"}, {"i"}}}, {{"x", 1, {"n"}}}, {{"i", 7, {"1", "k"}}}}, "nonzero.onnx"));
  ASSERT_THAT(program, IsOk());
  Tensor x = floats({4}, {1, 0, 2, 0}), z = floats({4}, {1, 1, 1, 0});
  const auto context = (*program)->create_context(std::vector{x.shape()});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
  ASSERT_THAT((*context)->set_input(1, 0, z.view()), IsOk());
  for (const std::size_t set : {0u, 0u, 1u, 0u, 1u, 1u}) {
    ASSERT_THAT((*context)->run(set), IsOk());
    const auto found = output(**context);
    ASSERT_THAT(found, IsOk());
    EXPECT_THAT(found->dims, ElementsAre(1, set == 0 ? 2 : 3));
  }
  x.assign(std::vector<float>{0, 0, 0, 0});
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context)->dims, ElementsAre(1, 0));
  std::vector<std::int64_t> duration(4);
  assay_samples samples{sizeof samples, 0, 4, 0, nullptr, duration.data(), nullptr};
  ASSERT_THAT((*context)->run_timed(4, 0, 2, samples), IsOk());
  EXPECT_EQ(samples.count, 4u);
}

TEST_F(Runtime, RunsAModelWithoutInputs) {
  const auto program = load(write({{{"Neg", {"b"}, {"y"}}}, {}, {{"y", 1, {"2"}}}, {{"b", {1, 2}}}}, "constant.onnx"));
  ASSERT_THAT(program, IsOk());
  const auto context = (*program)->create_context({});
  ASSERT_THAT(context, IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context)->values, ElementsAre(-1, -2));
}

TEST_F(Runtime, RunsContextsOfOneProgramAtTheSameTime) {
  LoadArgs args;
  args.model_path = write(affine(), "affine.onnx");
  args.precision = "float32";
  args.threads = 1;
  args.streams = 2;
  const auto program = engine_->load(args);
  ASSERT_THAT(program, IsOk());
  // A program is used by one thread at a time, so the contexts are made here; only their runs overlap.
  std::vector<Tensor> inputs;
  std::vector<std::unique_ptr<Context>> contexts;
  for (const float value : {2.0F, 3.0F}) inputs.push_back(floats({5, 3}, std::vector<float>(15, value)));
  for (Tensor& x : inputs) {
    auto context = (*program)->create_context(std::vector{x.shape()});
    ASSERT_THAT(context, IsOk());
    ASSERT_THAT((*context)->set_input(0, 0, x.view()), IsOk());
    contexts.push_back(std::move(*context));
  }
  const auto work = [](Context& context, std::vector<float>& got) {
    for (int i = 0; i < 200 && context.run(0); ++i) got.push_back(output(context)->values[0]);
  };
  std::vector<float> first, second;
  {
    std::jthread other([&] { work(*contexts[0], first); });
    work(*contexts[1], second);
  }
  EXPECT_EQ(first, std::vector<float>(200, 5));
  EXPECT_EQ(second, std::vector<float>(200, 10));
}

TEST_F(Runtime, NamesAMissingOperatorOfTheDefaultDomain) {
  const auto program =
      load(write({{{"Frobnicate", {"x"}, {"y"}}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}}, "unknown.onnx"));
  EXPECT_THAT(program, HasError(ErrorCode::kUnsupported, "Frobnicate"));
}

TEST_F(Runtime, NamesAMissingOperatorOfAnotherDomain) {
  const auto program = load(
      write({{{"Frobnicate", {"x"}, {"y"}, "com.acme"}}, {{"x", 1, {"3"}}}, {{"y", 1, {"3"}}}, {}, 17, {"com.acme"}},
            "custom.onnx"));
  EXPECT_THAT(program, HasError(ErrorCode::kUnsupported, "Frobnicate"));
  EXPECT_THAT(program, HasError(ErrorCode::kUnsupported, "com.acme"));
}

TEST_F(Runtime, RefusesStringInputsByName) {
  const auto program =
      load(write({{{"Identity", {"text"}, {"y"}}}, {{"text", 8, {"3"}}}, {{"y", 8, {"3"}}}}, "string.onnx"));
  EXPECT_THAT(program, HasError(ErrorCode::kUnsupported, "text"));
}

TEST_F(Runtime, SaysWhichFileIsMissing) {
  EXPECT_THAT(load("/nowhere/model.onnx"), HasError(ErrorCode::kNotFound, "/nowhere/model.onnx"));
}

TEST_F(Runtime, RefusesAFileThatIsNotAModel) {
  EXPECT_THAT(load(write_bytes("this is not a model", "text.onnx")), HasError(ErrorCode::kInvalidArgument, ""));
  const std::string whole = encode(affine());
  EXPECT_THAT(load(write_bytes(whole.substr(0, whole.size() / 2), "half.onnx")),
              HasError(ErrorCode::kInvalidArgument, ""));
}

TEST_F(Runtime, ReadsBackStrictFloat32AndThreads) {
  for (const char* precision : {"as_is", "float32"}) {
    const auto program = load(write(affine(), "affine.onnx"), precision);
    ASSERT_THAT(program, IsOk());
    const auto effective = (*program)->effective();
    ASSERT_THAT(effective, IsOk());
    EXPECT_THAT(*effective, Contains(Pair("precision", "float32")));
    EXPECT_THAT(*effective, Contains(Pair("threads", "1")));
    EXPECT_THAT(*effective, Contains(Pair("device", ::testing::_)));
  }
}

TEST_F(Runtime, RefusesAPrecisionThatTheFileDoesNotHave) {
  const std::string path = write(affine(), "affine.onnx");
  EXPECT_THAT(load(path, "float16"), HasError(ErrorCode::kUnsupported, "float16"));
  EXPECT_THAT(load(path, "bfloat16"), HasError(ErrorCode::kUnsupported, "bfloat16"));
  EXPECT_THAT(load(path, "float8"), HasError(ErrorCode::kInvalidArgument, "float8"));
}

TEST_F(Runtime, RefusesUnknownOptionsAndDevices) {
  LoadArgs args;
  args.model_path = write(affine(), "affine.onnx");
  args.precision = "as_is";
  args.options = {{"turbo", "true"}};
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kInvalidArgument, "turbo"));
  args.options.clear();
  args.device_id = "abacus";
  EXPECT_THAT(engine_->load(args), HasError(ErrorCode::kNotFound, "abacus"));
}

TEST_F(Runtime, ChecksShapesAndBuffersBeforeItRuns) {
  const auto program = load(write(affine(), "affine.onnx"));
  ASSERT_THAT(program, IsOk());
  const auto make = [&](std::vector<TensorShape> shapes) { return (*program)->create_context(shapes); };
  EXPECT_THAT(make({}), HasError(ErrorCode::kInvalidArgument, "0 shapes"));
  EXPECT_THAT(make({{1, {1, 4}}}), HasError(ErrorCode::kInvalidArgument, "'x'"));
  EXPECT_THAT(make({{1, {3}}}), HasError(ErrorCode::kInvalidArgument, "'x'"));
  EXPECT_THAT(make({{7, {1, 3}}}), HasError(ErrorCode::kInvalidArgument, "int64"));

  const auto context = make({{1, {1, 3}}});
  ASSERT_THAT(context, IsOk());
  EXPECT_THAT((*context)->run(0), HasError(ErrorCode::kInvalidArgument, "set 0"));
  EXPECT_THAT(output(**context), HasError(ErrorCode::kInvalidArgument, "first run"));
  Tensor wrong = floats({2, 3}, std::vector<float>(6)), right = floats({1, 3}, {1, 2, 3});
  EXPECT_THAT((*context)->set_input(0, 0, wrong.view()), HasError(ErrorCode::kMismatch, "[2, 3]"));
  EXPECT_THAT((*context)->set_input(0, 1, right.view()), HasError(ErrorCode::kInvalidArgument, "input 1"));
  EXPECT_THAT((*context)->set_input(1, 0, right.view()),
              HasError(ErrorCode::kInvalidArgument, "bind the sets in order"));
  ASSERT_THAT((*context)->set_input(0, 0, right.view()), IsOk());
  ASSERT_THAT((*context)->run(0), IsOk());
  EXPECT_THAT(output(**context, 1), HasError(ErrorCode::kInvalidArgument, "output 1"));
}

/// Real graphs of the PyPI package `onnx`, their weights replaced by constants.
TEST_F(Runtime, RunsTheLightModels) {
  const std::filesystem::path folder = std::filesystem::path(ASSAY_TEST_DEPS_DIR) / "onnx/onnx/backend/test/data/light";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder " << folder;
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const auto program = load(entry.path().string());
    ASSERT_THAT(program, IsOk());
    std::vector<Tensor> inputs;
    std::vector<TensorShape> shapes;
    for (const ValueInfo& info : (*program)->inputs()) {
      std::vector<std::int64_t> dims = info.dims;
      for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 1);
      const auto count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
      inputs.push_back(floats(dims, std::vector<float>(static_cast<std::size_t>(count), 0.5f)));
      shapes.push_back(inputs.back().shape());
    }
    const auto context = (*program)->create_context(shapes);
    ASSERT_THAT(context, IsOk());
    for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_THAT((*context)->set_input(0, i, inputs[i].view()), IsOk());
    ASSERT_THAT((*context)->run(0), IsOk());
    const auto y = output(**context);
    ASSERT_THAT(y, IsOk());
    EXPECT_EQ(std::accumulate(y->dims.begin(), y->dims.end(), std::int64_t{1}, std::multiplies<>()), 1000);
    for (const float value : y->values) ASSERT_TRUE(std::isfinite(value));
    ++models;
  }
  EXPECT_EQ(models, 9);
}

}  // namespace assay::plugin::test
