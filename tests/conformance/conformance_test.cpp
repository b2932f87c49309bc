// SPDX-License-Identifier: Apache-2.0

// Requirements for every engine, on each of its devices, through a real worker.

#include "conformance.hpp"

#include <algorithm>

#include "bench/engine/loader.hpp"
#include "core/samples/samples_file.hpp"

namespace assay::conformance {
namespace {
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

class Conformance : public EngineTest {};

TEST_P(Conformance, ReportsItsVersionDevicesAndOptions) {
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
    EXPECT_THAT(option.type, AnyOf("int", "bool", "float", "string", HasSubstr("|"))) << option.name;
  }
}

TEST_P(Conformance, AgreesWithItsEngineFile) {
  const EngineEntry& entry = found_.entry;
  const auto plugin = EnginePlugin::open(found_.location.plugin);
  ASSERT_THAT(plugin, IsOk());
  EXPECT_EQ(plugin->name(), entry.name);
  for (const EngineDevice& device : found_.devices)
    if (device.hardware == "cpu") {
      EXPECT_EQ(device.id, entry.cpu_device) << "\"cpu_device\" names the device that computes on the processor";
    }
  for (const auto& [name, value] : entry.reference.options) {
    const auto option = std::ranges::find(found_.options, name, &EngineOptionInfo::name);
    ASSERT_NE(option, found_.options.end()) << "the engine has no option '" << name << "' of \"reference\"";
    EXPECT_TRUE(allows(*option, value)) << name << " = " << value;
  }
}

TEST_P(Conformance, ReportsTheSignatureWithDynamicExtents) {
  on_each_device([](Subject& subject) {
    const auto loaded = subject.load("layer.onnx");
    ASSERT_THAT(loaded, IsOk());
    ASSERT_EQ(loaded->inputs.size(), 1u);
    EXPECT_EQ(loaded->inputs[0].name, "x");
    EXPECT_EQ(loaded->inputs[0].dtype, DType::kFloat32);
    EXPECT_EQ(loaded->inputs[0].shape, (Shape{subject.has_fixed_extents() ? 2 : -1, kIn}));
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
    EXPECT_THAT(loaded->effective, Contains(Pair("precision", subject.float32_as())));
    EXPECT_THAT(loaded->effective, Contains(Pair("threads", "1")));
    EXPECT_THAT(loaded->effective, Contains(Pair("device", Not(IsEmpty()))));
    for (const std::int64_t batch : {1, 3}) {
      const auto bound = subject.bind_layer(batch);
      ASSERT_THAT(bound, IsOk());
      EXPECT_THAT(bound->effective, Contains(Pair("precision", subject.float32_as()))) << "also for the bound shape";
      EXPECT_THAT(bound->effective, Contains(Pair("threads", "1")));
    }
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
    // Sums of 256 products of N(0,1) have deviation 16; the error of bfloat16 is about 0.05 here, that of TF32 0.01.
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 2e-4) << i;
  });
}

TEST_P(Conformance, RunsOnTheRequestedInputSet) {
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

TEST_P(Conformance, AcceptsIntegersAndTwoDynamicAxes) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("lookup.onnx"), IsOk());
    for (const Shape& shape : {Shape{1, 3}, Shape{4, 7}}) {
      ASSERT_THAT(subject.bind({{"ids", DType::kInt64, shape, Fill::kInteger, 0, 9, {}}}), IsOk());
      EXPECT_EQ(subject.run(0, "rows").shape, (Shape{shape[0], shape[1], 4}));
    }
  });
}

TEST_P(Conformance, RefusesInputsThatDoNotMatch) {
  on_each_device([](Subject& subject) {
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    const auto bind = [&](const std::string& name, DType dtype, const Shape& shape) {
      return subject.worker->bind({{{name, dtype, shape, Fill::kConstant, 0, 1, {}}}, 7, 1, 1}, kPatience);
    };
    EXPECT_THAT(bind("x", DType::kInt64, {2, kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("x", DType::kFloat32, {2, kIn + 1}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("x", DType::kFloat32, {kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(bind("z", DType::kFloat32, {2, kIn}), Fails(ErrorCode::kMismatch));
    EXPECT_THAT(subject.bind_layer(2), IsOk()) << "and works afterwards";
    EXPECT_THAT(subject.infer(), IsOk());
  });
}

TEST_P(Conformance, RefusesFilesThatAreMissingTruncatedOrForeign) {
  on_each_device([](Subject& subject) {
    LoadRequest missing = subject.request("layer.onnx");
    missing.model = "/nowhere/model.onnx";
    EXPECT_THAT(subject.worker->load(missing, kPatience), Fails(ErrorCode::kNotFound));
    if (!subject.computes_the_model()) return;
    const LoadRequest known = subject.request("layer.onnx");
    const std::string whole = read_file(known.model).value();
    const auto beside = [&](const char* name, const std::string& content) {
      LoadRequest other = known;
      other.model = subject.path(name).replace_extension(known.model.extension());
      EXPECT_THAT(write_file_atomically(other.model, content), IsOk());
      if (subject.has_fixed_extents()) {  // the signature of a lowered model is a file of its own
        const std::string signature = read_file(known.model.string() + ".json").value();
        EXPECT_THAT(write_file_atomically(other.model.string() + ".json", signature), IsOk());
      }
      return other;
    };
    for (const LoadRequest& other :
         {beside("torn", whole.substr(0, whole.size() / 2)), beside("foreign", "<html>Not found</html>")}) {
      const auto refused = subject.worker->load(other, kPatience);
      ASSERT_FALSE(refused) << other.model;
      EXPECT_THAT(refused.error().code, AnyOf(ErrorCode::kInvalidArgument, ErrorCode::kUnsupported))
          << to_string(refused.error());
    }
    EXPECT_THAT(subject.load("layer.onnx"), IsOk()) << "the worker still works";
  });
}

TEST_P(Conformance, NamesAnOperatorThatItDoesNotSupport) {
  on_each_device([](Subject& subject) {
    if (!subject.computes_the_model()) return;
    GraphBuilder graph("strange");
    const Value x = graph.input("x", DType::kFloat32, {std::int64_t{2}});
    graph.output("y", graph.node("", "Frobnicate", {x}), {std::int64_t{2}});
    subject.add("strange.onnx", graph, {}, {{"x", {2}}});
    const auto refused = subject.load("strange.onnx");
    EXPECT_THAT(refused, Fails(ErrorCode::kUnsupported));
    EXPECT_THAT(refused.error().message, HasSubstr("Frobnicate"));
  });
}

TEST_P(Conformance, AnErrorMessageIsAboutThisFailureOnly) {
  on_each_device([](Subject& subject) {
    GraphBuilder graph("strange");
    const Value x = graph.input("x", DType::kFloat32, {std::int64_t{2}});
    graph.output("y", graph.node("", "Frobnicate", {x}), {std::int64_t{2}});
    subject.add("strange.onnx", graph, {"x:float32[2]", "y:float32[2]"}, {{"x", {2}}});
    const auto only_own = [&](const auto& refused) {
      ASSERT_FALSE(refused);
      EXPECT_THAT(to_string(refused.error()), Not(HasSubstr("Frobnicate")));
    };
    const auto names_operator = [&] {
      const auto refused = subject.load("strange.onnx", EngineOptions{{"unsupported", "Frobnicate"}});
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("Frobnicate"));
    };
    names_operator();
    LoadRequest other = subject.request("layer.onnx");
    other.model = "/nowhere/model.onnx";
    only_own(subject.worker->load(other, kPatience));
    names_operator();
    other = subject.request("layer.onnx");
    other.device_id = "no_such_device";
    only_own(subject.worker->load(other, kPatience));
    names_operator();
    other = subject.request("layer.onnx");
    other.options.emplace_back("no_such_option", "1");
    only_own(subject.worker->load(other, kPatience));
    names_operator();
    only_own(subject.bind_layer(1));
    ASSERT_THAT(subject.load("layer.onnx"), IsOk());
    only_own(subject.infer());
    ASSERT_THAT(subject.bind_layer(1), IsOk());
    only_own(subject.infer(7));
    EXPECT_THAT(subject.infer(), IsOk());
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

TEST_P(Conformance, GivesTheSameOutputsAfterMeasuring) {
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
      request.options.emplace_back("cost_ns", "100000");  // otherwise one stream fills the file alone
    ASSERT_THAT(subject.load("layer.onnx", request), IsOk());
    const auto bound = subject.bind_layer(1, 2, 2);
    if (!bound) {
      EXPECT_THAT(bound, Fails(ErrorCode::kUnsupported));
      return;
    }
    MeasurePlan plan;
    plan.warmup_iterations = 2;
    plan.min_time_ns = plan.max_time_ns = 200'000'000;  // a time, because one stream could use up a count
    plan.max_samples = 1'000'000;
    plan.streams = 2;
    std::set<std::uint32_t> seen;
    // On a busy machine one of two threads may get no processor in such a short window, but not in fifty windows.
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

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::ValuesIn(engine_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace assay::conformance
