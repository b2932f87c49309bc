// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "models/onnx/inspect.hpp"
#include "models/onnx/onnx_testing.hpp"
#include "models/onnx/perturb.hpp"

namespace assay {
namespace {

using onnx::TensorProto;
using testing::add_floats;
using testing::add_node;
using ::testing::HasSubstr;
using testing::ModelFolder;
using testing::read_model;
using testing::set_external;
using testing::small_model;

std::vector<float> raw_floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(WritePerturbed, MovesEachWeightByOneUnitInTheLastPlace) {
  const ModelFolder folder;
  const auto from = folder.write(small_model());
  const auto to = folder.path() / "moved/model.onnx";
  const Status done = write_perturbed(from, DType::kFloat32, 7, to);
  ASSERT_TRUE(done) << to_string(done.error());
  const auto before = raw_floats(small_model().graph().initializer(0).raw_data());
  const auto after = raw_floats(read_model(to).graph().initializer(0).raw_data());
  int up = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NE(after[i], before[i]);
    EXPECT_LE(std::abs(after[i] - before[i]), std::nextafter(before[i], 1e9F) - before[i]);
    up += after[i] > before[i] ? 1 : 0;
  }
  EXPECT_GT(up, 2);
  EXPECT_LT(up, 14);
  const auto original = inspect_model(from), changed = inspect_model(to);
  ASSERT_TRUE(original && changed);
  EXPECT_EQ(original->graph_hash, changed->graph_hash);
  EXPECT_NE(original->weights_hash, changed->weights_hash);
  ASSERT_TRUE(write_perturbed(from, DType::kFloat32, 7, folder.path() / "again/model.onnx"));
  EXPECT_EQ(changed->weights_hash, inspect_model(folder.path() / "again/model.onnx")->weights_hash);
}

TEST(WritePerturbed, EndsWhenTheUserWants) {
  const ModelFolder folder;
  const auto from = folder.write(small_model());
  int asked = 0;
  const Cancelled at_once = [] { return true; }, while_changing = [&] { return ++asked > 1; };
  const auto to = folder.path() / "copy/model.onnx";
  EXPECT_EQ(write_perturbed(from, DType::kFloat32, 7, to, at_once).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(write_perturbed(from, DType::kFloat32, 7, to, while_changing).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 2) << "once while copying, once while changing";
  EXPECT_EQ(write_rounded(from, DType::kFloat16, to, at_once).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(inspect_model(from, at_once).error().code, ErrorCode::kCancelled);
}

TEST(WritePerturbed, MovesByTheCoarserOfBothTypes) {
  const ModelFolder folder;
  const auto from = folder.write(small_model());
  ASSERT_TRUE(write_perturbed(from, DType::kFloat16, 7, folder.path() / "moved/model.onnx"));
  const auto before = raw_floats(small_model().graph().initializer(0).raw_data());
  const auto after = raw_floats(read_model(folder.path() / "moved/model.onnx").graph().initializer(0).raw_data());
  EXPECT_EQ(std::abs(after[1] - before[1]), 0x1p-10F);  // 1.25
  EXPECT_EQ(std::abs(after[8] - before[8]), 0x1p-7F);   // 8.25
}

TEST(WritePerturbed, LeavesZerosInfinitiesAndSingleElements) {
  onnx::ModelProto model = small_model();
  TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  const float special[] = {0.0F, -0.0F, std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  std::memcpy(w.mutable_raw_data()->data(), special, sizeof special);
  const float largest = std::numeric_limits<float>::max();
  for (std::size_t i = 4; i < 16; ++i) std::memcpy(w.mutable_raw_data()->data() + i * 4, &largest, 4);
  add_floats(*model.mutable_graph(), "epsilon", {1});
  const ModelFolder folder;
  ASSERT_TRUE(write_perturbed(folder.write(model), DType::kFloat32, 1, folder.path() / "moved/model.onnx"));
  const onnx::ModelProto moved = read_model(folder.path() / "moved/model.onnx");
  EXPECT_EQ(moved.graph().initializer(0).raw_data().substr(0, sizeof special), w.raw_data().substr(0, sizeof special));
  const auto after = raw_floats(moved.graph().initializer(0).raw_data());
  for (std::size_t i = 4; i < 16; ++i) EXPECT_EQ(after[i], std::nextafter(largest, 0.0F));
  EXPECT_EQ(moved.graph().initializer(2).raw_data(), model.graph().initializer(2).raw_data());
}

TEST(WritePerturbed, ReachesTypedFieldsHalvesAndExternalData) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  TensorProto& w = *graph.mutable_initializer(0);
  w.clear_raw_data();
  for (int i = 1; i <= 16; ++i) w.add_float_data(static_cast<float>(i));
  TensorProto& b = *graph.mutable_initializer(1);
  const std::string b_bytes = b.raw_data();
  set_external(b, {{"location", "data/b.bin"}, {"offset", "4"}});
  TensorProto& h = add_floats(graph, "h", {300});
  h.clear_raw_data();
  h.set_data_type(TensorProto::FLOAT16);
  for (int i = 0; i < 300; ++i)
    h.add_int32_data(i < 150 ? i : 0x3C00 + i);  // subnormal numbers of one and two bytes, and 1.x
  TensorProto& d = add_floats(graph, "d", {2});
  d.clear_raw_data();
  d.set_data_type(TensorProto::DOUBLE);
  d.add_double_data(1.0);
  d.add_double_data(-3.0);
  const ModelFolder folder;
  folder.write_bytes("head" + b_bytes, "data/b.bin");
  const auto from = folder.write(model);
  const Status done = write_perturbed(from, DType::kFloat32, 3, folder.path() / "moved/model.onnx");
  ASSERT_TRUE(done) << to_string(done.error());
  const onnx::ModelProto moved = read_model(folder.path() / "moved/model.onnx");
  for (int i = 0; i < 16; ++i) EXPECT_NE(moved.graph().initializer(0).float_data(i), static_cast<float>(i + 1));
  for (int i = 1; i < 300; ++i) {
    EXPECT_EQ(std::abs(moved.graph().initializer(2).int32_data(i) - h.int32_data(i)), 1) << i;
  }
  EXPECT_EQ(moved.graph().initializer(2).int32_data(0), 0);
  EXPECT_NEAR(moved.graph().initializer(3).double_data(1), -3.0, 0x1p-22);
  EXPECT_NE(moved.graph().initializer(3).double_data(1), -3.0);
  const std::string bytes = *read_file(folder.path() / "moved/data/b.bin");
  EXPECT_EQ(bytes.substr(0, 4), "head");
  EXPECT_NE(bytes.substr(4), b_bytes);
  EXPECT_EQ(*read_file(folder.path() / "data/b.bin"), "head" + b_bytes) << "the original stays";
  EXPECT_TRUE(inspect_model(folder.path() / "moved/model.onnx"));
}

TEST(WritePerturbed, LeavesWhatDecidesShapes) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "scales", {4});
  add_node(graph, "Resize", {"y", "", "scales"}, {"z"});
  const ModelFolder folder;
  ASSERT_TRUE(write_perturbed(folder.write(model), DType::kFloat32, 1, folder.path() / "moved/model.onnx"));
  EXPECT_EQ(read_model(folder.path() / "moved/model.onnx").graph().initializer(2).raw_data(),
            graph.initializer(2).raw_data());
}

// A node `Constant` with a tensor: 2,000 floats stay in the map of the file, 2 are parsed with the node.
onnx::TensorProto& add_constant(onnx::GraphProto& graph, const char* output, std::int64_t elements) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Constant");
  node.add_output(output);
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  onnx::TensorProto& tensor = *value.mutable_t();
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(elements);
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.37F + 0.01F * static_cast<float>(i);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

TEST(WritePerturbed, ReachesTheTensorsOfConstantNodesAndOfInnerGraphs) {
  onnx::ModelProto model = small_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_constant(graph, "large", 2000);
  add_constant(graph, "small", 2);
  add_constant(graph, "one", 1);
  add_constant(graph, "sizes", 4);
  add_node(graph, "Resize", {"y", "", "sizes"}, {"z"});
  onnx::TensorProto& condition = *graph.add_initializer();
  condition.set_name("condition");
  condition.set_data_type(TensorProto::BOOL);
  condition.set_raw_data(std::string(1, '\1'));
  onnx::NodeProto& branches = *graph.add_node();
  branches.set_op_type("If");
  branches.add_input("condition");
  branches.add_output("chosen");
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& branch = *branches.add_attribute();
    branch.set_name(name);
    branch.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& inner = *branch.mutable_g();
    add_constant(inner, "inside", 2000);
    add_floats(inner, "bias", {3});
    add_node(inner, "Identity", {"inside"}, {name});
    inner.add_output()->set_name(name);
  }
  const ModelFolder folder;
  const auto to = folder.path() / "moved/model.onnx";
  const Status done = write_perturbed(folder.write(model), DType::kFloat32, 1, to);
  ASSERT_TRUE(done) << to_string(done.error());
  const onnx::ModelProto changed = read_model(to);
  const auto moves = [&](const onnx::TensorProto& from, const onnx::TensorProto& other) {
    const auto before = raw_floats(from.raw_data()), after = raw_floats(other.raw_data());
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (after[i] == before[i] || std::abs(after[i] - before[i]) > 1e-5F) return false;
    }
    return true;
  };
  for (int node = 0; node < graph.node_size(); ++node) {
    const onnx::NodeProto &from = graph.node(node), &other = changed.graph().node(node);
    if (from.op_type() == "Constant") {
      const bool weight = from.output(0) == "large" || from.output(0) == "small";
      EXPECT_EQ(moves(from.attribute(0).t(), other.attribute(0).t()), weight) << from.output(0);
    }
    for (int i = 0; from.op_type() == "If" && i < 2; ++i) {
      const onnx::GraphProto &inner = from.attribute(i).g(), &moved = other.attribute(i).g();
      EXPECT_TRUE(moves(inner.node(0).attribute(0).t(), moved.node(0).attribute(0).t()));
      EXPECT_TRUE(moves(inner.initializer(0), moved.initializer(0)));
    }
  }
  ASSERT_TRUE(write_rounded(folder.write(model), DType::kFloat16, folder.path() / "rounded/model.onnx"));
  const int large = small_model().graph().node_size();
  EXPECT_EQ(read_model(folder.path() / "rounded/model.onnx").graph().node(large).attribute(0).t().raw_data(),
            graph.node(large).attribute(0).t().raw_data());
}

TEST(WriteRounded, RoundsWhatIsAWeightAndKeepsItsType) {
  onnx::ModelProto model = small_model();
  TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  std::vector<float> values(16, 1.0F + 0x1p-7F);
  values[3] = 1.0F + 0x1p-9F;
  values[4] = std::numeric_limits<float>::max();
  w.set_raw_data(values.data(), values.size() * sizeof(float));
  TensorProto& epsilon = add_floats(*model.mutable_graph(), "epsilon", {1});
  const float small = 1e-12F;
  epsilon.set_raw_data(&small, sizeof small);
  TensorProto& h = add_floats(*model.mutable_graph(), "h", {3});
  h.clear_raw_data();
  h.set_data_type(TensorProto::FLOAT16);
  for (const int bits : {0x3C01, 0x7F, 0x3C00}) h.add_int32_data(bits);  // 0x7F would round to 0x80, a byte longer
  const ModelFolder folder;
  const auto from = folder.write(model), to = folder.path() / "rounded/model.onnx";
  ASSERT_TRUE(write_rounded(from, DType::kBFloat16, to));
  const onnx::ModelProto rounded = read_model(to);
  values[3] = 1.0F;
  EXPECT_EQ(raw_floats(rounded.graph().initializer(0).raw_data()), values);
  EXPECT_EQ(rounded.graph().initializer(2).raw_data(), epsilon.raw_data());
  EXPECT_THAT(rounded.graph().initializer(3).int32_data(), ::testing::ElementsAre(0x3C00, 0x7F, 0x3C00));
  EXPECT_EQ(inspect_model(from)->graph_hash, inspect_model(to)->graph_hash);

  ASSERT_TRUE(write_rounded(from, DType::kFloat16, folder.path() / "half/model.onnx"));
  EXPECT_EQ(read_model(folder.path() / "half/model.onnx").graph().initializer(2).raw_data(), epsilon.raw_data())
      << "an epsilon of 1e-12 is not to become 0";
}

TEST(WritePerturbed, DataOfTheCopysNameAreNotOverwrittenInSilence) {
  onnx::ModelProto model = small_model();
  const ModelFolder folder;
  folder.write_bytes(model.graph().initializer(0).raw_data(), "model.onnx");
  set_external(*model.mutable_graph()->mutable_initializer(0), {{"location", "model.onnx"}});
  const auto from = folder.write(model, "net.onnx");
  const Status refused = write_perturbed(from, DType::kFloat32, 1, folder.path() / "copy/model.onnx");
  EXPECT_THAT(refused.error().message, HasSubstr("is the place of the model's data"));
  ASSERT_TRUE(write_perturbed(from, DType::kFloat32, 1, folder.path() / "copy/net.onnx"));
  EXPECT_NE(inspect_model(folder.path() / "copy/net.onnx")->weights_hash, inspect_model(from)->weights_hash);
}

TEST(WritePerturbed, NeverOverwritesTheModel) {
  const ModelFolder folder;
  const auto from = folder.write(small_model());
  EXPECT_THAT(write_perturbed(from, DType::kFloat32, 1, from).error().message, HasSubstr("the model's own folder"));
  EXPECT_EQ(write_perturbed(folder.path() / "none.onnx", DType::kFloat32, 1, folder.path() / "m/x.onnx").error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay
