// SPDX-License-Identifier: Apache-2.0

// Outputs that become inputs of the next run, such as a KV cache, and several contexts. A caller in the worker's
// process can do this, so these tests open the plug-ins themselves.

#include <deque>
#include <thread>

#include "bench/engine/loader.hpp"
#include "conformance.hpp"

namespace assay::conformance {
namespace {
using ::testing::ElementsAre;

constexpr std::int64_t kHeads = 2, kWidth = 4;

/// present = past and x, concatenated on axis 2; last = 2 x.
GraphBuilder cache_model() {
  const std::int64_t one = 1;
  GraphBuilder graph("cache");
  const Value past = graph.input("past", DType::kFloat32, {one, kHeads, "p", kWidth});
  const Value x = graph.input("x", DType::kFloat32, {one, kHeads, "n", kWidth});
  graph.output("present", graph.node("", "Concat", {past, x}, {{"axis", std::int64_t{2}}}), {one, kHeads, "t", kWidth});
  graph.output("last", graph.node("", "Add", {x, x}), {one, kHeads, "n", kWidth});
  return graph;
}

/// present = x and the first six of past: each run shifts the cache by two, so that the test detects an engine that
/// writes the cache while it reads it.
GraphBuilder shift_model() {
  GraphBuilder graph("shift");
  const Value past = graph.input("past", DType::kFloat32, {std::int64_t{8}});
  const Value x = graph.input("x", DType::kFloat32, {std::int64_t{2}});
  const Value kept = graph.node("", "Gather", {past, graph.integers({0, 1, 2, 3, 4, 5})});
  graph.output("present", graph.node("", "Concat", {x, kept}, {{"axis", std::int64_t{0}}}), {std::int64_t{8}});
  return graph;
}

/// present = past + x, element by element: it may be computed in the memory of past. last = 2 x.
GraphBuilder sum_model() {
  GraphBuilder graph("sum");
  const Value past = graph.input("past", DType::kFloat32, {"rows", std::int64_t{4}});
  const Value x = graph.input("x", DType::kFloat32, {std::int64_t{1}, std::int64_t{4}});
  graph.output("present", graph.node("", "Add", {past, x}), {"rows", std::int64_t{4}});
  graph.output("last", graph.node("", "Add", {x, x}), {std::int64_t{1}, std::int64_t{4}});
  return graph;
}

Tensor floats(Shape shape, float first = 0) {
  Tensor tensor = Tensor::create(DType::kFloat32, std::move(shape)).value();
  for (float& value : tensor.as<float>()) value = first++;
  return tensor;
}

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> values(view.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

/// The result of Concat on axis 2: the positions of each head in order.
std::vector<float> joined(const std::vector<const Tensor*>& parts) {
  std::vector<float> all;
  for (std::int64_t head = 0; head < kHeads; ++head) {
    for (const Tensor* part : parts) {
      const auto size = static_cast<std::size_t>(part->shape()[2] * kWidth);
      const auto from = part->as<float>().subspan(static_cast<std::size_t>(head) * size, size);
      all.insert(all.end(), from.begin(), from.end());
    }
  }
  return all;
}

void generate_often(LoadedContext& context, bool computes) {
  const Tensor nothing = floats({1, kHeads, 0, kWidth}), prompt = floats({1, kHeads, 3, kWidth}, 100);
  const Tensor token = floats({1, kHeads, 1, kWidth}, 500);
  ASSERT_THAT(context.set_input(0, 0, nothing.view()), IsOk());
  ASSERT_THAT(context.alias_output_to_input(0, 0), IsOk());
  for (int generation = 0; generation < 40; ++generation) {
    std::vector<const Tensor*> parts{&prompt};
    ASSERT_THAT(context.set_input(0, 1, prompt.view()), IsOk());
    ASSERT_THAT(context.run(0), IsOk());
    ASSERT_THAT(context.set_input(0, 1, token.view()), IsOk());
    for (int i = 0; i < 15; ++i) {
      ASSERT_THAT(context.run(0), IsOk());
      parts.push_back(&token);
    }
    const auto present = context.output(0);
    ASSERT_THAT(present, IsOk());
    if (computes) {
      ASSERT_EQ(values_of(*present), joined(parts)) << "generation " << generation;
    }
    ASSERT_THAT(context.reset_state(), IsOk());
  }
}

/// A model with the inputs `past` and `x` on one device, as an engine gets it: one program for all shapes, or a lowered
/// program for each.
class Programs {
 public:
  Programs(const LoadedEngine& engine, const EngineEntry& entry, LoadProgramArgs args, std::filesystem::path model)
      : engine_(engine), entry_(entry), args_(std::move(args)), model_(std::move(model)) {}

  [[nodiscard]] bool computes() const { return entry_.needs_model; }
  [[nodiscard]] bool has_fixed_extents() const { return lowers(entry_); }

  Result<LoadedContext> create(const Shape& past, const Shape& x) {
    ASSAY_TRY(const LoadedProgram* program, load(past, x));
    return context(*program, past, x);
  }
  /// With extents that may change from run to run.
  Result<LoadedContext> create_open() {
    ASSAY_TRY(const LoadedProgram* program, load({1, kHeads, 2, kWidth}, {1, kHeads, 1, kWidth}));
    return context(*program, {1, kHeads, -1, kWidth}, {1, kHeads, -1, kWidth});
  }

 private:
  Result<const LoadedProgram*> load(const Shape& past, const Shape& x) {
    if (!has_fixed_extents() && !programs_.empty()) return &programs_.back();
    if (computes()) {
      ASSAY_TRY(args_.model, file_for(entry_, model_, {{"past", past}, {"x", x}}));
    }
    ASSAY_TRY(LoadedProgram program, engine_.load(args_));
    programs_.push_back(std::move(program));
    return &programs_.back();
  }
  static Result<LoadedContext> context(const LoadedProgram& program, const Shape& past, const Shape& x) {
    const std::vector<TensorView> shapes{{DType::kFloat32, past, {}}, {DType::kFloat32, x, {}}};
    ASSAY_CHECK_OK(program.prepare_context(shapes));
    return program.create_context(shapes);
  }

  const LoadedEngine& engine_;
  const EngineEntry& entry_;
  LoadProgramArgs args_;
  std::filesystem::path model_;
  std::deque<LoadedProgram> programs_;  ///< contexts refer to them
};

class State : public EngineTest {
 protected:
  /// Calls `test(programs)` with a model for each device.
  template <class Test>
  void on_each_device(const GraphBuilder& graph, const Signature& signature, Test&& test) {
    if (!takes_the_models()) GTEST_SKIP() << found_.entry.name << " reads no ONNX, and nothing lowers to its formats";
    const auto folder = TemporaryDirectory::create().value();
    ASSERT_THAT(graph.write(folder.path() / "model.onnx"), IsOk());
    const auto plugin = EnginePlugin::open(found_.location.plugin);
    ASSERT_THAT(plugin, IsOk());
    const auto engine = LoadedEngine::create(*plugin, found_.location.home);
    ASSERT_THAT(engine, IsOk());
    std::set<std::string> done;
    for (const EngineDevice& device : found_.devices) {
      if (!done.insert(device.id).second) continue;
      SCOPED_TRACE(GetParam() + " on " + device.id);
      LoadProgramArgs args{.device_id = device.id, .precision = "float32", .threads = 1, .streams = streams_};
      if (!found_.entry.needs_model) args.options = {{"inputs", signature.inputs}, {"outputs", signature.outputs}};
      Programs programs(*engine, found_.entry, std::move(args), folder.path() / "model.onnx");
      test(programs);
    }
  }
  /// The same with the cache's model.
  template <class Test>
  void with_cache_model(Test&& test) {
    on_each_device(cache_model(),
                   {"past:float32[1,2,p,4];x:float32[1,2,n,4]", "present:float32[1,2,p+n,4];last:float32[1,2,n,4]"},
                   std::forward<Test>(test));
  }
  /// With a cache that grows. A lowered model has none: its extents are fixed, and open ones are refused.
  template <class Test>
  void with_growing_cache(Test&& test) {
    with_cache_model([&](Programs& programs) {
      if (programs.has_fixed_extents())
        EXPECT_THAT(programs.create_open(), Fails(ErrorCode::kInvalidArgument));
      else
        test(programs);
    });
  }
  int streams_ = 1;
};

TEST_P(State, GrowsACacheFromEmptyAndStartsAgain) {
  with_growing_cache([](Programs& programs) {
    auto context = programs.create_open();
    ASSERT_THAT(context, IsOk());
    const Tensor nothing = floats({1, kHeads, 0, kWidth}), prompt = floats({1, kHeads, 3, kWidth}, 100);
    const Tensor other = floats({1, kHeads, 1, kWidth}, 500);
    ASSERT_THAT(context->set_input(0, 0, nothing.view()), IsOk());
    ASSERT_THAT(context->alias_output_to_input(0, 0), IsOk());
    for (int generation = 0; generation < 3; ++generation) {
      ASSERT_THAT(context->set_input(0, 1, prompt.view()), IsOk());
      std::vector<const Tensor*> parts{&prompt};
      constexpr int kTokens = 20;
      std::vector<Tensor> tokens;
      tokens.reserve(kTokens);
      for (int i = 0; i < kTokens; ++i) tokens.push_back(floats({1, kHeads, 1, kWidth}, static_cast<float>(1000 * i)));
      for (const Tensor& token : tokens) {
        ASSERT_THAT(context->run(0), IsOk());
        const auto present = context->output(0);
        ASSERT_THAT(present, IsOk());
        const auto length = static_cast<std::int64_t>(prompt.shape()[2]) + static_cast<std::int64_t>(parts.size()) - 1;
        EXPECT_EQ(present->shape, (Shape{1, kHeads, length, kWidth}));
        if (programs.computes()) {
          ASSERT_EQ(values_of(*present), joined(parts));
        }
        ASSERT_THAT(context->set_input(0, 1, token.view()), IsOk());
        parts.push_back(&token);
      }
      ASSERT_THAT(context->reset_state(), IsOk());
    }
    // Starts with a cache that is not empty.
    ASSERT_THAT(context->set_input(0, 0, other.view()), IsOk());
    ASSERT_THAT(context->set_input(0, 1, prompt.view()), IsOk());
    ASSERT_THAT(context->run(0), IsOk());
    const auto present = context->output(0);
    ASSERT_THAT(present, IsOk());
    EXPECT_EQ(present->shape, (Shape{1, kHeads, 4, kWidth}));
    if (programs.computes()) {
      EXPECT_EQ(values_of(*present), joined({&other, &prompt}));
    }
  });
}

// A runtime may keep a copy of the graph, with state of earlier runs, for each stream.
TEST_P(State, KeepsItFromStreamToStream) {
  streams_ = 2;
  with_growing_cache([](Programs& programs) {
    auto one = programs.create_open(), other = programs.create_open();
    ASSERT_THAT(one, IsOk());
    ASSERT_THAT(other, IsOk());
    std::thread beside([&] { generate_often(*other, programs.computes()); });
    generate_often(*one, programs.computes());
    beside.join();
  });
}

TEST_P(State, KeepsItInABurstWhereEachInputSetIsAStep) {
  with_growing_cache([](Programs& programs) {
    auto context = programs.create_open();
    ASSERT_THAT(context, IsOk());
    const Tensor nothing = floats({1, kHeads, 0, kWidth});
    std::vector<Tensor> steps;
    std::vector<const Tensor*> parts;
    constexpr std::size_t kSteps = 6;
    steps.reserve(kSteps);
    parts.reserve(kSteps);
    for (std::size_t i = 0; i < kSteps; ++i)
      steps.push_back(floats({1, kHeads, i == 0 ? 5 : 1, kWidth}, static_cast<float>(100 * i)));
    for (const Tensor& step : steps) parts.push_back(&step);
    ASSERT_THAT(context->set_input(0, 0, nothing.view()), IsOk());
    for (std::size_t i = 0; i < kSteps; ++i) ASSERT_THAT(context->set_input(i, 1, steps[i].view()), IsOk());
    ASSERT_THAT(context->alias_output_to_input(0, 0), IsOk());
    for (int generation = 0; generation < 2; ++generation) {
      std::vector<std::int64_t> start(kSteps), duration(kSteps);
      std::vector<std::uint8_t> kind(kSteps);
      assay_samples samples{sizeof samples, 0, kSteps, 0, start.data(), duration.data(), kind.data()};
      if (context->times_itself()) {
        ASSERT_THAT(context->run_timed(kSteps, 0, kSteps, samples), IsOk());
        EXPECT_EQ(samples.count, kSteps);
      } else {
        for (std::size_t i = 0; i < kSteps; ++i) ASSERT_THAT(context->run(i), IsOk());
      }
      const auto present = context->output(0), last = context->output(1);
      ASSERT_THAT(present, IsOk());
      EXPECT_EQ(present->shape, (Shape{1, kHeads, 5 + kSteps - 1, kWidth}));
      EXPECT_EQ(last->shape, (Shape{1, kHeads, 1, kWidth}));
      if (programs.computes()) {
        EXPECT_EQ(values_of(*present), joined(parts));
      }
      ASSERT_THAT(context->reset_state(), IsOk());
    }
  });
}

TEST_P(State, KeepsAStaticCacheWithoutWritingIntoItsInput) {
  on_each_device(shift_model(), {"past:float32[8];x:float32[2]", "present:float32[8]"}, [](Programs& programs) {
    auto context = programs.create({8}, {2});
    ASSERT_THAT(context, IsOk());
    const Tensor begin = floats({8}, -8);
    Tensor x = floats({2});
    ASSERT_THAT(context->set_input(0, 0, begin.view()), IsOk());
    ASSERT_THAT(context->set_input(0, 1, x.view()), IsOk());
    ASSERT_THAT(context->run(0), IsOk());  // an alias may come after a run
    ASSERT_THAT(context->alias_output_to_input(0, 0), IsOk());
    for (int generation = 0; generation < 2; ++generation) {
      for (int i = 1; i <= 7; ++i) {
        x.as<float>()[0] = static_cast<float>(10 * i);
        x.as<float>()[1] = static_cast<float>(10 * i + 1);
        ASSERT_THAT(context->run(0), IsOk());
      }
      const auto present = context->output(0);
      ASSERT_THAT(present, IsOk());
      EXPECT_EQ(present->shape, (Shape{8}));
      if (programs.computes()) {
        EXPECT_THAT(values_of(*present), ElementsAre(70, 71, 60, 61, 50, 51, 40, 41));
      }
      ASSERT_THAT(context->reset_state(), IsOk());
      ASSERT_THAT(context->run(0), IsOk());
      if (programs.computes()) {
        EXPECT_THAT(values_of(*context->output(0)), ElementsAre(70, 71, -8, -7, -6, -5, -4, -3));
      }
      ASSERT_THAT(context->reset_state(), IsOk());
    }
    EXPECT_EQ(begin.as<float>()[0], -8) << "the caller's buffer is only read";
  });
}

TEST_P(State, SharesMemoryOfAnInputAndAnOutputOrReturnsUnsupported) {
  on_each_device(sum_model(), {"past:float32[rows,4];x:float32[1,4]", "present:float32[rows,4];last:float32[1,4]"},
                 [](Programs& programs) {
                   auto context = programs.create({2, 4}, {1, 4});
                   ASSERT_THAT(context, IsOk());
                   const Status shared = context->share_output_with_input(0, 0);
                   if (!shared) {
                     EXPECT_THAT(shared, Fails(ErrorCode::kUnsupported));
                     return;
                   }
                   const Tensor ones = floats({1, 4}, 1), tens = floats({1, 4}, 10), past = floats({2, 4}, 7);
                   ASSERT_THAT(context->set_input(0, 1, ones.view()), IsOk());
                   ASSERT_THAT(context->set_input(1, 1, tens.view()), IsOk());
                   for (int generation = 0; generation < 2; ++generation) {
                     for (const std::size_t set : {0U, 1U, 0U}) ASSERT_THAT(context->run(set), IsOk());
                     const auto present = context->output(0), last = context->output(1);
                     ASSERT_THAT(present, IsOk());
                     EXPECT_EQ(present->shape, (Shape{2, 4}));
                     EXPECT_THAT(values_of(*present), ElementsAre(12, 15, 18, 21, 12, 15, 18, 21)) << "for all sets";
                     EXPECT_THAT(values_of(*last), ElementsAre(2, 4, 6, 8));
                     const std::byte* where = present->bytes.data();
                     ASSERT_THAT(context->run(0), IsOk());
                     EXPECT_EQ(context->output(0)->bytes.data(), where) << "the same memory";
                     ASSERT_THAT(context->reset_state(), IsOk());
                   }
                   EXPECT_THAT(context->set_input(0, 0, past.view()), Fails(ErrorCode::kInvalidArgument));
                   EXPECT_THAT(context->share_output_with_input(1, 0), Fails(ErrorCode::kMismatch));
                   EXPECT_THAT(context->share_output_with_input(2, 0), Fails(ErrorCode::kInvalidArgument));
                   // With an alias it is an input again.
                   ASSERT_THAT(context->alias_output_to_input(0, 0), IsOk());
                   ASSERT_THAT(context->set_input(0, 0, past.view()), IsOk());
                   for (int i = 0; i < 2; ++i) ASSERT_THAT(context->run(0), IsOk());
                   EXPECT_THAT(values_of(*context->output(0)), ElementsAre(9, 12, 15, 18, 13, 16, 19, 22));
                   if (programs.has_fixed_extents()) return;
                   auto open = programs.create({-1, 4}, {1, 4});
                   ASSERT_THAT(open, IsOk());
                   EXPECT_THAT(open->share_output_with_input(0, 0), Fails(ErrorCode::kMismatch));
                 });
}

TEST_P(State, RefusesAnOutputThatCannotBecomeTheInput) {
  with_cache_model([](Programs& programs) {
    auto context = programs.has_fixed_extents() ? programs.create({1, kHeads, 2, kWidth}, {1, kHeads, 1, kWidth})
                                                : programs.create_open();
    ASSERT_THAT(context, IsOk());
    EXPECT_THAT(context->alias_output_to_input(2, 0), Fails(ErrorCode::kInvalidArgument));
    EXPECT_THAT(context->alias_output_to_input(0, 2), Fails(ErrorCode::kInvalidArgument));
    // Bound with a fixed extent, it cannot grow: an error immediately, or from the first run if only that can detect
    // it.
    auto fixed = programs.create({1, kHeads, 2, kWidth}, {1, kHeads, 1, kWidth});
    ASSERT_THAT(fixed, IsOk());
    const Tensor past = floats({1, kHeads, 2, kWidth}), x = floats({1, kHeads, 1, kWidth});
    ASSERT_THAT(fixed->set_input(0, 0, past.view()), IsOk());
    ASSERT_THAT(fixed->set_input(0, 1, x.view()), IsOk());
    Status grown = fixed->alias_output_to_input(0, 0);
    if (grown) grown = fixed->run(0);
    EXPECT_THAT(grown, Fails(ErrorCode::kMismatch));
  });
}

TEST_P(State, RunsTwoContextsOfOneProgramAlternately) {
  with_cache_model([](Programs& programs) {
    const Tensor past = floats({1, kHeads, 2, kWidth}, 10), none = floats({1, kHeads, 0, kWidth});
    const Tensor one = floats({1, kHeads, 1, kWidth}, 20), three = floats({1, kHeads, 3, kWidth}, 30);
    auto first = programs.create(past.shape(), one.shape()), second = programs.create(none.shape(), three.shape());
    ASSERT_THAT(first, IsOk());
    ASSERT_THAT(second, IsOk());
    ASSERT_THAT(first->set_input(0, 0, past.view()), IsOk());
    ASSERT_THAT(first->set_input(0, 1, one.view()), IsOk());
    ASSERT_THAT(second->set_input(0, 0, none.view()), IsOk());
    ASSERT_THAT(second->set_input(0, 1, three.view()), IsOk());
    for (int i = 0; i < 3; ++i) {
      ASSERT_THAT(first->run(0), IsOk());
      ASSERT_THAT(second->run(0), IsOk());
      const auto a = first->output(0), b = second->output(0);
      ASSERT_THAT(a, IsOk());
      ASSERT_THAT(b, IsOk());
      EXPECT_EQ(a->shape, (Shape{1, kHeads, 3, kWidth}));
      EXPECT_EQ(b->shape, (Shape{1, kHeads, 3, kWidth}));
      if (!programs.computes()) continue;
      EXPECT_EQ(values_of(*a), joined({&past, &one}));
      EXPECT_EQ(values_of(*b), joined({&three}));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, State, ::testing::ValuesIn(engine_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace assay::conformance
