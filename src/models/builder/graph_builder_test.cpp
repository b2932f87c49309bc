// SPDX-License-Identifier: Apache-2.0
#include "models/builder/graph_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.hpp"
#include "models/builder/builder_testing.hpp"
#include "onnx/onnx-ml.pb.h"

namespace assay {
namespace {
using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class GraphBuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create();
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
  }
  [[nodiscard]] fs::path path(const std::string& name) const { return folder_->path() / name; }
  [[nodiscard]] static onnx::ModelProto parse(const fs::path& path) {
    onnx::ModelProto model;
    EXPECT_TRUE(model.ParseFromString(read_file(path).value()));
    return model;
  }
  std::optional<TemporaryDirectory> folder_;
};

GraphBuilder small_graph() {
  GraphBuilder graph("small");
  const Value x = graph.input("x", DType::kFloat32, {"batch", std::int64_t{2}});
  const Value w = graph.initializer("w", DType::kFloat32, {2, 2}, floats({1, 2, 3, 4}));
  const Value y = graph.node("/layer.0/dense", "MatMul", {x, w});
  const Value z = graph.node("/layer.0/dense", "Add", {y, graph.number(1.0F)});
  graph.output("z", z, {"batch", std::int64_t{2}});
  graph.metadata("assay.b", "2");
  graph.metadata("assay.a", "1");
  return graph;
}

TEST_F(GraphBuilderTest, EndsBetweenTwoPiecesOfAWeightAndLeavesNothing) {
  int pieces = 0;
  GraphBuilder graph("endless");
  const Value x = graph.input("x", DType::kFloat32, {std::int64_t{1}});
  const Value w = graph.initializer("w", DType::kFloat32, {std::int64_t{1} << 40}, [&](const ByteSink& sink) -> Status {
    for (const std::vector<float> piece(256);; ++pieces) ASSAY_CHECK_OK(sink(std::as_bytes(std::span(piece))));
  });
  graph.output("y", graph.node("", "Add", {x, w}), {std::int64_t{1} << 40});
  const Status written = graph.write(path("m.onnx"), {.cancelled = [&] { return pieces == 3; }});
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(pieces, 3);
  for (const auto& entry : fs::directory_iterator(folder_->path()))
    EXPECT_FALSE(entry.path().string().find("m.onnx") != std::string::npos) << entry.path();
}

TEST_F(GraphBuilderTest, WritesWhatWasBuiltInOneFile) {
  ASSERT_TRUE(small_graph().write(path("m.onnx")));
  const onnx::ModelProto model = parse(path("m.onnx"));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.metadata_props(0).key(), "assay.a");
  const onnx::GraphProto& graph = model.graph();
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).name(), "/layer.0/dense/MatMul");
  EXPECT_EQ(graph.node(1).output(0), "z");
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(1).dim_value(), 2);
  ASSERT_EQ(graph.initializer_size(), 2);
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 16U);
  EXPECT_FALSE(fs::exists(path("m.onnx.data")));
}

TEST_F(GraphBuilderTest, GivesTheSameBytesForTheSameCalls) {
  ASSERT_TRUE(small_graph().write(path("a.onnx")));
  ASSERT_TRUE(small_graph().write(path("b.onnx")));
  EXPECT_EQ(read_file(path("a.onnx")).value(), read_file(path("b.onnx")).value());
}

TEST_F(GraphBuilderTest, NumbersNodesOfOneKindAndStoresEqualConstantsOnce) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {});
  const Value a = graph.node("/m", "Mul", {x, graph.number(2.0F)});
  const Value b = graph.node("/m", "Mul", {a, graph.number(2.0F)});
  graph.node("/m", "Reshape", {b, graph.integers({2})});
  graph.output("y", b, {});
  ASSERT_TRUE(graph.write(path("m.onnx")));
  const onnx::ModelProto model = parse(path("m.onnx"));
  EXPECT_EQ(model.graph().node(1).name(), "/m/Mul_1");
  EXPECT_EQ(model.graph().node(1).input(1), model.graph().node(0).input(1));
  EXPECT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().node(2).input(0), "y") << "an output that other nodes read keeps its readers";
}

TEST_F(GraphBuilderTest, LeavesOutConstantsThatNothingUses) {
  GraphBuilder graph("g");
  const Value unused = graph.integer(0);
  const Value x = graph.input("x", DType::kFloat32, {"batch"});
  const Value early = graph.number(2.0F);  // used only later
  const Value y = graph.node("", "Mul", {x, early});
  graph.output("y", y, {"batch"});
  graph.output("two", graph.number(3.0F), {});
  ASSERT_TRUE(graph.write(path("m.onnx")));
  std::vector<std::string> names;
  const onnx::ModelProto model = parse(path("m.onnx"));
  for (const onnx::TensorProto& tensor : model.graph().initializer()) names.push_back(tensor.name());
  EXPECT_EQ(names.size(), 2U);
  EXPECT_THAT(names, ::testing::Not(::testing::Contains(unused.name)));
}

TEST_F(GraphBuilderTest, AnInputMayBeAnOutputAndAValueTwo) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {"batch"});
  const Value y = graph.node("", "Relu", {x});
  graph.output("same", x, {"batch"});
  graph.output("first", y, {"batch"});
  graph.output("second", y, {"batch"});
  ASSERT_TRUE(graph.write(path("m.onnx")));
  const onnx::ModelProto model = parse(path("m.onnx"));
  std::vector<std::string> outputs;
  for (const onnx::NodeProto& node : model.graph().node()) outputs.push_back(node.op_type() + ":" + node.output(0));
  EXPECT_THAT(outputs, ElementsAre("Relu:first", "Identity:same", "Identity:second"));
}

TEST_F(GraphBuilderTest, StatesDeclaredShapesOfWhatIsNoOutput) {
  GraphBuilder graph("g");
  const Value x = graph.node("/a", "Relu", {graph.input("x", DType::kFloat32, {"batch"})});
  const Value y = graph.node("/b", "Relu", {x});
  graph.declare(x, {"batch"});
  graph.declare(y, {"batch"});
  graph.output("y", y, {"batch"});
  ASSERT_TRUE(graph.write(path("m.onnx")));
  const onnx::ModelProto model = parse(path("m.onnx"));
  ASSERT_EQ(model.graph().value_info_size(), 1);
  EXPECT_EQ(model.graph().value_info(0).name(), "/a/Relu_output_0");
}

TEST_F(GraphBuilderTest, PutsLargeWeightsBesideTheModelWhenItOutgrowsOneFile) {
  GraphBuilder graph("g");
  const Value x = graph.input("x", DType::kFloat32, {std::int64_t{1}});
  const std::vector<float> large(1024, 2.5F);
  const Value a = graph.initializer("a", DType::kFloat32, {1024}, floats(large));
  const Value b = graph.initializer("b", DType::kFloat32, {1024}, floats(large));
  const Value c = graph.initializer("c", DType::kFloat32, {1}, floats({7}));
  graph.output("y", graph.node("", "Sum", {x, a, b, c}), {std::int64_t{1024}});
  ASSERT_TRUE(graph.write(path("m.onnx"), {.single_file_bytes = 4096}));
  const onnx::ModelProto model = parse(path("m.onnx"));
  const onnx::TensorProto& second = model.graph().initializer(1);
  EXPECT_EQ(second.data_location(), onnx::TensorProto_DataLocation_EXTERNAL);
  EXPECT_EQ(second.external_data(0).value(), "m.onnx.data");
  EXPECT_EQ(second.external_data(1).value(), "4096");
  EXPECT_EQ(second.external_data(2).value(), "4096");
  EXPECT_EQ(fs::file_size(path("m.onnx.data")), 8192U);
  EXPECT_EQ(model.graph().initializer(2).raw_data().size(), 4U) << "small ones stay";
}

TEST_F(GraphBuilderTest, WithoutWeightsKeepsConstantsAndSmallTables) {
  constexpr std::int64_t kLarge = (1 << 20) + 1;
  GraphBuilder graph = small_graph();
  const auto refuses = [](const ByteSink&) -> Status { return fail(ErrorCode::kInternal, "not to be read"); };
  const Value weight = graph.initializer("weight", DType::kFloat32, {4, 2}, refuses);
  const Value small = graph.table("small", DType::kFloat32, {2}, floats({5, 6}));
  const Value large = graph.table("large", DType::kFloat32, {kLarge}, refuses);
  graph.output("sum", graph.node("", "Sum", {weight, small, large}), {std::int64_t{4}, std::int64_t{2}});
  GraphBuilder::WriteOptions options;
  options.weights = false;
  ASSERT_TRUE(graph.write(path("m.onnx"), options));
  std::vector<std::string> inside;
  const onnx::ModelProto model = parse(path("m.onnx"));
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    if (tensor.data_location() != onnx::TensorProto_DataLocation_EXTERNAL) inside.push_back(tensor.name());
  EXPECT_THAT(inside, ElementsAre("constant_0", "small"));
  EXPECT_GE(fs::file_size(path("m.onnx.data")), kLarge * sizeof(float));
}

TEST_F(GraphBuilderTest, ASourceOfTheWrongLengthOrThatFailsLeavesNoFile) {
  GraphBuilder graph("g");
  graph.initializer("w", DType::kFloat32, {3}, floats({1, 2}));
  const Status status = graph.write(path("m.onnx"));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("'w' gave 8 bytes, but its shape [3] needs 12"));
  EXPECT_TRUE(fs::is_empty(folder_->path()));

  GraphBuilder failing("g");
  failing.initializer("w", DType::kFloat32, {1}, [](const ByteSink&) { return fail(ErrorCode::kInternal, "gone"); });
  EXPECT_EQ(failing.write(path("m.onnx")).error().message, "gone");
  EXPECT_TRUE(fs::is_empty(folder_->path()));
}

TEST_F(GraphBuilderTest, RefusesWeightsWhoseSizeOverflows) {
  GraphBuilder graph("g");
  graph.initializer("huge", DType::kFloat32, {std::int64_t{1} << 40, std::int64_t{1} << 40}, floats({}));
  EXPECT_THAT(graph.weight_bytes().error().message, HasSubstr("'huge'"));
  EXPECT_FALSE(graph.write(path("m.onnx")));
}

}  // namespace
}  // namespace assay
