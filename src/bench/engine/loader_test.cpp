// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include <assay/engine_plugin.hpp>

extern "C" const assay_engine_table* assay_engine_get(const assay_host_api*);  // the null engine, linked in

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// An engine whose behaviour depends on the path of the model.
class BadEngine final : public plugin::Engine {
 public:
  static constexpr const char* kName = "bad";
  static constexpr bool kCompilesShapes = false, kConcurrentContexts = false, kTimesItself = true;
  static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api&) {
    if (home == "/throw") throw std::runtime_error("the driver said no");
    if (home == "/nothing") return nullptr;
    return std::make_unique<BadEngine>();
  }
  static std::vector<plugin::OptionInfo> option_infos() { throw 42; }
  std::string version() const override { return "\xff"; }
  Result<std::vector<plugin::Device>> devices() override {
    return tl::unexpected<Error>({ErrorCode::kDeviceLost, "lost", {"while asking"}, "plug it in"});
  }
  Result<std::unique_ptr<plugin::Program>> load(const plugin::LoadArgs&) override { throw std::bad_alloc(); }
};

const assay_engine_table* bad_engine(const assay_host_api* host) {
  plugin::detail::host = host;
  return &plugin::detail::table<BadEngine>();
}

LoadedEngine make(assay_engine_get_fn entry) {
  return LoadedEngine::create(EnginePlugin::from_entry(entry, "test.so").value(), "").value();
}

TEST(Trampolines, ConvertExceptionsToErrors) {
  const auto plugin = EnginePlugin::from_entry(&bad_engine, "bad.so").value();
  const auto thrown = LoadedEngine::create(plugin, "/throw");
  EXPECT_EQ(thrown.error().code, ErrorCode::kInternal);
  EXPECT_EQ(thrown.error().message, "the driver said no");
  EXPECT_THAT(LoadedEngine::create(plugin, "/nothing").error().message, HasSubstr("created no object"));

  const LoadedEngine engine = LoadedEngine::create(plugin, "").value();
  EXPECT_EQ(engine.load({}).error().code, ErrorCode::kOutOfMemory);
  EXPECT_THAT(engine.options().error().message, HasSubstr("not a std::exception"));
  EXPECT_EQ(engine.devices().error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(engine.devices().error().message, "lost, while asking");
  EXPECT_EQ(engine.devices().error().hint, "plug it in");
  EXPECT_EQ(engine.version(), "\xEF\xBF\xBD") << "strings that are not UTF-8 are replaced";
}

TEST(EnginePlugin, RefusesAnotherMajorAbiAndNamesBoth) {
  static assay_engine_table future{};
  future.struct_size = sizeof future + 64;
  future.abi_major = 2;
  future.abi_minor = 3;
  const auto refused =
      EnginePlugin::from_entry([](const assay_host_api*) -> const assay_engine_table* { return &future; }, "/x/new.so");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIncompatiblePlugin);
  EXPECT_THAT(refused.error().message, HasSubstr("'/x/new.so' was built for engine ABI 2.3, this assay has 1.0"));
  EXPECT_THAT(refused.error().hint, HasSubstr("include/"));
}

TEST(EnginePlugin, TreatsTheMissingTailOfAnOlderTableAsNotImplemented) {
  static assay_engine_table older = *assay_engine_get(&host_api());
  older.struct_size = offsetof(assay_engine_table, run_timed);
  const LoadedEngine engine = make([](const assay_host_api*) -> const assay_engine_table* { return &older; });
  EXPECT_FALSE(engine.plugin().concurrent_contexts());
  const LoadedProgram program = engine.load({}).value();
  const Shape shape{1, 16};
  LoadedContext context = program.create_context(std::array{TensorView{DType::kFloat32, shape, {}}}).value();
  EXPECT_EQ(context.alias_output_to_input(0, 0).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(context.share_output_with_input(0, 0).error().code, ErrorCode::kUnsupported);
}

TEST(EnginePlugin, RefusesATableThatLacksRequiredFunctions) {
  static assay_engine_table poor = *assay_engine_get(&host_api());
  poor.struct_size = offsetof(assay_engine_table, get_output);
  const auto refused =
      EnginePlugin::from_entry([](const assay_host_api*) -> const assay_engine_table* { return &poor; }, "poor.so");
  EXPECT_EQ(refused.error().code, ErrorCode::kIncompatiblePlugin);
}

TEST(EnginePlugin, RefusesFilesThatAreNotPlugins) {
  EXPECT_EQ(EnginePlugin::open("/nowhere/x.so").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(EnginePlugin::open(ASSAY_SOURCE_DIR "/README.md").error().code, ErrorCode::kIncompatiblePlugin);
  EXPECT_THAT(EnginePlugin::open("libm.so.6").error().code, ErrorCode::kNotFound);
}

TEST(NullEngine, ComputesRunningSumsPerRowOfTheInputSet) {
  const LoadedEngine engine = make(&assay_engine_get);
  const LoadedProgram program =
      engine.load({.options = {{"inputs", "x:float32[n,3]"}, {"outputs", "y:float32[n,3]"}}}).value();
  const std::array<float, 6> first{1, 2, 3, 10, 20, 30}, second{0, 0, 1, 0, 1, 0};
  const Shape shape{2, 3};
  const auto view = [&](const auto& values) {
    return TensorView{DType::kFloat32, shape, std::as_bytes(std::span(values))};
  };
  LoadedContext context = program.create_context(std::array{view(first)}).value();
  ASSERT_TRUE(context.set_input(0, 0, view(first)));
  ASSERT_TRUE(context.set_input(1, 0, view(second)));
  const auto floats = [&] {
    const TensorView out = context.output(0).value();
    EXPECT_EQ(out.shape, shape);
    const auto* data = reinterpret_cast<const float*>(out.bytes.data());
    return std::vector<float>(data, data + 6);
  };
  ASSERT_TRUE(context.run(0));
  EXPECT_THAT(floats(), ElementsAre(1, 3, 6, 10, 30, 60));
  ASSERT_TRUE(context.run(1));
  EXPECT_THAT(floats(), ElementsAre(0, 0, 1, 0, 1, 1));
  EXPECT_FALSE(context.run(2)) << "a set that was never bound";
}

TEST(NullEngine, DescribesOptionsAndRefusesOthers) {
  const LoadedEngine engine = make(&assay_engine_get);
  const auto options = engine.options();
  ASSERT_TRUE(options);
  for (const auto& option : *options) EXPECT_THAT(option.help, ::testing::Not(IsEmpty())) << option.name;
  const auto unknown = engine.load({.options = {{"costs", "1"}}});
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(unknown.error().hint, HasSubstr("cost_ns"));
  EXPECT_EQ(engine.load({.options = {{"cost_ns", "-1"}}}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine.load({.options = {{"inputs", "x:float32"}}}).error().code, ErrorCode::kInvalidArgument);
  const auto unsupported = engine.load({.options = {{"unsupported", "Foo"}}});
  EXPECT_EQ(unsupported.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(unsupported.error().message, HasSubstr("no kernel for operator 'Foo'"));
}

TEST(NullEngine, ChecksShapesAgainstItsSignature) {
  const LoadedEngine engine = make(&assay_engine_get);
  const LoadedProgram program =
      engine.load({.options = {{"inputs", "a:int64[b,s];m:int64[b,s]"}, {"outputs", "y:float32[b]"}}}).value();
  EXPECT_THAT(program.inputs()[0].symbols, ElementsAre("b", "s"));
  EXPECT_EQ(program.inputs()[0].shape, (Shape{-1, -1}));
  const TensorView good{DType::kInt64, {2, 5}, {}}, other{DType::kInt64, {3, 5}, {}}, wrong{DType::kInt32, {2, 5}, {}};
  EXPECT_TRUE(program.create_context(std::array{good, good}));
  EXPECT_EQ(program.create_context(std::array{good, other}).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(program.create_context(std::array{good, wrong}).error().code, ErrorCode::kMismatch);
  EXPECT_EQ(program.create_context(std::array{good}).error().code, ErrorCode::kMismatch);
}

TEST(NullEngine, AnOutputsExtentMayBeASumOfNames) {
  const LoadedEngine engine = make(&assay_engine_get);
  const auto extent = [&](const std::string& inputs, const std::string& sum) {
    const LoadedProgram program =
        engine.load({.options = {{"inputs", inputs}, {"outputs", "y:float32[" + sum + "]"}}}).value();
    std::vector<TensorView> shapes;
    for (std::size_t i = 0; i < program.inputs().size(); ++i)
      shapes.push_back({DType::kFloat32, {static_cast<std::int64_t>(i) + 3}, {}});
    LoadedContext context = program.create_context(shapes).value();
    std::vector<float> data(16);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      shapes[i].bytes = std::as_bytes(std::span(data)).first(sizeof(float) * (i + 3));
      EXPECT_TRUE(context.set_input(0, i, shapes[i]));
    }
    EXPECT_TRUE(context.run(0));
    return context.output(0).value().shape;
  };
  EXPECT_EQ(extent("a:float32[past];b:float32[now]", "past+now"), (Shape{7}));
  EXPECT_EQ(extent("a:float32[past];b:float32[now]", "past + now + 2"), (Shape{9})) << "as the zoo writes it";
  EXPECT_EQ(extent("a:float32[past];b:float32[past + now]", "past + now"), (Shape{4})) << "an input has this name";
}

/// Times itself by counting: the slot exists; engines without it use the default loop of the trampolines.
TEST(Trampolines, TimeABurstAndKeepTheSamplesBeforeAnError) {
  class Failing final : public plugin::Context {
    Status set_input(std::size_t, std::size_t, const assay_tensor&) override { return {}; }
    Status run(std::size_t set) override {
      sets_ += std::to_string(set);
      return sets_.size() < 4 ? Status() : fail(ErrorCode::kDeviceLost, "ran sets " + sets_);
    }
    Status get_output(std::size_t, assay_tensor&) override { return {}; }
    std::string sets_;
  };
  plugin::detail::host = &host_api();
  assay_context context{std::make_unique<Failing>()};
  const assay_engine_table& table = plugin::detail::table<BadEngine>();
  std::array<std::int64_t, 8> start{}, duration{};
  assay_samples samples{sizeof samples, 0, 8, 0, start.data(), duration.data(), nullptr};
  assay_error* error = table.run_timed(&context, 8, 1, 3, &samples);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->message, "ran sets 1201");
  table.error_free(error);
  ASSERT_EQ(samples.count, 3u);
  EXPECT_GE(start[1], start[0] + duration[0]);
}

}  // namespace
}  // namespace assay
