// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The base of the conformance tests: every engine of the registry, a worker for each of its devices, and small models.
/// An engine is finished when it passes (docs/engines.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "bench/engine/registry.hpp"
#include "bench/worker/probe.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/files.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/safetensors.hpp"
#include "models/builder/graph_builder.hpp"

#include "model_files.hpp"

namespace assay::conformance {
using namespace std::chrono_literals;

/// The names of all engines that are built, assay's own and those of ASSAY_ENGINE_PATH.
inline std::vector<std::string> engine_names() {
  const EngineRegistry registry(EngineRegistry::default_places());
  std::vector<std::string> names;
  for (const EngineEntry& engine : registry.entries())
    if (engine.built) names.push_back(engine.name);
  return names;
}

inline constexpr std::int64_t kIn = 256, kOut = 8;
inline constexpr auto kPatience = 240s;  ///< time limit of any response: a slow machine is not a fault of the engine

MATCHER(IsOk, negation ? "is an error" : "is ok") {
  if (!arg) *result_listener << to_string(arg.error());
  return static_cast<bool>(arg);
}
MATCHER_P(Fails, code, "fails with code " + std::string(to_string(code))) {
  if (arg) return false;
  *result_listener << to_string(arg.error());
  return arg.error().code == code;
}

inline ByteSource normal_bytes(const std::string& name, std::size_t count) {
  return [=](const ByteSink& sink) -> Status {
    std::vector<float> values(count);
    fill_normal(CounterRandom(1, name), 0.0f, 1.0f, values);
    return sink(std::as_bytes(std::span(values)));
  };
}

/// y = relu(x w), x: [batch, 256]; most = index of the largest element of each row of y.
inline Status write_layer(const std::filesystem::path& path) {
  GraphBuilder graph("layer");
  const Value x = graph.input("x", DType::kFloat32, {"batch", kIn});
  const Value w = graph.initializer("w", DType::kFloat32, {kIn, kOut}, normal_bytes("w", kIn * kOut));
  const Value y = graph.node("", "Relu", {graph.node("", "MatMul", {x, w})});
  const Value most =
      graph.node("", "ArgMax", {y}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}}, DType::kInt64);
  graph.output("y", y, {"batch", kOut});
  graph.output("most", most, {"batch"});
  return graph.write(path);
}

/// rows = table[ids], ids: int64 [batch, sequence].
inline Status write_lookup(const std::filesystem::path& path) {
  GraphBuilder graph("lookup");
  const Value ids = graph.input("ids", DType::kInt64, {"batch", "sequence"});
  const Value table = graph.initializer("table", DType::kFloat32, {10, 4}, normal_bytes("table", 40));
  graph.output("rows", graph.node("", "Gather", {table, ids}), {"batch", "sequence", std::int64_t{4}});
  return graph.write(path);
}

struct Outputs {
  std::vector<float> values;
  Shape shape;
  DType dtype;
};

/// The options that an engine gets instead of a model if it does not compute models.
struct Signature {
  std::string inputs, outputs;
};

/// A worker of one engine on one device, with the models above. An engine that gets lowered models gets one for each
/// set of shapes that is bound.
class Subject {
 public:
  Subject(const EngineRegistry& registry, const FoundEngine& engine, std::string device)
      : entry_(engine.entry), device_(std::move(device)) {
    Worker::StartOptions options;
    options.executable = registry.places().worker;
    options.log = path("log");
    worker = Worker::start(engine.location, std::move(options)).value();
    EXPECT_THAT(write_layer(path("layer.onnx")), IsOk());
    EXPECT_THAT(write_lookup(path("lookup.onnx")), IsOk());
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] bool computes_the_model() const { return entry_.needs_model; }
  /// What its float32 arithmetic really is: an exact engine computes in float64.
  [[nodiscard]] std::string float32_as() const { return entry_.exact ? "float64" : "float32"; }
  [[nodiscard]] bool has_fixed_extents() const { return lowers(entry_); }

  /// Adds a model to this subject's folder; `signature` is its signature as options (docs/engines.md, "needs_model"),
  /// `shapes` are those that it is loaded for if its extents must be fixed.
  void add(const std::string& name, const GraphBuilder& graph, Signature signature, Shapes shapes) {
    EXPECT_THAT(graph.write(path(name)), IsOk());
    models_[name] = {std::move(signature), std::move(shapes)};
  }

  /// The model must be one that can be lowered.
  [[nodiscard]] LoadRequest request(const std::string& model) const {
    LoadRequest request{{}, device_, "float32", 1, 1, {}};
    const Model& known = models_.at(model);
    if (computes_the_model())
      request.model = file_for(entry_, path(model), known.shapes).value();
    else
      request.options = {{"inputs", known.signature.inputs}, {"outputs", known.signature.outputs}};
    return request;
  }
  /// `options`: of an engine that computes no model.
  Result<LoadReply> load(const std::string& model, const EngineOptions& options = {}) {
    if (computes_the_model()) {
      ASSAY_TRY([[maybe_unused]] const auto file, file_for(entry_, path(model), models_.at(model).shapes));
    }
    LoadRequest known = request(model);
    if (!computes_the_model()) known.options.insert(known.options.end(), options.begin(), options.end());
    return load(model, std::move(known));
  }
  /// `request` is one for `model`, changed.
  Result<LoadReply> load(const std::string& model, LoadRequest request) {
    loaded_ = model;
    shapes_ = models_.at(model).shapes;
    request_ = std::move(request);
    return worker->load(request_, kPatience);
  }
  Result<BindReply> bind(std::vector<InputRecipe> inputs, std::size_t sets = 1, int streams = 1) {
    Shapes shapes;
    for (const InputRecipe& input : inputs) shapes[input.name] = input.shape;
    if (has_fixed_extents() && shapes != shapes_) {
      ASSAY_TRY(request_.model, file_for(entry_, path(loaded_), shapes));
      shapes_ = std::move(shapes);
      ASSAY_TRY([[maybe_unused]] const LoadReply again, worker->load(request_, kPatience));
    }
    return worker->bind({std::move(inputs), 7, sets, streams}, kPatience);
  }
  Result<BindReply> bind_layer(std::int64_t batch, std::size_t sets = 2, int streams = 1) {
    return bind({{"x", DType::kFloat32, {batch, kIn}, Fill::kNormal, 0, 1, {}}}, sets, streams);
  }
  Result<InferReply> infer(std::size_t set = 0) { return worker->infer({set, path("out")}, kPatience); }
  Outputs output(const std::string& name) {
    const auto file = SafetensorsFile::open(path("out")).value();
    const TensorView view = file.tensor(name).value();
    Outputs out{{}, view.shape, view.dtype};
    for (std::int64_t i = 0; i < element_count(view.shape).value(); ++i)
      out.values.push_back(static_cast<float>(element_as_double(view, i)));
    return out;
  }
  Outputs run(std::size_t set = 0, const std::string& name = "y") {
    EXPECT_THAT(infer(set), IsOk());
    return output(name);
  }
  /// The layer's y for input set `set`, in double.
  static std::vector<double> expected(std::int64_t batch, std::size_t set) {
    const auto x = make_input({"x", DType::kFloat32, {batch, kIn}, Fill::kNormal, 0, 1, {}}, 7, set).value();
    std::vector<float> w(kIn * kOut);
    fill_normal(CounterRandom(1, "w"), 0.0f, 1.0f, w);
    std::vector<double> y(static_cast<std::size_t>(batch * kOut));
    for (std::size_t row = 0; row < static_cast<std::size_t>(batch); ++row) {
      for (std::size_t column = 0; column < kOut; ++column) {
        double sum = 0;
        for (std::size_t k = 0; k < kIn; ++k) sum += double{x.as<float>()[row * kIn + k]} * w[k * kOut + column];
        y[row * kOut + column] = std::max(sum, 0.0);
      }
    }
    return y;
  }

  std::unique_ptr<Worker> worker;

 private:
  struct Model {
    Signature signature;
    Shapes shapes;
  };
  EngineEntry entry_;
  std::string device_;
  std::map<std::string, Model> models_{
      {"layer.onnx", {{"x:float32[batch,256]", "y:float32[batch,8];most:int64[batch]"}, {{"x", {2, kIn}}}}},
      {"lookup.onnx", {{"ids:int64[batch,sequence]", "rows:float32[batch,sequence,4]"}, {{"ids", {2, 3}}}}}};
  std::string loaded_;   ///< the model of the latest load()
  Shapes shapes_;        ///< the shapes of the latest load()
  LoadRequest request_;  ///< the request of the latest load()
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
};

class EngineTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    found_ = probe_engine(registry_, GetParam());
    if (!found_.available) GTEST_SKIP() << found_.why_not;
  }
  /// Calls `test` with a fresh worker for each device. (One device may be listed for several hardware words.)
  template <class Test>
  void on_each_device(Test&& test) {
    if (!takes_the_models()) GTEST_SKIP() << found_.entry.name << " reads no ONNX, and nothing lowers to its formats";
    std::set<std::string> done;
    for (const EngineDevice& device : found_.devices) {
      if (!done.insert(device.id).second) continue;
      SCOPED_TRACE(GetParam() + " on " + device.id);
      Subject subject(registry_, found_, device.id);
      test(subject);
    }
  }
  [[nodiscard]] bool takes_the_models() const {
    return !found_.entry.needs_model || found_.entry.reads("onnx") || lowers(found_.entry);
  }
  EngineRegistry registry_{EngineRegistry::default_places()};
  FoundEngine found_;
};

}  // namespace assay::conformance
