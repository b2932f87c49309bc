// SPDX-License-Identifier: Apache-2.0
#include "models/lower/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "models/graph/shape_rules.hpp"
#include "models/lower/any_operator.hpp"
#include "models/lower/operators.hpp"
#include "models/lower/signatures.hpp"
#include "models/lower/static_program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {
namespace fs = std::filesystem;
using testing::add_floats;
using testing::add_node;
using testing::add_value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Dialect kDialects[] = {Dialect::kTorchScript, Dialect::kStableHlo};

/// y = x + w, with x of open rows.
onnx::ModelProto sum_model() {
  onnx::ModelProto model = testing::empty_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"rows", "2"});
  add_floats(graph, "w", {2});
  add_node(graph, "Add", {"x", "w"}, {"y"}).set_name("sum");
  add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"rows", "2"});
  return model;
}

class Lowering : public ::testing::Test {
 protected:
  [[nodiscard]] StaticModel open(const onnx::ModelProto& model) {
    return StaticModel::open(folder_.write(model)).value();
  }
  static SpecialiseRequest rows(std::int64_t count) { return {.shapes = {{"x", {count, 2}}}}; }

  testing::ModelFolder folder_;
};

TEST_F(Lowering, HasTheSignatureForTheRequestedShapes) {
  const StaticModel model = open(sum_model());
  for (const Dialect dialect : kDialects) {
    const auto program = lower(model, rows(3), dialect);
    ASSERT_TRUE(program) << to_string(program.error());
    ASSERT_EQ(program->inputs.size(), 1);
    EXPECT_EQ(program->inputs[0].name, "x");
    EXPECT_EQ(program->inputs[0].shape, (Shape{3, 2}));
    ASSERT_EQ(program->outputs.size(), 1);
    EXPECT_EQ(program->outputs[0].shape, (Shape{3, 2}));
    EXPECT_THAT(program->text, HasSubstr(dialect == Dialect::kTorchScript ? "torch.add" : "stablehlo.add"));
  }
}

TEST_F(Lowering, RefusesAnOperatorByNameBeforeItHasAShape) {
  onnx::ModelProto model = sum_model();
  model.mutable_graph()->mutable_node(0)->set_op_type("Shuffle");
  const StaticModel opened = open(model);
  const StaticGraph graph = opened.infer(rows(3).shapes).value();
  for (const Dialect dialect : kDialects) {
    const Status checked = check_lowering(opened, graph, dialect);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(checked.error().message, HasSubstr("operator Shuffle (opset "));
    EXPECT_THAT(checked.error().message, HasSubstr(" of node 'sum' cannot be lowered to "));
    const auto program = lower(opened, rows(3), dialect);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().message, checked.error().message) << "planning and lowering refuse the same";
  }
}

TEST_F(Lowering, RefusesAnOpsetThatIsNewerThanTheTable) {
  onnx::ModelProto model = sum_model();
  model.mutable_opset_import(0)->set_version(kNewestOpset + 1);
  const StaticModel opened = open(model);
  const Status checked = check_lowering(opened, opened.infer(rows(1).shapes).value(), Dialect::kStableHlo);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr(", which implements opsets "));
}

TEST_F(Lowering, NamesTheNodeWhoseShapeDependsOnData) {
  onnx::ModelProto model = sum_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "NonZero", {"y"}, {"places"}).set_name("search");
  add_value(graph.mutable_output(), "places", onnx::TensorProto::INT64, {"2", "n"});
  const StaticModel opened = open(model);
  const StaticGraph inferred = opened.infer(rows(3).shapes).value();
  const Status checked = check_lowering(opened, inferred, Dialect::kStableHlo);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(checked.error().message, HasSubstr("NonZero"));
}

TEST_F(Lowering, LeavesWeightsInTheModelsFileOrCopiesThem) {
  const StaticModel model = open(sum_model());
  for (const WeightPlace place : {WeightPlace::kInPlace, WeightPlace::kCopied}) {
    const fs::path file = folder_.path() / "m.torchscript";
    ASSERT_TRUE(lower_to_file(model, rows(3), Dialect::kTorchScript, file, place));
    const Json sidecar = read_json(file.string() + ".json").value();
    ASSERT_EQ(sidecar.at("weights").size(), 1);
    const Json& weight = sidecar.at("weights")[0];
    EXPECT_EQ(weight.at("name"), "w");
    EXPECT_EQ(weight.at("bytes"), 8);
    const fs::path named = weight.at("file").get<std::string>();
    EXPECT_EQ(named, place == WeightPlace::kCopied ? fs::path("m.torchscript.weights") : model.model().path());
    const MappedFile map = MappedFile::open(file.parent_path() / named).value();
    const auto* elements = reinterpret_cast<const float*>(map.bytes().data() + weight.at("offset").get<std::size_t>());
    EXPECT_THAT(std::vector<float>(elements, elements + 2), ElementsAre(0.25F, 1.25F));
  }
}

TEST_F(Lowering, WritesTheRowsThatAnInputSelectsFrom) {
  Program program = lower(open(sum_model()), rows(3), Dialect::kTorchScript).value();
  program.inputs[0].index_limit = 99;
  const fs::path file = folder_.path() / "m.torchscript";
  ASSERT_TRUE(write_program(program, file));
  const Json sidecar = read_json(file.string() + ".json").value();
  EXPECT_EQ(sidecar.at("inputs")[0].at("index_limit"), 99);
  EXPECT_FALSE(sidecar.at("outputs")[0].contains("index_limit"));
}

TEST_F(Lowering, WritesNamesThatAreNotText) {
  onnx::ModelProto model = sum_model();
  model.mutable_graph()->mutable_initializer(0)->set_name("w\xff");
  model.mutable_graph()->mutable_node(0)->set_input(1, "w\xff");
  const fs::path file = folder_.path() / "m.stablehlo";
  const Status written = lower_to_file(open(model), rows(3), Dialect::kTorchScript, file);
  ASSERT_TRUE(written) << to_string(written.error());
  const Json sidecar = read_json(file.string() + ".json").value();
  EXPECT_EQ(sidecar.at("weights")[0].at("name"), "w\uFFFD");
}

TEST_F(Lowering, ReadsTheNumberOfAConstantWithOneElementOnly) {
  onnx::ModelProto model = sum_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  add_floats(graph, "quarter", {1, 1});
  add_node(graph, "Mul", {"y", "quarter"}, {"z"});
  add_value(graph.mutable_output(), "z", onnx::TensorProto::FLOAT, {"rows", "2"});
  const StaticModel opened = open(model);
  const StaticProgram program = StaticProgram::create(opened, rows(3), testing::kAnyOperator).value();
  EXPECT_EQ(program.number("quarter"), 0.25);
  EXPECT_EQ(program.number("w"), std::nullopt) << "two elements";
  EXPECT_EQ(program.number("y"), std::nullopt) << "not a constant";
}

// A double does not have the largest integers of 64 bits. So many elements are not folded.
TEST_F(Lowering, ReadsIntegersOf64BitsExactly) {
  onnx::ModelProto model = sum_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  std::vector<std::int64_t> places(70'000, 0);
  places.back() = INT64_MAX;
  testing::add_integers(graph, "places", places);
  add_node(graph, "Gather", {"y", "places"}, {"z"});
  add_value(graph.mutable_output(), "z", onnx::TensorProto::FLOAT, {"", "2"});
  const StaticModel opened = open(model);
  const StaticProgram program = StaticProgram::create(opened, rows(3), testing::kAnyOperator).value();
  EXPECT_EQ(program.integers(*program.nodes().back(), "places").value(), places);
}

TEST(LoweredOperators, AreSortedAndHaveVersionsThatExist) {
  for (const Dialect dialect : kDialects) {
    const std::vector<Operator> all = operators(dialect);
    EXPECT_GT(all.size(), 100);
    const auto key = [](const Operator& row) { return std::pair(row.domain, row.name); };
    EXPECT_EQ(std::ranges::adjacent_find(all, std::ranges::greater_equal{}, key), all.end()) << "each once, sorted";
    for (const Operator& row : all) {
      EXPECT_GE(row.first_opset, 1) << row.name;
      EXPECT_LE(row.first_opset, row.last_opset) << row.name;
      EXPECT_TRUE(!row.domain.empty() || row.last_opset <= kNewestOpset) << row.name;
    }
  }
}

TEST(LoweredOperators, HaveAShapeRuleAndASignature) {
  for (const Dialect dialect : kDialects) {
    for (const Operator& row : operators(dialect)) {
      EXPECT_NE(find_rule(row.name), nullptr) << row.name << ": without a shape it would always be refused";
      EXPECT_NE(signature_of(row.name), nullptr) << row.name;
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(signatures(), std::ranges::less{}, &Signature::name));
}

TEST(LoweredOperators, BeginAtTheSameVersionInBothDialects) {
  std::map<std::string_view, int> first;
  for (const Operator& row : operators(Dialect::kTorchScript)) first.emplace(row.name, row.first_opset);
  for (const Operator& row : operators(Dialect::kStableHlo)) {
    const auto other = first.find(row.name);
    if (other != first.end()) {
      EXPECT_EQ(row.first_opset, other->second) << row.name;
    }
  }
}

// The oldest version of operators whose attributes became inputs later.
TEST_F(Lowering, ReadsWhatTheOldestVersionsHaveAsAttributes) {
  for (const char* op : {"TopK", "Upsample", "GlobalLpPool"}) {
    onnx::ModelProto model = testing::empty_model();
    model.mutable_opset_import(0)->set_version(8);
    onnx::GraphProto& graph = *model.mutable_graph();
    add_value(graph.mutable_input(), "x", onnx::TensorProto::FLOAT, {"1", "1", "2", "4"});
    add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {"", "", "", ""});
    onnx::NodeProto& node = add_node(graph, op, {"x"}, {"y"});
    onnx::AttributeProto& attribute = *node.add_attribute();
    Shape expected{1, 1, 1, 1};
    if (op == std::string_view("TopK")) {
      node.add_output("places");
      attribute.set_name("k");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(3);
      expected = {1, 1, 2, 3};
    } else if (op == std::string_view("Upsample")) {
      attribute.set_name("scales");
      attribute.set_type(onnx::AttributeProto::FLOATS);
      for (const float scale : {1.0F, 1.0F, 2.0F, 3.0F}) attribute.add_floats(scale);
      expected = {1, 1, 4, 12};
    } else {
      attribute.set_name("p");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(3);
    }
    for (const Dialect dialect : kDialects) {
      const auto program = lower(open(model), {.shapes = {{"x", {1, 1, 2, 4}}}}, dialect);
      ASSERT_TRUE(program) << op << ": " << to_string(program.error());
      EXPECT_EQ(program->outputs[0].shape, expected) << op;
    }
  }
}

}  // namespace
}  // namespace assay::lowering
