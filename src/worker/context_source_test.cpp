// SPDX-License-Identifier: Apache-2.0
#include "worker/context_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

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
