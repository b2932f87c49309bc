// SPDX-License-Identifier: Apache-2.0

// What every engine must do, on each of its devices, through a real worker. A new engine is done when it passes:
// add its name at the end (docs/engines.md).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/files.hpp"
#include "engine/registry.hpp"
#include "measure/samples_file.hpp"
#include "model/graph_builder.hpp"
#include "tensor/random.hpp"
#include "tensor/safetensors.hpp"
#include "worker/probe.hpp"
#include "worker/worker.hpp"

namespace assay {
namespace {
using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr std::int64_t kIn = 256, kOut = 8;
constexpr auto kPatience = 240s;  ///< for any answer: a slow machine is no fault of an engine

MATCHER(IsOk, negation ? "is an error" : "is ok") {
  if (!arg) *result_listener << to_string(arg.error());
  return static_cast<bool>(arg);
}
MATCHER_P(Fails, code, "fails with code " + std::string(to_string(code))) {
  if (arg) return false;
  *result_listener << to_string(arg.error());
  return arg.error().code == code;
}

ByteSource normal_bytes(const std::string& name, std::size_t count) {
  return [=](const ByteSink& sink) -> Status {
    std::vector<float> values(count);
    fill_normal(CounterRandom(1, name), 0.0f, 1.0f, values);
    return sink(std::as_bytes(std::span(values)));
  };
}

/// y = relu(x w), x: [batch, 256]; most = index of the largest element of each row of y.
Status write_layer(const std::filesystem::path& path) {
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
Status write_lookup(const std::filesystem::path& path) {
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

/// A worker of one engine on one device, with the models above.
class Subject {
 public:
  Subject(const EngineRegistry& registry, const FoundEngine& engine, std::string device)
      : name_(engine.entry.name), device_(std::move(device)), no_files_(name_ == "null") {
    Worker::StartOptions options;
    options.executable = registry.places().worker;
    options.log = path("log");
    worker = Worker::start(engine.location, std::move(options)).value();
    EXPECT_THAT(write_layer(path("layer.onnx")), IsOk());
    EXPECT_THAT(write_lookup(path("lookup.onnx")), IsOk());
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] bool computes_the_model() const { return !no_files_; }

  [[nodiscard]] LoadRequest request(const std::string& model) const {
    LoadRequest request{path(model), device_, "float32", 1, 1, {}};
    if (!no_files_) return request;
    request.model.clear();
    const bool layer = model == "layer.onnx";
    request.options = {{"inputs", layer ? "x:float32[batch,256]" : "ids:int64[batch,sequence]"},
                       {"outputs", layer ? "y:float32[batch,8];most:int64[batch]" : "rows:float32[batch,sequence,4]"}};
    return request;
  }
  Result<LoadReply> load(const std::string& model) { return worker->load(request(model), kPatience); }
  Result<BindReply> bind_layer(std::int64_t batch, std::size_t sets = 2, int streams = 1) {
    return worker->bind({{{"x", DType::kFloat32, {batch, kIn}, Fill::kNormal, 0, 1, {}}}, 7, sets, streams}, kPatience);
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
  std::string name_, device_;
  bool no_files_;
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
};

class Conformance : public ::testing::TestWithParam<const char*> {
 protected:
  static EngineRegistry::Places places() {
    auto places = EngineRegistry::default_places();
    if (places.deps.empty()) places.deps = ASSAY_TEST_DEPS_DIR;
    return places;
  }
  void SetUp() override {
    found_ = probe_engine(registry_, GetParam());
    if (!found_.available) GTEST_SKIP() << found_.why_not;
  }
  /// Calls `test` with a fresh worker for each device. (One device may be listed for several hardware words.)
  template <class Test>
  void on_each_device(Test&& test) {
    std::set<std::string> done;
    for (const EngineDevice& device : found_.devices) {
      if (!done.insert(device.id).second) continue;
      SCOPED_TRACE(std::string(GetParam()) + " on " + device.id);
      Subject subject(registry_, found_, device.id);
      test(subject);
    }
  }
  EngineRegistry registry_{places()};
  FoundEngine found_;
};

TEST_P(Conformance, TellsItsVersionDevicesAndOptions) {
  EXPECT_THAT(found_.version, Not(IsEmpty()));
  std::set<std::string> ids, options;
  for (const EngineDevice& device : found_.devices) {
    EXPECT_TRUE(ids.insert(device.hardware + ":" + device.id).second)
        << device.id << " is listed twice as " << device.hardware;
    EXPECT_THAT(found_.entry.hardware, Contains(device.hardware));
    EXPECT_THAT(device.name, Not(IsEmpty()));
  }
  for (const EngineOptionInfo& option : found_.options) {
    EXPECT_TRUE(options.insert(option.name).second) << option.name << " is described twice";
    EXPECT_THAT(option.help, Not(IsEmpty())) << option.name;
    EXPECT_THAT(option.type, AnyOf("int", "bool", "float", "string", ::testing::HasSubstr("|"))) << option.name;
  }
}

TEST_P(Conformance, TellsTheSignatureWithDynamicExtents) {
  on_each_device([](Subject& subject) {
    const auto loaded = subject.load("layer.onnx");
    ASSERT_THAT(loaded, IsOk());
    ASSERT_EQ(loaded->inputs.size(), 1u);
    EXPECT_EQ(loaded->inputs[0].name, "x");
    EXPECT_EQ(loaded->inputs[0].dtype, DType::kFloat32);
    EXPECT_EQ(loaded->inputs[0].shape, (Shape{-1, kIn}));
    ASSERT_EQ(loaded->outputs.size(), 2u);
    EXPECT_EQ(loaded->outputs[0].name, "y");
    EXPECT_EQ(loaded->outputs[1].name, "most");
    EXPECT_EQ(loaded->outputs[1].dtype, DType::kInt64);
    EXPECT_GT(loaded->rss_after_load_bytes, 0u);
    EXPECT_GE(loaded->peak_load_bytes, loaded->rss_after_load_bytes);
  });
}

TEST_P(Conformance, ReadsBackPrecisionThreadsAndDevice) {
  on_each_device([](Subject& subject) {
    const auto loaded = subject.load("layer.onnx");
    ASSERT_THAT(loaded, IsOk());
    EXPECT_THAT(loaded->effective, Contains(Pair("precision", "float32")));
    EXPECT_THAT(loaded->effective, Contains(Pair("threads", "1")));
    EXPECT_THAT(loaded->effective, Contains(Pair("device", Not(IsEmpty()))));
  });
}

TEST_P(Conformance, ComputesInStrictFloat32) {
  on_each_device([](Subject& subject) {
    if (!subject.computes_the_model()) return;
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    ASSERT_THAT(subject.bind_layer(4), IsOk());
    const auto y = subject.run().values;
    const auto expected = Subject::expected(4, 0);
    ASSERT_EQ(y.size(), expected.size());
    // Sums of 256 products of N(0,1) have deviation 16; bfloat16 is off by some 0.05 here, TF32 by 0.01.
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 2e-4) << i;
  });
}

TEST_P(Conformance, RunsOnTheInputSetThatItIsTold) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    ASSERT_THAT(subject.bind_layer(2, 3), IsOk());
    const auto first = subject.run(0).values;
    const auto second = subject.run(1).values;
    EXPECT_NE(first, second);
    EXPECT_EQ(subject.run(0).values, first) << "an output belongs to the set of the latest run";
    EXPECT_THAT(subject.infer(3), Fails(ErrorCode::kInvalidArgument));
  });
}

TEST_P(Conformance, BindsOneShapeAfterAnother) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    for (const std::int64_t batch : {1, 5, 2, 1}) {
      ASSERT_THAT(subject.bind_layer(batch), IsOk());
      const Outputs y = subject.run();
      EXPECT_EQ(y.shape, (Shape{batch, kOut}));
      EXPECT_EQ(y.dtype, DType::kFloat32);
      const Outputs most = subject.output("most");
      EXPECT_EQ(most.shape, (Shape{batch}));
      EXPECT_EQ(most.dtype, DType::kInt64);
      if (!subject.computes_the_model()) continue;
      const auto expected = Subject::expected(batch, 0);
      for (std::size_t i = 0; i < y.values.size(); ++i) EXPECT_NEAR(y.values[i], expected[i], 2e-4);
    }
  });
}

TEST_P(Conformance, TakesIntegersAndTwoDynamicAxes) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("lookup.onnx"), IsOk());
    for (const Shape& shape : {Shape{1, 3}, Shape{4, 7}}) {
      const auto bound =
          subject.worker->bind({{{"ids", DType::kInt64, shape, Fill::kInteger, 0, 9, {}}}, 7, 1, 1}, kPatience);
      ASSERT_THAT(bound, IsOk());
      EXPECT_EQ(subject.run(0, "rows").shape, (Shape{shape[0], shape[1], 4}));
    }
  });
}

TEST_P(Conformance, RefusesInputsThatDoNotFit) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    const auto bind = [&](const std::string& name, DType dtype, const Shape& shape) {
      return subject.worker->bind({{{name, dtype, shape, Fill::kConstant, 0, 1, {}}}, 7, 1, 1}, kPatience);
    };
    EXPECT_THAT(bind("x", DType::kInt64, {2, kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("x", DType::kFloat32, {2, kIn + 1}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("x", DType::kFloat32, {kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("z", DType::kFloat32, {2, kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(subject.bind_layer(2), IsOk()) << "and is fine afterwards";
    EXPECT_THAT(subject.infer(), IsOk());
  });
}

TEST_P(Conformance, RefusesFilesThatAreMissingTornOrForeign) {
  on_each_device([](Subject& subject) {
    LoadRequest missing = subject.request("layer.onnx");
    missing.model = "/nowhere/model.onnx";
    EXPECT_THAT(subject.worker->load(missing, kPatience), Fails(ErrorCode::kNotFound));
    if (!subject.computes_the_model()) return;
    const std::string whole = read_file(subject.path("layer.onnx")).value();
    ASSERT_THAT(write_file_atomically(subject.path("torn.onnx"), whole.substr(0, whole.size() / 2)), IsOk());
    ASSERT_THAT(write_file_atomically(subject.path("foreign.onnx"), "<html>Not found</html>"), IsOk());
    for (const char* name : {"torn.onnx", "foreign.onnx"}) {
      const auto refused = subject.load(name);
      ASSERT_FALSE(refused) << name;
      EXPECT_THAT(refused.error().code, AnyOf(ErrorCode::kInvalidArgument, ErrorCode::kUnsupported))
          << to_string(refused.error());
    }
    EXPECT_THAT(subject.load("layer.onnx"), IsOk()) << "the worker is still good";
  });
}

TEST_P(Conformance, RefusesAnOperatorThatItLacksByName) {
  on_each_device([](Subject& subject) {
    if (!subject.computes_the_model()) return;
    GraphBuilder graph("strange");
    const Value x = graph.input("x", DType::kFloat32, {std::int64_t{2}});
    graph.output("y", graph.node("", "Frobnicate", {x}), {std::int64_t{2}});
    ASSERT_THAT(graph.write(subject.path("strange.onnx")), IsOk());
    const auto refused = subject.load("strange.onnx");
    EXPECT_THAT(refused, Fails(ErrorCode::kUnsupported));
    EXPECT_THAT(refused.error().message, ::testing::HasSubstr("Frobnicate"));
  });
}

TEST_P(Conformance, RefusesUnknownDevicesAndOptions) {
  on_each_device([](Subject& subject) {
    LoadRequest request = subject.request("layer.onnx");
    request.device_id = "no_such_device";
    EXPECT_THAT(subject.worker->load(request, kPatience), Fails(ErrorCode::kNotFound));
    request = subject.request("layer.onnx");
    request.options.emplace_back("no_such_option", "1");
    EXPECT_THAT(subject.worker->load(request, kPatience), Fails(ErrorCode::kInvalidArgument));
    EXPECT_THAT(subject.load("layer.onnx"), IsOk());
  });
}

TEST_P(Conformance, MeasuresAndStillAnswersTheSame) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    ASSERT_THAT(subject.bind_layer(2, 3), IsOk());
    const auto before = subject.run(1).values;
    MeasurePlan plan;
    plan.warmup_iterations = 5;
    plan.iterations = 40;
    const auto measured = subject.worker->measure({plan, subject.path("samples")}, kPatience);
    ASSERT_THAT(measured, IsOk());
    EXPECT_EQ(measured->measurement.stop_reason, StopReason::kIterations);
    EXPECT_FALSE(measured->measurement.failure);
    EXPECT_GT(measured->peak_rss_bytes, 0u);
    const auto file = read_samples(subject.path("samples")).value();
    EXPECT_EQ(file.samples.size(), 40u);
    EXPECT_THAT(file.samples.duration_ns, Each(::testing::Ge(0)));
    EXPECT_EQ(subject.run(1).values, before);
  });
}

TEST_P(Conformance, RunsSeveralStreamsAtOnceOrSaysThatItCannot) {
  on_each_device([](Subject& subject) {
    LoadRequest request = subject.request("layer.onnx");
    request.streams = 2;
    if (!subject.computes_the_model())
      request.options.emplace_back("cost_ns", "100000");  // else one fills the file alone
    ASSERT_THAT(subject.worker->load(request, kPatience), IsOk());
    const auto bound = subject.bind_layer(1, 2, 2);
    if (!bound) {
      EXPECT_THAT(bound, Fails(ErrorCode::kUnsupported));
      return;
    }
    MeasurePlan plan;
    plan.warmup_iterations = 2;
    plan.min_time_ns = plan.max_time_ns = 200'000'000;  // by time and not by count, which one stream could use up
    plan.max_samples = 1'000'000;
    plan.streams = 2;
    std::set<std::uint32_t> seen;
    // On a busy machine one of two threads may get no processor in so short a window, but not in fifty.
    for (int window = 0; window < 50 && seen.size() < 2; ++window) {
      ASSERT_THAT(subject.worker->measure({plan, subject.path("samples")}, kPatience), IsOk());
      const auto file = read_samples(subject.path("samples"));
      ASSERT_THAT(file, IsOk());
      seen.insert(file->samples.stream.begin(), file->samples.stream.end());
    }
    EXPECT_THAT(seen, ElementsAre(0u, 1u));
    EXPECT_THAT(subject.infer(), IsOk());
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::Values("null", "onnxruntime", "openvino"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace assay
