// SPDX-License-Identifier: Apache-2.0
// Files whose nodes contradict their operators: the answer is an error that names the operator, in both dialects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/lower/program.hpp"
#include "models/onnx/onnx_testing.hpp"

namespace assay::lowering {
namespace {

using testing::add_node;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr Dialect kDialects[] = {Dialect::kTorchScript, Dialect::kStableHlo};
constexpr std::int32_t kFloat = onnx::TensorProto::FLOAT, kInt64 = onnx::TensorProto::INT64;

/// A model that is built piece by piece. Its output is y.
class Build {
 public:
  explicit Build(std::int64_t opset = 23) {
    model.mutable_opset_import(0)->set_version(opset);
    testing::add_value(graph().mutable_output(), "y", kFloat, {}).mutable_type()->clear_tensor_type();
  }
  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  Build& input(const std::string& name, const Shape& shape, std::int32_t type = kFloat) {
    std::vector<std::string> extents;
    for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
    testing::add_value(graph().mutable_input(), name, type, extents);
    shapes[name] = shape;
    return *this;
  }
  Build& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    testing::add_integers(graph(), name, values);
    return *this;
  }
  Build& scalar(const std::string& name, std::int64_t value) {
    testing::add_integers(graph(), name, {value}).clear_dims();
    return *this;
  }
  Build& real(const std::string& name, float value) {
    onnx::TensorProto& tensor = testing::add_floats(graph(), name, {1});
    tensor.clear_dims();
    tensor.set_raw_data(&value, sizeof value);
    return *this;
  }
  Build& node(const std::string& op, std::initializer_list<const char*> inputs,
              std::initializer_list<const char*> outputs = {"y"}) {
    last_ = &add_node(graph(), op, inputs, outputs);
    return *this;
  }
  Build& with(const char* name, std::int64_t value) {
    onnx::AttributeProto& to = attribute(name, onnx::AttributeProto::INT);
    to.set_i(value);
    return *this;
  }
  Build& text(const char* name, const char* value) {
    onnx::AttributeProto& to = attribute(name, onnx::AttributeProto::STRING);
    to.set_s(value);
    return *this;
  }
  Build& list(const char* name, const std::vector<std::int64_t>& values) {
    testing::add_attribute(*last_, name, values);
    return *this;
  }
  onnx::AttributeProto& attribute(const char* name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& to = *last_->add_attribute();
    to.set_name(name);
    to.set_type(type);
    return to;
  }

  onnx::ModelProto model = testing::empty_model();
  std::map<std::string, Shape> shapes;

 private:
  onnx::NodeProto* last_ = nullptr;
};

Result<Program> lowered(const Build& build, Dialect dialect) {
  const testing::ModelFolder folder;
  ASSAY_TRY(const StaticModel model, StaticModel::open(folder.write(build.model)));
  return lower(model, {.shapes = build.shapes}, dialect);
}

struct Malformed {
  const char* says;  ///< a part of the message
  Build build;
};

// What each of them says, and that it names the operator of its last node.
void expect_refused(const std::vector<Malformed>& cases) {
  for (const Malformed& one : cases) {
    const onnx::GraphProto& graph = one.build.model.graph();
    const std::string op = graph.node(graph.node_size() - 1).op_type();
    for (const Dialect dialect : kDialects) {
      const Result<Program> program = lowered(one.build, dialect);
      ASSERT_FALSE(program) << op << " in " << to_string(dialect) << "\n" << program->text;
      EXPECT_THAT(program.error().message, HasSubstr(op)) << to_string(dialect);
      EXPECT_THAT(program.error().message, HasSubstr(one.says)) << to_string(dialect);
      EXPECT_THAT(program.error().code, AnyOf(ErrorCode::kInvalidArgument, ErrorCode::kUnsupported)) << op;
    }
  }
}

TEST(MalformedNodes, HaveTheInputsAndOutputsOfTheirOperator) {
  expect_refused({
      {"input 1 is missing", Build().input("x", {2}).node("Add", {"x"})},
      {"input 1 is missing", Build().input("x", {2}).node("Add", {"x", ""})},
      {"3 inputs; the operator has at most 2", Build().input("x", {2}).node("Add", {"x", "x", "x"})},
      {"input 1 is missing", Build().input("x", {2}).node("CumSum", {"x"})},
      {"input 3 is missing",
       Build().scalar("a", 8).scalar("b", 16).scalar("c", 8000).node("MelWeightMatrix", {"a", "b", "c"})},
      {"input 1 is missing", Build().input("x", {2, 2}).node("Concat", {"x", "", "x"}).with("axis", 0)},
      {"2 outputs; the operator has at most 1", Build().input("x", {2}).node("Relu", {"x"}, {"y", "z"})},
      {"output 0 has no name", Build().input("x", {4}).integers("k", {2}).node("TopK", {"x", "k"}, {"", "y"})},
      {"3 outputs; the operator has at most 2", Build()
                                                    .input("x", {2, 1, 3})
                                                    .input("w", {1, 6, 3})
                                                    .input("r", {1, 6, 2})
                                                    .node("GRU", {"x", "w", "r"}, {"a", "b", "y"})},
  });
}

TEST(MalformedNodes, HaveInputsOfOneTypeWhereTheOperatorNeedsIt) {
  expect_refused({
      {"input 1 is int64; the operator needs float32",
       Build().input("x", {2}).input("z", {2}, kInt64).node("Add", {"x", "z"})},
      {"input 2 is int64", Build()
                               .input("c", {2}, onnx::TensorProto::BOOL)
                               .input("x", {2})
                               .input("z", {2}, kInt64)
                               .node("Where", {"c", "x", "z"})},
      {"input 1 is int64", Build().input("x", {2}).input("z", {2}, kInt64).node("Max", {"x", "z"})},
      {"input 1 is int64", Build().input("x", {2, 2}).input("z", {2, 2}, kInt64).node("MatMul", {"x", "z"})},
  });
}

TEST(MalformedNodes, HaveTypesOfTheDialect) {
  expect_refused({
      {"the softmax_precision string",
       Build().input("q", {1, 2, 3, 4}).node("Attention", {"q", "q", "q"}).with("softmax_precision", 8)},
      {"the type int4", Build().input("x", {2, 2}).node("EyeLike", {"x"}).with("dtype", 22)},
      {"the type string", Build()
                              .input("x", {2, 2})
                              .input("s", {2})
                              .node("LayerNormalization", {"x", "s"}, {"a", "y"})
                              .with("stash_type", 8)},
      {"the type int4", Build().scalar("n", 4).node("HannWindow", {"n"}).with("output_datatype", 22)},
      {"the precision int4",
       Build(25).input("x", {2}).input("s", {}).node("QuantizeLinear", {"x", "s"}).with("precision", 22)},
  });
}

TEST(MalformedNodes, HaveRanksThatTheOperatorAllows) {
  expect_refused({
      {"rank 1", Build().input("x", {4}).node("LRN", {"x"}).with("size", 3)},
      {"rank 1", Build().input("x", {4}).input("s", {1}).node("BatchNormalization", {"x", "s", "s", "s", "s"})},
      {"RotaryEmbedding", Build().input("x", {2, 4}).input("c", {1, 2, 2}).node("RotaryEmbedding", {"x", "c", "c"})},
      {"axis 9", Build().input("x", {2, 4}).input("s", {4}).node("RMSNormalization", {"x", "s"}).with("axis", 9)},
      {"axis 9", Build().input("x", {2, 4}).input("u", {2, 1}).node("TensorScatter", {"x", "u"}).with("axis", 9)},
      {"axis 9", Build()
                     .input("x", {2, 4}, onnx::TensorProto::INT8)
                     .input("s", {4})
                     .node("DequantizeLinear", {"x", "s"})
                     .with("axis", 9)},
      {"time_axis 7",
       Build().input("x", {2, 4}).input("n", {2}, kInt64).node("ReverseSequence", {"x", "n"}).with("time_axis", 7)},
      {"rank 6", Build().input("x", {1, 1, 2, 2, 2, 2}).input("g", {1, 2, 2, 2, 2, 4}).node("GridSample", {"x", "g"})},
      {"another rank", Build()
                           .input("x", {1, 1, 2, 2})
                           .input("i", {1, 1, 2, 2}, kInt64)
                           .integers("shape", {4, 4})
                           .node("MaxUnpool", {"x", "i", "shape"})
                           .list("kernel_shape", {2, 2})},
      {"another rank",
       Build().input("x", {2, 1, 3}).input("w", {8, 3}).input("r", {1, 8, 2}).node("LSTM", {"x", "w", "r"})},
      {"of different lengths", Build()
                                   .input("q", {1, 2, 3, 4})
                                   .input("k", {1, 2, 5, 4})
                                   .input("v", {1, 2, 6, 4})
                                   .node("Attention", {"q", "q", "q", "", "k", "v"})},
      {"weights for 7 directions",
       Build().input("x", {2, 1, 3}).input("w", {7, 8, 3}).input("r", {7, 8, 2}).node("LSTM", {"x", "w", "r"})},
      {"100 axes",
       Build().input("x", {1}).integers("shape", std::vector<std::int64_t>(100, 1)).node("Reshape", {"x", "shape"})},
  });
}

TEST(MalformedNodes, HaveNumbersThatNothingIsDividedByOrRepeatedFor) {
  expect_refused({
      {"num_groups is 0",
       Build().input("x", {1, 4, 2}).input("s", {4}).node("GroupNormalization", {"x", "s", "s"}).with("num_groups", 0)},
      {"in 0 heads", Build()
                         .input("x", {1, 2, 4})
                         .input("c", {1, 2, 2})
                         .node("RotaryEmbedding", {"x", "c", "c"})
                         .with("num_heads", 0)},
      {"blocksize is 4294967296",
       Build().input("x", {1, 0, 2, 2}).node("DepthToSpace", {"x"}).with("blocksize", std::int64_t{1} << 32)},
      {"an output of 0 x 1", Build()
                                 .input("x", {1, 1, 4, 4})
                                 .input("r", {1, 4})
                                 .input("b", {1}, kInt64)
                                 .node("RoiAlign", {"x", "r", "b"})
                                 .with("output_height", 0)
                                 .with("sampling_ratio", 1)},
      {"instead of one element",
       [] {
         Build build;
         build.integers("shape", {2}).node("ConstantOfShape", {"shape"});
         onnx::TensorProto& value = *build.attribute("value", onnx::AttributeProto::TENSOR).mutable_t();
         value.set_data_type(kFloat);
         value.add_dims(0);
         return build;
       }()},
      {"empty axis",
       Build().input("x", {2, 0}).integers("pads", {0, 0, 0, 1 << 20}).node("Pad", {"x", "pads"}).text("mode", "wrap")},
      {"empty axis", Build()
                         .input("x", {2, 0})
                         .integers("pads", {0, 0, 0, 1 << 20})
                         .node("Pad", {"x", "pads"})
                         .text("mode", "reflect")},
      {"a size that cannot be", Build()
                                    .input("x", {1, 0})
                                    .integers("sizes", {1, 4})
                                    .node("Resize", {"x", "", "", "sizes"})
                                    .text("mode", "linear")},
      {"computed numbers", Build().scalar("n", std::int64_t{1} << 36).node("HannWindow", {"n"})},
      {"bands of", Build()
                       .scalar("a", 8)
                       .scalar("b", -2)
                       .scalar("c", 8000)
                       .real("low", 0)
                       .real("high", 4000)
                       .node("MelWeightMatrix", {"a", "b", "c", "low", "high"})},
  });
}

TEST(MalformedNodes, AreRefusedWhenTheDialectCannotCombineTheirOperands) {
  const std::vector<Malformed> cases = {
      {"stablehlo.select", Build().input("c", {2}).input("x", {2}).node("Where", {"c", "x", "x"})},
      {"a reshape", Build().input("x", {2}).input("low", {3}).node("Clip", {"x", "low"})},
      {"an input of [2, 3, 4] for an output of [3, 4]",
       Build().input("x", {3, 4}).input("slope", {2, 3, 4}).node("PRelu", {"x", "slope"})},
      {"heads", Build(27)
                    .input("q", {1, 5, 4})
                    .input("b", {1, 5, 0})
                    .node("LinearAttention", {"q", "q", "q", "", "", "b"})
                    .with("q_num_heads", 1)
                    .with("kv_num_heads", 1)
                    .text("update_rule", "delta")},
  };
  for (const Malformed& one : cases) {
    const Result<Program> program = lowered(one.build, Dialect::kStableHlo);
    ASSERT_FALSE(program) << one.says << "\n" << program->text;
    EXPECT_THAT(program.error().message, HasSubstr(one.says));
    EXPECT_THAT(program.error().message, HasSubstr("(" + one.build.model.graph().node(0).op_type() + ")"));
    EXPECT_EQ(program.error().code, ErrorCode::kUnsupported);
  }
}

TEST(MalformedNodes, AValueOfASparseTensorIsRefused) {
  Build build;
  build.input("x", {2}).node("Add", {"x", "sparse"});
  onnx::SparseTensorProto& sparse = *build.graph().add_sparse_initializer();
  sparse.add_dims(2);
  sparse.mutable_values()->set_name("sparse");
  sparse.mutable_values()->set_data_type(kFloat);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(1);
  sparse.mutable_indices()->set_data_type(kInt64);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(0);
  for (const Dialect dialect : kDialects) {
    const Result<Program> program = lowered(build, dialect);
    ASSERT_FALSE(program);
    EXPECT_THAT(program.error().message, HasSubstr("sparse tensor 'sparse'"));
  }
}

// Unusual, but there is an answer, and it comes soon.
TEST(UnusualNodes, AreLowered) {
  std::vector<std::pair<const char*, Build>> cases;
  cases.emplace_back(
      "an attribute that the operator does not have",
      Build().input("x", {4}).integers("a", {0}).integers("b", {2}).node("Slice", {"x", "a", "b"}).list("steps", {0}));
  cases.emplace_back("axes from the end", Build().input("x", {2, 3}).node("Transpose", {"x"}).list("perm", {-1, 0}));
  cases.emplace_back("the largest step", Build()
                                             .input("x", {4})
                                             .integers("a", {0})
                                             .integers("b", {4})
                                             .integers("s", {std::numeric_limits<std::int64_t>::max()})
                                             .node("Slice", {"x", "a", "b", "", "s"}));
  Build chain;
  chain.input("x", {2});
  constexpr int kLong = 20'000;
  for (int i = 0; i < kLong; ++i)
    chain.node("Mul", {i == 0 ? "x" : ("v" + std::to_string(i)).c_str(), "x"},
               {i + 1 == kLong ? "y" : ("v" + std::to_string(i + 1)).c_str()});
  cases.emplace_back("a chain of products", std::move(chain));
  for (const auto& [what, build] : cases)
    for (const Dialect dialect : kDialects) {
      const Result<Program> program = lowered(build, dialect);
      EXPECT_TRUE(program) << what << " in " << to_string(dialect) << ": " << to_string(program.error());
    }
}

}  // namespace
}  // namespace assay::lowering
