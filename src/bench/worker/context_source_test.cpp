// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/context_source.hpp"
#include "bench/worker/generator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <assay/engine_plugin.hpp>

#include "core/tensor/recipe.hpp"

extern "C" const assay_engine_table* assay_engine_get(const assay_host_api*);  // the null engine, linked in

namespace {
std::atomic<long> g_allocations{0};
}  // namespace

// Counts every allocation of this program; the other default operators call these.
void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace assay {
namespace {

/// A context of the null engine with two input sets.
class NullContext {
 public:
  explicit NullContext(EngineOptions options = {}) {
    const auto plugin = EnginePlugin::from_entry(&assay_engine_get, "null").value();
    const auto engine = LoadedEngine::create(plugin, "").value();
    const auto program = engine.load({.options = std::move(options)}).value();
    const TensorView view{DType::kFloat32, {1, 16}, std::as_bytes(std::span(values_))};
    context_.emplace(program.create_context(std::array{view}).value());
    for (const std::size_t set : {0, 1}) EXPECT_TRUE(context_->set_input(set, 0, view));
  }
  ContextSource source() { return {*context_, 2}; }

 private:
  std::array<float, 16> values_{};
  std::optional<LoadedContext> context_;
};

struct Room {
  explicit Room(std::size_t n) : kind(n), start(n), duration(n) {}
  std::vector<std::uint8_t> kind;
  std::vector<std::int64_t> start, duration;
  SampleColumns columns{kind.size(), 0, kind.data(), start.data(), duration.data()};
};

TEST(ContextSource, AllocatesNothingInTheTimedLoop) {
  NullContext context(EngineOptions{{"cost_ns", "10"}});
  ContextSource source = context.source();
  Room room(1000);
  const long before = g_allocations;
  const bool ok = static_cast<bool>(source.run_timed(1000, 0, room.columns));
  const long after = g_allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(room.columns.count, 1000u);
  EXPECT_EQ(after - before, 0);
  EXPECT_GT(before, 0) << "the counter works";
}

/// A decoder that computes nothing and allocates nothing: what is counted is assay's.
class StillEngine final : public plugin::Engine {
 public:
  static constexpr const char* kName = "still";
  static constexpr bool kCompilesShapes = false, kConcurrentContexts = false, kTimesItself = false;
  static Result<std::unique_ptr<Engine>> create(const std::string&, const assay_host_api&) {
    return std::make_unique<StillEngine>();
  }
  static std::vector<plugin::OptionInfo> option_infos() { return {}; }
  std::string version() const override { return "1"; }
  Result<std::vector<plugin::Device>> devices() override { return std::vector<plugin::Device>{}; }
  Result<std::unique_ptr<plugin::Program>> load(const plugin::LoadArgs&) override {
    return std::make_unique<StillProgram>();
  }

 private:
  class StillContext final : public plugin::Context {
   public:
    Status set_input(std::size_t, std::size_t, const assay_tensor&) override { return {}; }
    Status run(std::size_t) override { return {}; }
    Status get_output(std::size_t, assay_tensor& out) override {
      out.dtype = static_cast<assay_dtype>(DType::kFloat32);
      out.memory_kind = ASSAY_MEMORY_HOST;
      out.data = logits_.data();
      out.byte_size = sizeof logits_;
      out.dims = dims_.data();
      out.rank = dims_.size();
      return {};
    }

   private:
    std::array<std::int64_t, 3> dims_{2, 1, 10};
    std::array<float, 20> logits_{};
  };
  class StillProgram final : public plugin::Program {
   public:
    const std::vector<plugin::ValueInfo>& inputs() const override { return inputs_; }
    const std::vector<plugin::ValueInfo>& outputs() const override { return outputs_; }
    Result<plugin::KeyValues> effective() override { return plugin::KeyValues{}; }
    Result<std::unique_ptr<plugin::Context>> create_context(std::span<const plugin::TensorShape>) override {
      return std::make_unique<StillContext>();
    }

   private:
    std::vector<plugin::ValueInfo> inputs_{
        {"input_ids", static_cast<assay_dtype>(DType::kInt64), true, {-1, -1}, {}},
        {"attention_mask", static_cast<assay_dtype>(DType::kInt64), true, {-1, -1}, {}}};
    std::vector<plugin::ValueInfo> outputs_{
        {"logits", static_cast<assay_dtype>(DType::kFloat32), true, {-1, 1, 10}, {}}};
  };
};

const assay_engine_table* still_engine(const assay_host_api* host) {
  plugin::detail::host = host;
  return &plugin::detail::table<StillEngine>();
}

TEST(Generator, AllocatesNothingForATokenOfATimedGeneration) {
  const auto plugin = EnginePlugin::from_entry(&still_engine, "still").value();
  const auto program = LoadedEngine::create(plugin, "").value().load({}).value();
  constexpr std::int64_t kTokens = 50;
  Generation generation;
  generation.prompt_tokens = 3;
  generation.output_tokens = kTokens;
  generation.mask = "attention_mask";
  std::vector<std::vector<Tensor>> sets(1);
  for (const char* name : {"input_ids", "attention_mask"}) {
    const InputRecipe ones{.name = name, .dtype = DType::kInt64, .shape = {2, 3}, .fill = Fill::kConstant, .low = 1.0};
    sets.front().push_back(make_input(ones, 7, 0).value());
  }
  Generator generator = Generator::create(program, program, generation, sets).value();
  Room room(generator.samples_per_run());
  ASSERT_TRUE(generator.run_timed(1, 0, room.columns)) << "the first one sizes what is used again";
  const long before = g_allocations;
  const bool ok = static_cast<bool>(generator.run_timed(1, 0, room.columns));
  const long after = g_allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(room.columns.count, static_cast<std::size_t>(kTokens) + 1);
  EXPECT_EQ(after - before, 0);
}

TEST(ContextSource, TimesEachRunByTheSteadyClock) {
  NullContext context(EngineOptions{{"cost_ns", "20000"}});
  ContextSource source = context.source();
  Room room(10);
  ASSERT_TRUE(source.run_timed(10, 0, room.columns));
  for (std::size_t i = 0; i < 10; ++i) EXPECT_GE(room.duration[i], 20000);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_GE(room.start[i], room.start[i - 1] + room.duration[i - 1]);
}

TEST(ContextSource, KeepsTheSamplesBeforeAnError) {
  NullContext context(EngineOptions{{"fail_at_run", "8"}});
  ContextSource source = context.source();
  Room room(10);
  EXPECT_EQ(source.run_timed(10, 0, room.columns).error().code, ErrorCode::kDeviceLost);
  EXPECT_EQ(room.columns.count, 7u);
}

}  // namespace
}  // namespace assay
