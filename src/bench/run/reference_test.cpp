// SPDX-License-Identifier: Apache-2.0
#include "bench/run/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <vector>

#include "core/base/files.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/safetensors.hpp"
#include "core/tensor/ulp.hpp"
#include "models/builder/graph_builder.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace {
using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::int64_t kIn = 64, kOut = 8, kBatch = 4;

std::vector<float> weights() {
  std::vector<float> w(kIn * kOut);
  fill_normal(CounterRandom(1, "w"), 0.0F, 1.0F, w);
  return w;
}

/// y = x w in double, as float.
std::vector<float> product(std::span<const float> x, std::span<const float> w) {
  std::vector<float> y(kBatch * kOut);
  for (std::size_t row = 0; row < kBatch; ++row)
    for (std::size_t column = 0; column < kOut; ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < kIn; ++i)
        sum += static_cast<double>(x[row * kIn + i]) * static_cast<double>(w[i * kOut + column]);
      y[row * kOut + column] = static_cast<float>(sum);
    }
  return y;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

std::vector<float> read_output(const fs::path& file) {
  const SafetensorsFile opened = SafetensorsFile::open(file).value();
  const Tensor y = Tensor::copy_of(opened.tensor("y").value()).value();
  return {y.as<float>().begin(), y.as<float>().end()};
}

/// A layer without bias, and ONNX Runtime to run it.
class References : public ::testing::Test {
 protected:
  static EngineRegistry::Places places() {
    EngineRegistry::Places places = EngineRegistry::default_places();
    places.plugins = fs::path(ASSAY_BINARY_DIR) / "lib/assay/engines";
    places.worker = fs::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
    if (std::getenv("ASSAY_DEPS_DIR") == nullptr) places.deps = ASSAY_TEST_DEPS_DIR;
    return places;
  }

  void SetUp() override {
    if (const auto found = registry_.locate("onnxruntime"); !found) GTEST_SKIP() << to_string(found.error());
    GraphBuilder graph("layer");
    const Value x = graph.input("x", DType::kFloat32, {"batch", kIn});
    const Value w = graph.initializer("w", DType::kFloat32, {kIn, kOut}, [](const ByteSink& sink) -> Status {
      const std::vector<float> values = weights();
      return sink(std::as_bytes(std::span(values)));
    });
    graph.output("y", graph.node("", "MatMul", {x, w}), {"batch", kOut});
    task_.engine = "openvino";
    task_.shape.batch = kBatch;
    task_.seed = 1;
    task_.timeout = 60s;
    task_.row.input_hash = "inputs";
    task_.reference.artefact.file = folder_.path() / "layer.onnx";
    ASSERT_TRUE(graph.write(task_.reference.artefact.file));
    const Result<ModelInfo> info = inspect_model(task_.reference.artefact.file);
    ASSERT_TRUE(info) << to_string(info.error());
    task_.reference.graph_hash = info->graph_hash;
    task_.reference.weights_hash = info->weights_hash;
    task_.inputs = {{"x", DType::kFloat32, {kBatch, kIn}, Fill::kNormal, 0, 1, {}}};
    const Tensor made = make_input(task_.inputs[0], 1, 0).value();
    input_.assign(made.as<float>().begin(), made.as<float>().end());
  }

  Reference make(DType precision) {
    task_.arithmetic = precision;
    return maker_.make(task_);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::create("assay-reference-test-").value();
  EngineRegistry registry_{places()};
  ArtefactStore artefacts_{{&registry_, folder_.path() / "models"}};
  ReferenceMaker maker_{registry_, artefacts_, folder_.path() / "cache", {}};
  Task task_;
  std::vector<float> input_;
};

TEST_F(References, WeightsAreRoundedForSixteenBits) {
  std::vector<float> rounded = weights();
  for (const DType precision : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
    rounded = weights();
    round_to_precision(DType::kFloat32, std::as_writable_bytes(std::span(rounded)), precision);
    const Reference reference = make(precision);
    ASSERT_EQ(reference.outputs.size(), 2U) << reference.why_none;
    EXPECT_EQ(reference.name, "onnxruntime-noopt");
    EXPECT_LE(largest_difference(read_output(reference.outputs[0]), product(input_, rounded)), 1e-4)
        << to_string(precision);
    const double effect = largest_difference(product(input_, rounded), product(input_, weights()));
    if (precision != DType::kFloat32) {
      EXPECT_GT(effect, 1e-3) << "rounded weights give other numbers";
    }
  }
}

TEST_F(References, DisputesAreAnsweredInFloat64) {
  const Reference reference = make(DType::kFloat32);
  const auto opinions = maker_.ask(task_, reference, 60s);
  ASSERT_TRUE(opinions) << to_string(opinions.error());
  ASSERT_EQ(opinions->size(), 1U) << "who computes exactly decides alone";
  const Opinion& exact = opinions->front();
  EXPECT_EQ(exact.name, "evaluator-float64");
  EXPECT_TRUE(exact.exact);
  ASSERT_EQ(exact.outputs.size(), 2U) << exact.why_none;
  EXPECT_LE(largest_difference(read_output(exact.outputs[0]), product(input_, weights())), 1e-6);
  ASSERT_TRUE(exact.honest);
  EXPECT_GE(exact.honest->find("y")->rms, reference.honest->find("y")->rms);
}

TEST_F(References, AnEngineThatLackedTimeMayAnswerADisputeLater) {
  const auto opinions = maker_.ask(task_, make(DType::kFloat32), 1ns);
  ASSERT_TRUE(opinions) << to_string(opinions.error());
  ASSERT_FALSE(opinions->empty());
  for (const Opinion& opinion : *opinions) {
    EXPECT_TRUE(opinion.outputs.empty()) << opinion.name;
    EXPECT_TRUE(opinion.may_answer_later) << opinion.name << ": " << opinion.why_none;
  }
}

TEST_F(References, ADisputeThatIsInterruptedHasNoAnswer) {
  const Reference reference = make(DType::kFloat32);
  ReferenceMaker interrupted(registry_, artefacts_, folder_.path() / "another cache", [] { return true; });
  const auto opinions = interrupted.ask(task_, reference, 60s);
  ASSERT_FALSE(opinions);
  EXPECT_EQ(opinions.error().code, ErrorCode::kCancelled);
}

TEST_F(References, HonestErrorIsThatOfResultsRoundedToTheTypeOrOfPerturbedOnes) {
  for (const DType precision : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    const Reference reference = make(precision);
    ASSERT_TRUE(reference.honest) << reference.why_none << reference.why_no_honest;
    const HonestOutput& y = reference.honest->outputs.at(0);
    EXPECT_EQ(reference.honest->method, precision == DType::kFloat32 ? "perturbed" : "rounded");
    // Rounding the inputs and the result, or a last place of each of 2 x 64 factors.
    const double unit = precision == DType::kFloat32 ? 0x1p-23 : precision == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
    EXPECT_GT(y.moves, 0.1 * unit) << to_string(precision);
    EXPECT_LT(y.moves, 2 * unit) << to_string(precision);
    EXPECT_GE(y.element, y.moves);
    EXPECT_GT(y.correlation, 0.999);
    EXPECT_TRUE(y.same_shape);
  }
}

TEST_F(References, HonestErrorIsMeasuredAtBatchOneAndServesAllBatches) {
  const Reference at_four = make(DType::kFloat16);
  ASSERT_TRUE(at_four.honest) << at_four.why_no_honest;
  task_.inputs[0].shape.front() = 2;
  task_.shape.batch = 2;
  task_.row.input_hash = "inputs of two";
  const Reference at_two = make(DType::kFloat16);
  ASSERT_TRUE(at_two.honest);
  EXPECT_NE(at_two.outputs, at_four.outputs);
  EXPECT_EQ(to_json(*at_two.honest), to_json(*at_four.honest));
}

TEST_F(References, AreKeptPerPrecision) {
  const Reference first = make(DType::kFloat32), lowered = make(DType::kBFloat16);
  ASSERT_FALSE(first.outputs.empty() || lowered.outputs.empty()) << first.why_none << lowered.why_none;
  EXPECT_NE(first.outputs, lowered.outputs);
  EXPECT_GT(lowered.spent.count(), 0);
  const Reference again = make(DType::kBFloat16);
  EXPECT_EQ(again.outputs, lowered.outputs);
  EXPECT_EQ(to_json(*again.honest), to_json(*lowered.honest));
  EXPECT_EQ(again.spent.count(), 0) << "made again";
  EXPECT_EQ(make(DType::kInt8).outputs, first.outputs) << "what has no unit in the last place counts as float32";
}

TEST_F(References, AFlippedByteIsFoundAndTheReferenceIsMadeAgain) {
  const Reference first = make(DType::kFloat32);
  ASSERT_FALSE(first.outputs.empty()) << first.why_none;
  const std::string original = read_file(first.outputs[0]).value();
  std::string flipped = original;
  flipped[flipped.size() - 2] = static_cast<char>(flipped[flipped.size() - 2] ^ 0x40);
  ASSERT_TRUE(write_file_atomically(first.outputs[0], flipped));
  const Reference again = make(DType::kFloat32);
  ASSERT_EQ(again.outputs, first.outputs);
  EXPECT_EQ(read_file(again.outputs[0]).value(), original);
  EXPECT_GT(again.spent.count(), 0);
  // The honest error is a file, too.
  for (const auto& entry : fs::directory_iterator(folder_.path() / "cache")) {
    if (entry.path().extension() != ".json") continue;
    std::string text = read_file(entry.path()).value();
    const std::size_t digit = text.find("\"rms\":") + 6;
    text[digit] = text[digit] == '9' ? '8' : '9';
    ASSERT_TRUE(write_file_atomically(entry.path(), text));
  }
  EXPECT_EQ(to_json(make(DType::kFloat32).honest.value()), to_json(*first.honest));
}

TEST_F(References, GivenOutputsHaveAnHonestErrorOfTheSameEnginesRuns) {
  const fs::path data = folder_.path() / "x.safetensors";
  Tensor x = Tensor::create(DType::kFloat32, {kBatch, kIn}).value();
  std::ranges::copy(input_, x.as<float>().begin());
  const NamedView named{"x", x.view()};
  ASSERT_TRUE(write_safetensors(data, std::span(&named, 1)));
  task_.inputs[0].fill = Fill::kFile;
  task_.inputs[0].file = data;
  task_.reference.given_outputs = folder_.path() / "given.safetensors";  // is not opened
  for (const DType precision : {DType::kFloat32, DType::kBFloat16}) {
    const Reference given = make(precision);
    EXPECT_EQ(given.name, "given");
    ASSERT_EQ(given.outputs, std::vector{task_.reference.given_outputs});
    ASSERT_TRUE(given.honest) << given.why_no_honest;
    EXPECT_EQ(given.honest->method, precision == DType::kFloat32 ? "perturbed" : "rounded");
    EXPECT_GT(given.honest->outputs.at(0).moves, precision == DType::kFloat32 ? 1e-9 : 1e-4);
    EXPECT_LT(given.honest->outputs.at(0).moves, precision == DType::kFloat32 ? 1e-5 : 0.05);
  }
}

TEST_F(References, AQuantisedGraphIsJudgedByWhatQuantisingCosts) {
  constexpr float kStep = 0.05F;
  task_.reference.quantised = true;
  GraphBuilder graph("quantised");
  const Value x = graph.input("x", DType::kFloat32, {"batch", kIn});
  const Value w = graph.initializer("w", DType::kFloat32, {kIn, kOut}, [](const ByteSink& sink) -> Status {
    const std::vector<float> values = weights();
    return sink(std::as_bytes(std::span(values)));
  });
  const Value scale = graph.initializer("scale", DType::kFloat32, {}, [](const ByteSink& sink) -> Status {
    const float step = kStep;
    return sink(std::as_bytes(std::span(&step, 1)));
  });
  const Value zero = graph.initializer("zero", DType::kInt8, {}, [](const ByteSink& sink) -> Status {
    const std::int8_t value = 0;
    return sink(std::as_bytes(std::span(&value, 1)));
  });
  const Value q = graph.node("", "QuantizeLinear", {x, scale, zero});
  const Value d = graph.node("", "DequantizeLinear", {q, scale, zero});
  graph.output("y", graph.node("", "MatMul", {d, w}), {"batch", kOut});
  task_.reference.artefact.file = folder_.path() / "quantised.onnx";
  ASSERT_TRUE(graph.write(task_.reference.artefact.file));
  const Result<ModelInfo> info = inspect_model(task_.reference.artefact.file);
  ASSERT_TRUE(info) << to_string(info.error());
  task_.reference.graph_hash = info->graph_hash;
  task_.reference.weights_hash = info->weights_hash;
  const Reference reference = make(DType::kFloat32);
  ASSERT_TRUE(reference.honest) << reference.why_none << reference.why_no_honest;
  EXPECT_EQ(reference.honest->method, "quantised");
  // One integer in eight changes by one step: 0.35 steps, of few outputs.
  EXPECT_GT(reference.honest->outputs.at(0).moves, 0.15 * kStep);
  EXPECT_LT(reference.honest->outputs.at(0).moves, kStep);
}

}  // namespace
}  // namespace assay
