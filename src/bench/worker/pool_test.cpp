// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {
using std::chrono::seconds;

struct World {
  int started = 0;
  std::set<int> living;
  std::set<int> killed;       ///< workers that something else than their pool killed
  std::uint64_t bytes = 100;  ///< memory of each worker
};

class FakeWorker final : public Worker {
 public:
  explicit FakeWorker(World& world) : world_(world), id_(++world.started) { world_.living.insert(id_); }
  ~FakeWorker() override { world_.living.erase(id_); }
  bool alive() override { return alive_ && !world_.killed.contains(id_); }
  int pid() const override { return id_; }
  Result<LoadReply> load(const LoadRequest& request, std::chrono::nanoseconds) override {
    const bool no_such_shape = request.shape_options == EngineOptions{{"extents", "none"}};
    if (request.model == "bad.onnx" || no_such_shape) return fail(ErrorCode::kUnsupported, "no kernel");
    LoadReply reply;
    reply.engine_version = std::to_string(id_);
    reply.effective = request.shape_options;
    reply.model_load_s = ++loads_;
    return reply;
  }
  Result<BindReply> bind(const BindRequest&, std::chrono::nanoseconds) override { return BindReply{}; }
  Result<InferReply> infer(const InferRequest&, std::chrono::nanoseconds) override {
    alive_ = false;
    return fail(ErrorCode::kWorkerDied, "crashed");
  }
  Result<MeasureReply> measure(const MeasureRequest&, std::chrono::nanoseconds) override { return MeasureReply{}; }

 private:
  World& world_;
  int id_;
  bool alive_ = true;
  int loads_ = 0;
};

class Pool : public ::testing::Test {
 protected:
  World world_;
  WorkerPool pool_{{2, 1000},
                   [this](const EngineLocation&, const Worker::StartOptions&) -> Result<std::unique_ptr<Worker>> {
                     return std::make_unique<FakeWorker>(world_);
                   },
                   [this](const Worker&) { return world_.bytes; }};
  WorkerPool::Lease acquire(const std::string& model, int threads = 1) {
    LoadRequest request;
    request.model = model;
    request.threads = threads;
    return pool_.acquire({"null", "/p.so", ""}, request, {}, seconds(1)).value();
  }
};

TEST_F(Pool, ReturnsAWarmWorkerForTheSameModelAndSaysSo) {
  {
    const auto lease = acquire("a.onnx");
    EXPECT_FALSE(lease.warm());
  }
  const auto lease = acquire("a.onnx");
  EXPECT_TRUE(lease.warm());
  EXPECT_EQ(lease.loaded().engine_version, "1") << "the reply to load is kept";
  EXPECT_EQ(world_.started, 1);
}

TEST_F(Pool, StartsAFreshOneForAnotherModelOrAnotherSetting) {
  acquire("a.onnx");
  EXPECT_FALSE(acquire("b.onnx").warm());
  EXPECT_FALSE(acquire("a.onnx", 2).warm());
}

TEST_F(Pool, AWarmWorkerLoadsItsModelAgainForAnotherShape) {
  LoadRequest request;
  request.model = "a.onnx";
  const auto with = [&](const char* extents) {
    request.shape_options = {{"extents", extents}};
    return pool_.acquire({"null", "/p.so", ""}, request, {}, seconds(1)).value();
  };
  EXPECT_FALSE(with("batch=1").reload_ms());
  EXPECT_FALSE(with("batch=1").reload_ms()) << "it has this shape";
  {
    const auto lease = with("batch=2");
    EXPECT_TRUE(lease.warm());
    EXPECT_EQ(lease.reload_ms(), 2000);
    EXPECT_EQ(lease.loaded().model_load_s, 1) << "of its first load";
    EXPECT_EQ(lease.loaded().effective, request.shape_options);
  }
  EXPECT_FALSE(with("batch=2").reload_ms());
  EXPECT_TRUE(with("batch=1").reload_ms());
  EXPECT_EQ(world_.started, 1);
}

TEST_F(Pool, EndsAWarmWorkerThatDoesNotLoadAnotherShape) {
  LoadRequest request;
  request.model = "a.onnx";
  (void)pool_.acquire({"null", "/p.so", ""}, request, {}, seconds(1));
  request.shape_options = {{"extents", "none"}};
  EXPECT_EQ(pool_.acquire({"null", "/p.so", ""}, request, {}, seconds(1)).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(world_.living, ::testing::IsEmpty());
}

TEST_F(Pool, NeverLeasesOneWorkerTwice) {
  const auto first = acquire("a.onnx");
  const auto second = acquire("a.onnx");
  EXPECT_NE(&first.worker(), &second.worker());
}

TEST_F(Pool, EndsTheLeastRecentlyUsedAboveItsCount) {
  acquire("a.onnx");
  acquire("b.onnx");
  acquire("a.onnx");
  acquire("c.onnx");
  EXPECT_EQ(pool_.idle(), 2u);
  EXPECT_TRUE(acquire("a.onnx").warm());
  EXPECT_FALSE(acquire("b.onnx").warm());
}

TEST_F(Pool, StaysWithinItsMemory) {
  acquire("a.onnx");
  world_.bytes = 950;
  acquire("b.onnx");
  EXPECT_THAT(world_.living, ::testing::ElementsAre(2));
  world_.bytes = 1001;
  acquire("c.onnx");
  EXPECT_THAT(world_.living, ::testing::IsEmpty()) << "one worker alone may be too large";
}

TEST_F(Pool, KeepsNoDeadAndNoDiscardedWorker) {
  (void)acquire("a.onnx").worker().infer({}, seconds(1));
  acquire("b.onnx").discard();
  EXPECT_EQ(pool_.idle(), 0u);
  EXPECT_THAT(world_.living, ::testing::IsEmpty());
}

TEST_F(Pool, StartsAFreshOneIfTheWarmOneDiedWhileItWaited) {
  acquire("a.onnx");
  world_.killed = {1};
  const auto lease = acquire("a.onnx");
  EXPECT_FALSE(lease.warm());
  EXPECT_EQ(lease.loaded().engine_version, "2");
  EXPECT_THAT(world_.living, ::testing::ElementsAre(2));
}

TEST_F(Pool, EndsAWorkerWhoseModelDoesNotLoad) {
  LoadRequest request;
  request.model = "bad.onnx";
  EXPECT_EQ(pool_.acquire({"null", "/p.so", ""}, request, {}, seconds(1)).error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(world_.living, ::testing::IsEmpty());
}

TEST_F(Pool, EndsAllWaitingWorkersWhenCleared) {
  acquire("a.onnx");
  pool_.clear();
  EXPECT_EQ(pool_.idle(), 0u);
  EXPECT_FALSE(acquire("a.onnx").warm());
}

}  // namespace
}  // namespace assay
