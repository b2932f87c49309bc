// SPDX-License-Identifier: Apache-2.0

// Every engine accepts and returns scalars, empty tensors, and each element type.

#include "conformance.hpp"

namespace assay::conformance {
namespace {
using ::testing::ElementsAre;

class Tensors : public EngineTest {
 protected:
  static Result<BindReply> bind(Subject& subject, std::vector<InputRecipe> inputs, std::size_t sets = 1) {
    return subject.bind(std::move(inputs), sets);
  }
  /// The elements that the worker generates from `recipe` for input set `set`, as doubles.
  static std::vector<double> made(const InputRecipe& recipe, std::size_t set = 0) {
    const Tensor tensor = make_input(recipe, 7, set).value();
    std::vector<double> values;
    for (std::int64_t i = 0; i < element_count(tensor.shape()).value(); ++i)
      values.push_back(element_as_double(tensor.view(), i));
    return values;
  }
};

TEST_P(Tensors, AcceptsAndReturnsScalars) {
  on_each_device([&](Subject& subject) {
    GraphBuilder graph("scalars");
    const Value x = graph.input("x", DType::kFloat32, {"n", std::int64_t{3}});
    const Value k = graph.input("k", DType::kFloat32, {});
    const Value sum = graph.node("", "ReduceSum", {x}, {{"keepdims", std::int64_t{0}}});
    graph.output("total", graph.node("", "Mul", {sum, k}), {});
    graph.output("scaled", graph.node("", "Mul", {x, k}), {"n", std::int64_t{3}});
    subject.add("scalars.onnx", graph, {"x:float32[n,3];k:float32[]", "total:float32[];scaled:float32[n,3]"},
                {{"x", {4, 3}}, {"k", {}}});
    ASSERT_THAT(subject.load("scalars.onnx"), IsOk());
    for (const std::int64_t n : {4, 1, 0}) {
      const InputRecipe xs{"x", DType::kFloat32, {n, 3}, Fill::kNormal, 0, 1, {}};
      const InputRecipe ks{"k", DType::kFloat32, {}, Fill::kUniform, 2, 3, {}};
      ASSERT_THAT(bind(subject, {xs, ks}, 2), IsOk());
      for (const std::size_t set : {0u, 1u, 0u}) {
        const Outputs total = subject.run(set, "total"), scaled = subject.output("scaled");
        EXPECT_EQ(total.shape, Shape{}) << "rank 0, not one element of rank 1";
        EXPECT_EQ(total.values.size(), 1u);
        EXPECT_EQ(scaled.shape, (Shape{n, 3}));
        if (!subject.computes_the_model()) continue;
        const double factor = made(ks, set).front();
        double expected = 0;
        for (const double value : made(xs, set)) expected += value * factor;
        EXPECT_NEAR(total.values.front(), expected, 1e-4);
      }
    }
  });
}

TEST_P(Tensors, RunsOnEmptyTensors) {
  on_each_device([&](Subject& subject) {
    GraphBuilder graph("join");
    const Value past = graph.input("past", DType::kFloat32, {std::int64_t{1}, "p", std::int64_t{2}});
    const Value x = graph.input("x", DType::kFloat32, {std::int64_t{1}, "n", std::int64_t{2}});
    const Value both = graph.node("", "Concat", {past, x}, {{"axis", std::int64_t{1}}});
    graph.output("both", both, {std::int64_t{1}, "t", std::int64_t{2}});
    graph.output("negative", graph.node("", "Neg", {both}), {std::int64_t{1}, "t", std::int64_t{2}});
    subject.add("join.onnx", graph,
                {"past:float32[1,p,2];x:float32[1,n,2]", "both:float32[1,p+n,2];negative:float32[1,p+n,2]"},
                {{"past", {1, 0, 2}}, {"x", {1, 3, 2}}});
    ASSERT_THAT(subject.load("join.onnx"), IsOk());
    for (const auto& [p, n] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {2, 0}, {0, 0}, {1, 1}}) {
      const InputRecipe pasts{"past", DType::kFloat32, {1, p, 2}, Fill::kNormal, 0, 1, {}};
      const InputRecipe xs{"x", DType::kFloat32, {1, n, 2}, Fill::kNormal, 0, 1, {}};
      ASSERT_THAT(bind(subject, {pasts, xs}), IsOk()) << p << " and " << n;
      const Outputs both_out = subject.run(0, "both"), negative = subject.output("negative");
      EXPECT_EQ(both_out.shape, (Shape{1, p + n, 2}));
      EXPECT_EQ(negative.shape, (Shape{1, p + n, 2}));
      if (!subject.computes_the_model()) continue;
      std::vector<double> expected = made(pasts);
      for (const double value : made(xs)) expected.push_back(value);
      ASSERT_EQ(both_out.values.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(both_out.values[i], static_cast<float>(expected[i]));
        EXPECT_EQ(negative.values[i], -static_cast<float>(expected[i]));
      }
    }
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    ASSERT_THAT(subject.bind_layer(0), IsOk());
    EXPECT_EQ(subject.run().shape, (Shape{0, kOut}));
  });
}

TEST_P(Tensors, KeepsEachElementTypeOfSeveralInputsAndOutputs) {
  on_each_device([&](Subject& subject) {
    GraphBuilder graph("types");
    const Value i = graph.input("i", DType::kInt32, {"n"});
    const Value j = graph.input("j", DType::kInt64, {"n"});
    const Value b = graph.input("b", DType::kBool, {"n"});
    graph.output("twice_i", graph.node("", "Add", {i, i}), {"n"});
    graph.output("twice_j", graph.node("", "Add", {j, j}), {"n"});
    graph.output("not_b", graph.node("", "Not", {b}), {"n"});
    graph.output("f", graph.node("", "Cast", {j}, {{"to", std::int64_t{1}}}, DType::kFloat32), {"n"});
    subject.add("types.onnx", graph,
                {"i:int32[n];j:int64[n];b:bool[n]", "twice_i:int32[n];twice_j:int64[n];not_b:bool[n];f:float32[n]"},
                {{"i", {5}}, {"j", {5}}, {"b", {5}}});
    const auto loaded = subject.load("types.onnx");
    ASSERT_THAT(loaded, IsOk());
    const auto types = [](const std::vector<ValueSignature>& values) {
      std::vector<DType> list;
      list.reserve(values.size());
      for (const ValueSignature& value : values) list.push_back(value.dtype);
      return list;
    };
    EXPECT_THAT(types(loaded->inputs), ElementsAre(DType::kInt32, DType::kInt64, DType::kBool));
    EXPECT_THAT(types(loaded->outputs), ElementsAre(DType::kInt32, DType::kInt64, DType::kBool, DType::kFloat32));
    const InputRecipe is{"i", DType::kInt32, {5}, Fill::kInteger, -9, 9, {}};
    const InputRecipe js{"j", DType::kInt64, {5}, Fill::kInteger, -9, 9, {}};
    const InputRecipe bs{"b", DType::kBool, {5}, Fill::kInteger, 0, 1, {}};
    ASSERT_THAT(bind(subject, {is, js, bs}, 2), IsOk());
    for (const std::size_t set : {1u, 0u}) {
      ASSERT_THAT(subject.infer(set), IsOk());
      const auto expect = [&](const char* name, DType dtype, const InputRecipe& from, auto&& function) {
        const Outputs out = subject.output(name);
        EXPECT_EQ(out.dtype, dtype) << name;
        EXPECT_EQ(out.shape, (Shape{5})) << name;
        if (!subject.computes_the_model()) return;
        const auto values = made(from, set);
        for (std::size_t at = 0; at < values.size(); ++at) EXPECT_EQ(out.values[at], function(values[at])) << name;
      };
      expect("twice_i", DType::kInt32, is, [](double v) { return 2 * v; });
      expect("twice_j", DType::kInt64, js, [](double v) { return 2 * v; });
      expect("not_b", DType::kBool, bs, [](double v) { return v == 0; });
      expect("f", DType::kFloat32, js, [](double v) { return v; });
    }
  });
}

TEST_P(Tensors, KeepsFloat16) {
  on_each_device([&](Subject& subject) {
    if (!subject.computes_the_model()) return;
    GraphBuilder graph("half");
    const Value h = graph.input("h", DType::kFloat16, {"n"});
    graph.output("y", graph.node("", "Neg", {h}), {"n"});
    subject.add("half.onnx", graph, {}, {{"h", {6}}});
    LoadRequest request = subject.request("half.onnx");
    request.precision = "as_is";
    ASSERT_THAT(subject.load("half.onnx", request), IsOk());
    const InputRecipe hs{"h", DType::kFloat16, {6}, Fill::kNormal, 0, 1, {}};
    ASSERT_THAT(bind(subject, {hs}), IsOk());
    const Outputs y = subject.run(0, "y");
    EXPECT_EQ(y.dtype, DType::kFloat16);
    const auto expected = made(hs);
    ASSERT_EQ(y.values.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(y.values[i], -expected[i]);
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, Tensors, ::testing::ValuesIn(engine_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace assay::conformance
