// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Real workers of the null engine, for tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/worker/worker.hpp"
#include "core/base/files.hpp"
#include "core/samples/samples_file.hpp"

namespace assay::test {
using namespace std::chrono_literals;

/// The time limit for responses that should be fast: a slow machine is not a fault.
inline constexpr auto kPatience = 120s;

inline std::filesystem::path plugin(const std::string& engine) {
  return std::filesystem::path(ASSAY_BINARY_DIR) / "lib/assay/engines" / ("assay_engine_" + engine + ".so");
}

/// One worker with its own folder for log, outputs and samples.
class NullWorker {
 public:
  explicit NullWorker(Worker::StartOptions options = {}) {
    options.executable = std::filesystem::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
    options.log = path("log");
    auto started = Worker::start({"null", plugin("null"), ""}, std::move(options));
    if (!started) throw std::runtime_error(to_string(started.error()));
    worker_ = std::move(*started);
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] Worker& operator*() const { return *worker_; }
  Worker* operator->() const { return worker_.get(); }

  Result<LoadReply> load(EngineOptions options = {}) {
    LoadRequest request;
    request.options = std::move(options);
    return worker_->load(request, kPatience);
  }
  Result<BindReply> bind(std::int64_t batch = 2, std::size_t sets = 4, int streams = 1) {
    return worker_->bind({{{"input", DType::kFloat32, {batch, 16}, Fill::kNormal, 0, 1, {}}}, 1, sets, streams},
                         kPatience);
  }
  Result<InferReply> infer(const std::string& outputs = "out.safetensors",
                           std::chrono::nanoseconds timeout = kPatience) {
    return worker_->infer({0, path(outputs)}, timeout);
  }
  Result<MeasureReply> measure(const MeasurePlan& plan, std::chrono::nanoseconds timeout = kPatience) {
    return worker_->measure({plan, path("samples")}, timeout);
  }
  /// A fixed number of runs, or as many as fit into a minute.
  static MeasurePlan plan(std::optional<std::int64_t> iterations, int streams = 1) {
    MeasurePlan plan;
    plan.warmup_iterations = 0;
    plan.iterations = iterations;
    plan.streams = streams;
    plan.min_time_ns = plan.max_time_ns = 60'000'000'000;
    plan.max_samples = 100'000'000;
    return plan;
  }
  /// Loads and binds; the test fails if one of them fails.
  void prepare(EngineOptions options = {}, std::int64_t batch = 2, int streams = 1) {
    const auto loaded = load(std::move(options));
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    const auto bound = bind(batch, 4, streams);
    ASSERT_TRUE(bound) << to_string(bound.error());
  }
  [[nodiscard]] std::size_t samples_in_file() const {
    const auto file = read_samples(path("samples"));
    return file ? file->samples.size() : 0;
  }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  std::unique_ptr<Worker> worker_;
};

}  // namespace assay::test
