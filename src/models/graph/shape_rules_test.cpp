// SPDX-License-Identifier: Apache-2.0
#include "models/graph/shape_rules.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "models/graph/shape_operands.hpp"
#include "models/graph/static_graph.hpp"
#include "models/onnx/onnx_testing.hpp"
#include "models/onnx/tensor_pb.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;
using testing::add_node;
using testing::add_value;
using testing::empty_model;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An operator, the shapes of its inputs ("": left out), integer attributes and words, and the shapes of its outputs.
struct RuleCase {
  const char* op;
  std::vector<Shape> inputs;
  std::vector<std::pair<const char*, std::vector<std::int64_t>>> integers;
  std::vector<Shape> outputs;
  const char* words = "";  ///< "name=value"
  std::int64_t opset = 27;
};

// Rules of operators whose output shapes follow from those of their inputs; the attributes with one element are
// integers.
TEST(Rules, GiveTheShapesOfEachOutput) {
  const RuleCase cases[] = {
      {"Attention",
       {{2, 3, 4, 8}, {2, 3, 6, 8}, {2, 3, 6, 10}},
       {},
       {{2, 3, 4, 10}, {2, 3, 6, 8}, {2, 3, 6, 10}, {2, 3, 4, 6}}},
      {"Attention",
       {{2, 4, 24}, {2, 6, 12}, {2, 6, 12}, {4, 18}, {2, 1, 12, 12}, {2, 1, 12, 12}},
       {{"q_num_heads", {2}}, {"kv_num_heads", {1}}},
       {{2, 4, 24}, {2, 1, 18, 12}, {2, 1, 18, 12}, {2, 2, 4, 18}}},
      {"LinearAttention",
       {{1, 5, 16}, {1, 5, 8}, {1, 5, 12}},
       {{"q_num_heads", {4}}, {"kv_num_heads", {2}}},
       {{1, 5, 24}, {1, 2, 4, 6}}},
      {"CausalConvWithState", {{2, 3, 7}, {3, 1, 4}}, {}, {{2, 3, 7}, {2, 3, 3}}},
      {"RotaryEmbedding", {{2, 3, 4, 8}, {2, 3, 4}, {2, 3, 4}}, {}, {{2, 3, 4, 8}}},
      {"TensorScatter", {{2, 3, 9, 4}, {2, 3, 1, 4}}, {}, {{2, 3, 9, 4}}},
      {"SwiGLU", {{2, 3}, {2, 3}}, {}, {{2, 3}}},
      {"GridSample", {{1, 2, 4, 5}, {1, 6, 7, 2}}, {}, {{1, 2, 6, 7}}},
      {"RoiAlign", {{1, 2, 10, 10}, {3, 4}, {3}}, {{"output_height", {5}}, {"output_width", {6}}}, {{3, 2, 5, 6}}},
      {"DeformConv", {{1, 2, 5, 5}, {3, 2, 2, 2}, {1, 8, 4, 4}}, {}, {{1, 3, 4, 4}}},
      {"MaxUnpool", {{1, 1, 2, 2}, {1, 1, 2, 2}}, {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}}, {{1, 1, 4, 4}}},
      {"ConvTranspose", {{1, 1, 3, 3}, {1, 2, 3, 3}}, {{"strides", {2, 3}}}, {{1, 2, 6, 9}}, "auto_pad=SAME_UPPER"},
      {"ConvTranspose",
       {{1, 1, 3, 3}, {1, 2, 3, 3}},
       {{"strides", {3, 2}}, {"output_shape", {10, 8}}},
       {{1, 2, 10, 8}}},
      {"GRU", {{3, 4, 2}, {1, 18, 2}, {1, 18, 6}}, {{"layout", {1}}}, {{3, 4, 1, 6}, {3, 1, 6}}},
      {"DFT", {{1, 10, 6, 1}}, {}, {{1, 10, 6, 2}}},
      {"DFT", {{1, 10, 6, 1}}, {{"axis", {1}}, {"onesided", {1}}}, {{1, 6, 6, 2}}, "", 19},
      {"DFT", {{1, 6, 6, 2}}, {{"axis", {1}}, {"onesided", {1}}, {"inverse", {1}}}, {{1, 10, 6, 1}}, "", 19},
      {"Einsum", {{2, 3, 4}, {4, 5}}, {}, {{2, 3, 5}}, "equation=bij,jk->bik"},
      {"Einsum", {{7, 2, 3}, {7, 3, 4}}, {}, {{7, 2, 4}}, "equation=...ij,...jk->...ik"},
      {"Einsum", {{3, 3}}, {}, {{}}, "equation=ii"},
      {"Einsum", {{2, 3}}, {}, {{3, 2}}, "equation=ij->ji"},
      {"NegativeLogLikelihoodLoss", {{3, 5, 2}, {3, 2}}, {}, {{}}},
      {"NegativeLogLikelihoodLoss", {{3, 5, 2}, {3, 2}}, {}, {{3, 2}}, "reduction=none"},
      {"SoftmaxCrossEntropyLoss", {{3, 5}, {3}}, {}, {{}, {3, 5}}},
      {"Det", {{2, 3, 3}}, {}, {{2}}},
      {"EyeLike", {{4, 5}}, {}, {{4, 5}}},
      {"TfIdfVectorizer", {{2, 6}}, {{"ngram_indexes", {0, 3, 6}}}, {{2, 7}}},
      {"ReverseSequence", {{4, 2}, {2}}, {}, {{4, 2}}},
      {"BitCast", {{2, 3}}, {{"to", {onnx::TensorProto::INT32}}}, {{2, 3}}},
      {"LayerNormalization", {{2, 3, 4}, {3, 4}}, {{"axis", {1}}}, {{2, 3, 4}, {2, 1, 1}, {2, 1, 1}}},
  };
  for (const RuleCase& each : cases) {
    onnx::ModelProto model = empty_model();
    model.mutable_opset_import(0)->set_version(each.opset);
    onnx::GraphProto& graph = *model.mutable_graph();
    onnx::NodeProto& node = add_node(graph, each.op, {}, {});
    std::map<std::string, Shape> shapes;
    for (std::size_t i = 0; i < each.inputs.size(); ++i) {
      const std::string name = fmt::format("x{}", i);
      node.add_input(name);
      add_value(graph.mutable_input(), name, onnx::TensorProto::FLOAT, std::vector<std::string>(each.inputs[i].size()));
      shapes[name] = each.inputs[i];
    }
    for (std::size_t i = 0; i < each.outputs.size(); ++i) {
      node.add_output(fmt::format("y{}", i));
      add_value(graph.mutable_output(), fmt::format("y{}", i), onnx::TensorProto::FLOAT, {});
    }
    for (const auto& [name, values] : each.integers) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(name);
      const bool one = values.size() == 1;
      attribute.set_type(one ? onnx::AttributeProto::INT : onnx::AttributeProto::INTS);
      if (one) attribute.set_i(values[0]);
      for (const std::int64_t value : values)
        if (!one) attribute.add_ints(value);
    }
    const std::string words = each.words;
    if (const auto sign = words.find('='); sign != std::string::npos) {
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name(words.substr(0, sign));
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(words.substr(sign + 1));
    }
    const testing::ModelFolder folder;
    const Result<StaticGraph> inferred = StaticGraph::infer(folder.write(model), shapes);
    ASSERT_TRUE(inferred) << each.op << ": " << to_string(inferred.error());
    EXPECT_THAT(inferred->unknown_operators(), IsEmpty()) << each.op;
    for (std::size_t i = 0; i < each.outputs.size(); ++i)
      EXPECT_EQ(inferred->values().at(fmt::format("y{}", i)).shape, each.outputs[i])
          << each.op << " " << each.words << i;
  }
}

TEST(Rules, OperandsThatContradictEachOtherAreErrors) {
  const auto refused = [&](const char* op, const Shape& a, const Shape& b) {
    onnx::ModelProto model = empty_model();
    model.mutable_opset_import(0)->set_version(27);
    onnx::GraphProto& graph = *model.mutable_graph();
    add_value(graph.mutable_input(), "a", onnx::TensorProto::FLOAT, std::vector<std::string>(a.size()));
    add_value(graph.mutable_input(), "b", onnx::TensorProto::FLOAT, std::vector<std::string>(b.size()));
    add_value(graph.mutable_output(), "y", onnx::TensorProto::FLOAT, {});
    add_node(graph, op, {"a", "b"}, {"y"});
    const testing::ModelFolder folder;
    return StaticGraph::infer(folder.write(model), {{"a", a}, {"b", b}}).error().message;
  };
  EXPECT_THAT(refused("GridSample", {1, 2, 4, 5}, {1, 6, 7, 3}), HasSubstr("sampled at [1, 6, 7, 3]"));
  EXPECT_THAT(refused("CausalConvWithState", {2, 3, 7}, {4, 1, 4}), HasSubstr("with weight [4, 1, 4]"));
  EXPECT_THAT(refused("NegativeLogLikelihoodLoss", {3, 5, 2}, {3, 3}), HasSubstr("labels of another shape"));
  EXPECT_THAT(refused("Attention", {2, 4, 24}, {2, 6, 12}), HasSubstr("in 0 heads"));
}

Shape declared(const onnx::ValueInfoProto& value) {
  Shape shape;
  for (const auto& extent : value.type().tensor_type().shape().dim()) shape.push_back(extent.dim_value());
  return shape;
}

// The inputs of an operator test that decide shapes, with their values; the shapes of the others.
Result<StaticGraph> infer_test(const fs::path& folder, const onnx::ModelProto& model) {
  ASSAY_TRY(const StaticModel opened, StaticModel::open(folder / "model.onnx"));
  const std::vector<std::string> known = shape_inputs(opened.model());
  std::map<std::string, Shape> shapes;
  std::map<std::string, Tensor> constants;
  for (int i = 0; i < model.graph().input_size(); ++i) {
    const onnx::ValueInfoProto& input = model.graph().input(i);
    if (std::ranges::find(known, input.name()) == known.end()) {
      shapes[input.name()] = declared(input);
      continue;
    }
    ASSAY_TRY(NamedTensor value, read_tensor_pb(folder / fmt::format("test_data_set_0/input_{}.pb", i)));
    constants.emplace(input.name(), std::move(value.tensor));
  }
  return opened.infer(shapes, constants);
}

// The tests of operators that ONNX comes with: whatever is inferred must be what they declare, and it is for all
// operators but those of `dynamic`.
TEST(OnnxNodeTests, AgreeWithEveryShapeThatIsInferred) {
  const char* folder = std::getenv("ASSAY_ONNX_NODE_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "ASSAY_ONNX_NODE_TESTS is not set";
  static const std::set<std::string> dynamic = {
      // Their shapes depend on the values of tensors.
      "Compress", "ImageDecoder", "NonMaxSuppression", "NonZero", "Unique",
      // Control flow, sequences, optional values, random numbers, training, text.
      "Bernoulli", "ConcatFromSequence", "If", "Loop", "Optional", "OptionalGetElement", "OptionalHasElement",
      "RandomUniformLike", "RegexFullMatch", "Scan", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
      "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence", "StringConcat",
      "StringNormalizer", "StringSplit"};
  int agreed = 0;
  std::set<std::string> without_rule, unknown;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const fs::path path = entry.path() / "model.onnx";
    onnx::ModelProto model;
    if (!fs::exists(path) || !model.ParseFromString(read_file(path).value())) continue;
    const Result<StaticGraph> graph = infer_test(entry.path(), model);
    if (!graph) {
      EXPECT_NE(graph.error().code, ErrorCode::kInternal) << path << ": " << graph.error().message;
      EXPECT_THAT(graph.error().message, ::testing::Not(HasSubstr("node "))) << path;
      continue;
    }
    for (const std::string& name : graph->unknown_operators())
      if (name.find(':') == std::string::npos && !dynamic.contains(name)) without_rule.insert(name);
    const bool all_known = graph->unknown_operators().empty();
    for (const onnx::ValueInfoProto& output : model.graph().output()) {
      const StaticValue& value = graph->values().at(output.name());
      if (!output.type().has_tensor_type()) continue;
      if (!value.shape) {
        if (all_known) unknown.insert(entry.path().filename());
        continue;
      }
      EXPECT_EQ(*value.shape, declared(output)) << path << " " << output.name();
      EXPECT_EQ(static_cast<int>(value.dtype), output.type().tensor_type().elem_type()) << path << " " << output.name();
      ++agreed;
    }
  }
  EXPECT_THAT(without_rule, IsEmpty());
  EXPECT_THAT(unknown, IsEmpty());
  EXPECT_GT(agreed, 1500);
}

// Thousandths of floating elements, so that what only moves them can be seen to.
Tensor as_integers(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return Tensor::copy_of(tensor.view()).value();
  Tensor integers = Tensor::create(DType::kInt64, tensor.shape()).value();
  std::int64_t at = 0;
  for (std::int64_t& to : integers.as<std::int64_t>()) to = std::llround(1000 * element_as_double(tensor.view(), at++));
  return integers;
}

void make_integers(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  for (onnx::ValueInfoProto& value : values) {
    auto& type = *value.mutable_type()->mutable_tensor_type();
    if (is_floating(static_cast<DType>(type.elem_type()))) type.set_elem_type(onnx::TensorProto::INT64);
  }
}

// The operator of a test, if it agrees: with all inputs given as constants, what is folded must be what it expects.
std::string folds_as_expected(const fs::path& folder, const testing::ModelFolder& scratch) {
  static const std::set<std::string> moves = {"Concat",    "Expand",    "Flatten", "Gather",  "Identity",
                                              "Reshape",   "Slice",     "Split",   "Squeeze", "Tile",
                                              "Transpose", "Unsqueeze", "Where"};
  onnx::ModelProto proto;
  const auto bytes = read_file(folder / "model.onnx");
  if (!bytes || !proto.ParseFromString(*bytes)) return "";
  const std::string op = proto.graph().node(0).op_type();
  if (moves.contains(op)) {
    make_integers(*proto.mutable_graph()->mutable_input());
    make_integers(*proto.mutable_graph()->mutable_output());
  }
  const auto tensor = [&](const char* what, int i) -> std::optional<Tensor> {
    Result<NamedTensor> found = read_tensor_pb(folder / fmt::format("test_data_set_0/{}_{}.pb", what, i));
    if (!found) return std::nullopt;
    return moves.contains(op) ? as_integers(found->tensor) : std::move(found->tensor);
  };
  std::map<std::string, Tensor> constants;
  for (int i = 0; i < proto.graph().input_size(); ++i)
    if (auto value = tensor("input", i)) constants.emplace(proto.graph().input(i).name(), std::move(*value));
  const Result<StaticModel> model = StaticModel::open(scratch.write(proto));
  const Result<StaticGraph> graph = model ? model->infer({}, constants) : tl::unexpected<Error>(model.error());
  if (!graph) return "";
  bool any = false;
  for (int i = 0; i < proto.graph().output_size(); ++i) {
    const auto expected = tensor("output", i);
    const StaticValue& value = graph->values().at(proto.graph().output(i).name());
    if (!expected || !value.elements) continue;
    any = true;
    std::vector<std::int64_t> wanted;
    for (std::int64_t at = 0; at < element_count(expected->shape()).value(); ++at)
      wanted.push_back(static_cast<std::int64_t>(element_as_double(expected->view(), at)));
    EXPECT_EQ(value.shape, expected->shape()) << folder;
    EXPECT_TRUE(value.elements == wanted) << folder;
  }
  return any ? op : "";
}

TEST(OnnxNodeTests, AgreeWithEveryElementThatIsFolded) {
  const char* folder = std::getenv("ASSAY_ONNX_NODE_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "ASSAY_ONNX_NODE_TESTS is not set";
  const testing::ModelFolder scratch;
  std::set<std::string> agreed;
  for (const auto& entry : fs::directory_iterator(folder)) agreed.insert(folds_as_expected(entry.path(), scratch));
  for (const char* op :
       {"And",  "Concat",    "ConstantOfShape", "Div",     "Equal", "Expand", "Flatten", "Gather", "Identity",
        "Mod",  "Not",       "Range",           "Reshape", "Shape", "Size",   "Slice",   "Split",  "Squeeze",
        "Tile", "Transpose", "Unsqueeze",       "Where"})
    EXPECT_TRUE(agreed.contains(op)) << op;
}

}  // namespace
}  // namespace assay
