// SPDX-License-Identifier: Apache-2.0
#include "bench/services/conform.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include "models/onnx/onnx_testing.hpp"

namespace assay {
namespace {
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A worker that answers to infer() as the test says. It does not read models: it has the inputs that the test gives
/// it.
class ScriptedWorker final : public Worker {
 public:
  using Infer = std::function<Status(const fs::path& outputs)>;
  ScriptedWorker(std::vector<std::string> inputs, Infer infer) : inputs_(std::move(inputs)), infer_(std::move(infer)) {}

  bool alive() override { return alive_; }
  [[nodiscard]] int pid() const override { return 1; }
  Result<LoadReply> load(const LoadRequest& request, std::chrono::nanoseconds) override {
    loaded.push_back(request.model);
    LoadReply reply;
    reply.engine_version = "1.2";
    for (const std::string& name : inputs_) {
      ValueSignature input;
      input.name = name;
      reply.inputs.push_back(std::move(input));
    }
    return reply;
  }
  Result<BindReply> bind(const BindRequest& request, std::chrono::nanoseconds) override {
    bound = request.inputs;
    return BindReply{};
  }
  Result<InferReply> infer(const InferRequest& request, std::chrono::nanoseconds) override {
    if (const Status done = infer_(request.outputs); !done) {
      alive_ = done.error().code != ErrorCode::kWorkerDied;
      return tl::unexpected<Error>(done.error());
    }
    return InferReply{};
  }
  Result<MeasureReply> measure(const MeasureRequest&, std::chrono::nanoseconds) override {
    return fail(ErrorCode::kInternal, "nothing is measured");
  }

  std::vector<fs::path> loaded{};
  std::vector<InputRecipe> bound{};

 private:
  std::vector<std::string> inputs_;
  Infer infer_;
  bool alive_ = true;
};

onnx::TensorProto floats(const std::vector<float>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(std::ssize(values));
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

onnx::TensorProto integers(const std::vector<std::int64_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(std::ssize(values));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

Status write_floats(const fs::path& file, const char* name, const std::vector<float>& values, Shape shape = {}) {
  if (shape.empty()) shape = {std::ssize(values)};
  const NamedView output{name, {DType::kFloat32, std::move(shape), std::as_bytes(std::span(values))}};
  return write_safetensors(file, std::span(&output, 1), {}, Persistence::kScratch);
}

class Conform : public ::testing::Test {
 protected:
  /// y [2] = op(x [2]), 1 and 2 of x become `expected`.
  NodeTest unary(const std::string& name, const char* op = "Relu", const std::vector<float>& expected = {1, 2}) {
    onnx::ModelProto model = testing::empty_model();
    onnx::GraphProto& graph = *model.mutable_graph();
    add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"2"});
    add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"2"});
    add_node(graph, op, {"x"}, {"y"});
    return write(name, model, {floats({1, 2})}, {floats(expected)});
  }
  /// y [2, 2] = Reshape(x [4], shape)
  NodeTest reshape(const std::string& name) {
    onnx::ModelProto model = testing::empty_model();
    onnx::GraphProto& graph = *model.mutable_graph();
    add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"4"});
    add_value(graph.mutable_input(), "shape", onnx::TensorProto::INT64, {"2"});
    add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"2", "2"});
    add_node(graph, "Reshape", {"x", "shape"}, {"y"});
    onnx::TensorProto expected = floats({1, 2, 3, 4});
    expected.clear_dims();
    expected.add_dims(2);
    expected.add_dims(2);
    return write(name, model, {floats({1, 2, 3, 4}), integers({2, 2})}, {expected});
  }
  NodeTest write(const std::string& name, const onnx::ModelProto& model, const std::vector<onnx::TensorProto>& inputs,
                 const std::vector<onnx::TensorProto>& outputs) {
    folder_.write(model, name + "/model.onnx");
    const auto write_all = [&](const char* what, const std::vector<onnx::TensorProto>& all) {
      for (std::size_t i = 0; i < all.size(); ++i)
        folder_.write_bytes(all[i].SerializeAsString(), fmt::format("{}/test_data_set_0/{}_{}.pb", name, what, i));
    };
    write_all("input", inputs);
    write_all("output", outputs);
    return open_node_test(folder_.path() / name).value();
  }
  /// A run whose workers answer as `infer` says.
  ConformanceRun run_with(ScriptedWorker::Infer infer, std::vector<std::string> inputs = {"x"}, bool fixed = false) {
    ConformSubject subject;
    subject.entry.name = "toy";
    subject.entry.static_shapes = fixed;
    subject.start = [this, infer, inputs]() -> Result<std::unique_ptr<Worker>> {
      auto worker = std::make_unique<ScriptedWorker>(inputs, infer);
      last_ = worker.get();
      ++started_;
      return worker;
    };
    return ConformanceRun::create(std::move(subject)).value();
  }
  static ConformityResult judged(const NodeTest& test, ConformanceRun& run) { return run.run(test).value(); }

  testing::ModelFolder folder_;
  ScriptedWorker* last_ = nullptr;
  int started_ = 0;
};

TEST_F(Conform, FindsTheTestsOfAFolder) {
  (void)unary("b");
  (void)unary("a");
  folder_.write_bytes("", "c/readme");
  const auto found = find_node_tests(folder_.path()).value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].filename(), "a");
  EXPECT_THAT(find_node_tests(folder_.path() / "a").value(), ElementsAre(folder_.path() / "a"));
  EXPECT_EQ(find_node_tests(folder_.path() / "c").error().code, ErrorCode::kNotFound);
}

TEST_F(Conform, TestsAreClassifiedByWhatTheyNeed) {
  EXPECT_EQ(unary("plain").kind, NodeTestClass::kPlain);
  const NodeTest shapes = reshape("shapes");
  EXPECT_EQ(shapes.kind, NodeTestClass::kShapes);
  EXPECT_THAT(shapes.shape_inputs, ElementsAre("shape"));
  EXPECT_EQ(unary("random", "RandomUniformLike").kind, NodeTestClass::kControl);
  onnx::ModelProto model = testing::empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::INT4, {"2"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  add_node(graph, "Cast", {"x"}, {"y"});
  const NodeTest types = write("types", model, {}, {});
  EXPECT_EQ(types.kind, NodeTestClass::kTypes);
  EXPECT_THAT(types.operators, ElementsAre("Cast"));
  EXPECT_EQ(read_node_test_data(types).error().code, ErrorCode::kUnsupported) << "int4";
}

TEST_F(Conform, EqualOutputsPassAndOthersAreWrong) {
  ConformanceRun run = run_with([](const fs::path& file) { return write_floats(file, "y", {1, 2.001F}); });
  EXPECT_EQ(judged(unary("close"), run).status, Conformity::kPassed);
  const ConformityResult far = judged(unary("far", "Relu", {1, 2.1F}), run);
  EXPECT_EQ(far.status, Conformity::kWrong);
  EXPECT_EQ(far.message, "output 'y': element 1 is 2.001, expected 2.1; 1 of 2 elements differ");
  EXPECT_EQ(started_, 1) << "one worker for all";
  EXPECT_EQ(run.version(), "1.2");
  ASSERT_EQ(last_->bound.size(), 1U);
  EXPECT_EQ(last_->bound[0].name, "x");
}

TEST_F(Conform, NanEqualsNanOnlyAndShapeAndTypeMustAgree) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ConformanceRun run = run_with([&](const fs::path& file) { return write_floats(file, "y", {1, nan}); });
  EXPECT_EQ(judged(unary("nan", "Relu", {1, nan}), run).status, Conformity::kPassed);
  EXPECT_EQ(judged(unary("number"), run).status, Conformity::kWrong);
  ConformanceRun shaped = run_with([](const fs::path& file) { return write_floats(file, "y", {1, 2}, {1, 2}); });
  EXPECT_THAT(judged(unary("shape"), shaped).message, HasSubstr("[1, 2]"));
  ConformanceRun typed = run_with([](const fs::path& file) {
    const std::vector<std::int64_t> values{1, 2};
    const NamedView output{"y", {DType::kInt64, {2}, std::as_bytes(std::span(values))}};
    return write_safetensors(file, std::span(&output, 1), {}, Persistence::kScratch);
  });
  EXPECT_EQ(judged(unary("type"), typed).status, Conformity::kWrong);
}

TEST_F(Conform, ARefusalIsUnsupportedAndAnErrorFails) {
  Error error{ErrorCode::kUnsupported, "no operator 'Relu'", {}, ""};
  ConformanceRun run = run_with([&](const fs::path&) -> Status { return tl::unexpected<Error>(error); });
  EXPECT_EQ(judged(unary("refused"), run).message, "no operator 'Relu'");
  EXPECT_EQ(judged(unary("refused"), run).status, Conformity::kUnsupported);
  EXPECT_EQ(started_, 1) << "a refusal changes nothing";
  for (const ErrorCode code :
       {ErrorCode::kWorkerDied, ErrorCode::kTimeout, ErrorCode::kOutOfMemory, ErrorCode::kInternal}) {
    error = {code, "it is gone", {}, ""};
    EXPECT_EQ(judged(unary("failed"), run).status, Conformity::kFailed);
  }
  EXPECT_EQ(started_, 4) << "a fresh worker after each failure";
  error = {ErrorCode::kCancelled, "interrupted", {}, ""};
  EXPECT_EQ(run.run(unary("cancelled")).error().code, ErrorCode::kCancelled);
}

TEST_F(Conform, AnOutputThatIsMissingFails) {
  ConformanceRun run = run_with([](const fs::path& file) { return write_floats(file, "z", {1, 2}); });
  EXPECT_EQ(judged(unary("missing"), run).status, Conformity::kFailed);
  ConformanceRun silent = run_with([](const fs::path&) { return Status(); });
  EXPECT_EQ(judged(unary("silent"), silent).status, Conformity::kFailed) << "outputs of the test before do not count";
}

TEST_F(Conform, RandomValuesAreNotCompared) {
  ConformanceRun run = run_with([](const fs::path& file) { return write_floats(file, "y", {7, 8}); });
  EXPECT_EQ(judged(unary("random", "RandomUniformLike"), run).status, Conformity::kUnsupported);
}

TEST_F(Conform, AnEngineWithStaticShapesGetsShapeInputsAsConstants) {
  const auto infer = [](const fs::path& file) { return write_floats(file, "y", {1, 2, 3, 4}, {2, 2}); };
  ConformanceRun open = run_with(infer, {"x", "shape"});
  const NodeTest test = reshape("shapes");
  EXPECT_EQ(judged(test, open).status, Conformity::kPassed);
  EXPECT_THAT(last_->loaded, ElementsAre(test.model));
  ConformanceRun fixed = run_with(infer, {"x"}, true);
  EXPECT_EQ(judged(test, fixed).status, Conformity::kPassed);
  EXPECT_NE(last_->loaded.at(0), test.model);
  ASSERT_EQ(last_->bound.size(), 1U);
  EXPECT_EQ(last_->bound[0].name, "x");
}

TEST_F(Conform, AnOperatorThatCannotBeLoweredIsRefusedBeforeAWorkerStarts) {
  ConformSubject subject;
  subject.entry.lowered_to = "stablehlo";
  subject.start = [this]() -> Result<std::unique_ptr<Worker>> {
    ++started_;
    return fail(ErrorCode::kInternal, "not started");
  };
  ConformanceRun run = ConformanceRun::create(std::move(subject)).value();
  onnx::ModelProto model = testing::empty_model();
  auto& domain = *model.add_opset_import();
  domain.set_domain("com.example");
  domain.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"2"});
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"2"});
  add_node(graph, "Unheard", {"x"}, {"y"}).set_domain("com.example");
  const ConformityResult refused = judged(write("custom", model, {floats({1, 2})}, {floats({1, 2})}), run);
  EXPECT_EQ(refused.status, Conformity::kUnsupported);
  EXPECT_THAT(refused.message, HasSubstr("com.example:Unheard"));
  EXPECT_EQ(started_, 0);
}

TEST_F(Conform, SixteenBitsHaveTwoUnitsInTheLastPlaceAndTransformsTheErrorOfTheirLargestTerm) {
  const NodeTest plain = unary("plain"), transform = unary("transform", "DFT");
  const std::vector<std::uint16_t> halves(2);
  EXPECT_EQ(tolerance_of(plain, {DType::kFloat16, {2}, std::as_bytes(std::span(halves))}).relative, 0x1p-9);
  EXPECT_EQ(tolerance_of(plain, {DType::kBFloat16, {2}, std::as_bytes(std::span(halves))}).relative, 0x1p-6);
  const std::vector<float> values{-500, 0};
  const TensorView expected{DType::kFloat32, {2}, std::as_bytes(std::span(values))};
  EXPECT_EQ(tolerance_of(plain, expected).absolute, 1e-7);
  EXPECT_EQ(tolerance_of(transform, expected).absolute, 5e-4);
}

}  // namespace
}  // namespace assay
