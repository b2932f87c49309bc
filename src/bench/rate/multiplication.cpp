// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/multiplication.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "bench/worker/worker.hpp"
#include "core/base/json.hpp"
#include "core/samples/samples_file.hpp"
#include "core/tensor/tensor.hpp"
#include "models/builder/graph_builder.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::int64_t kRunsOfBurst = 8;
constexpr int kBursts = 4;
/// So many runs of a calm burst, in order of their time, are within this factor of the fastest of all.
constexpr std::size_t kEqualRuns = 3;
constexpr double kEqual = 1.15;

std::size_t bytes_of(DType dtype) { return static_cast<std::size_t>(bit_width(dtype)) / 8; }

void put(std::byte* place, DType dtype, float value) {
  if (dtype == DType::kFloat32) {
    std::memcpy(place, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == DType::kFloat16 ? float_to_half(value) : float_to_bfloat16(value);
  std::memcpy(place, &bits, sizeof bits);
}

// Numbers around 0, none of them 0: products stay normal and no runtime finds the matrix sparse.
ByteSource small_numbers(std::int64_t count, DType dtype) {
  return [count, dtype](const ByteSink& sink) -> Status {
    constexpr std::int64_t kBlock = 4096;
    const std::size_t width = bytes_of(dtype);
    std::vector<std::byte> block(static_cast<std::size_t>(kBlock) * width);
    for (std::int64_t i = 0; i < kBlock; ++i)
      put(&block[static_cast<std::size_t>(i) * width], dtype, (static_cast<float>(i * 7 % 31) - 15.5F) / 256.0F);
    for (std::int64_t left = count; left > 0;) {
      const std::int64_t now = std::min(left, kBlock);
      ASSAY_CHECK_OK(sink(std::span(block).first(static_cast<std::size_t>(now) * width)));
      left -= now;
    }
    return {};
  };
}

Result<RunBurst> burst_of(Worker& worker, const fs::path& folder) {
  MeasurePlan plan;
  plan.warmup_iterations = 1;
  plan.iterations = kRunsOfBurst;
  const fs::path file = folder / "samples";
  ASSAY_TRY(const MeasureReply reply, worker.measure({plan, file}, kPatience));
  ASSAY_TRY(const SamplesFile samples, read_samples(file));
  RunBurst runs;
  for (const std::int64_t ns : samples.samples.duration_ns)
    if (ns > 0) runs.seconds.push_back(static_cast<double>(ns) / 1e9);
  if (runs.seconds.empty()) return fail(ErrorCode::kInternal, "a multiplication took no time");
  const Json noise = reply.environment.value("noise", Json::object());
  runs.noisy = noise.contains("reasons") && !noise["reasons"].empty();
  return runs;
}

}  // namespace

double Product::flops() const {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns);
}

double Product::weight_bytes(DType dtype) const {
  return static_cast<double>(bytes_of(dtype)) * static_cast<double>(inner) * static_cast<double>(columns);
}

Result<BestRun> best_run(const std::function<Result<RunBurst>()>& burst) {
  BestRun best{std::numeric_limits<double>::infinity(), true};
  for (int i = 0; i < kBursts && best.disturbed; ++i) {
    ASSAY_TRY(const RunBurst runs, burst());
    best.seconds = std::min(best.seconds, std::ranges::min(runs.seconds));
    const auto equal = std::ranges::count_if(runs.seconds, [&](double s) { return s <= kEqual * best.seconds; });
    best.disturbed = runs.noisy || static_cast<std::size_t>(equal) < kEqualRuns;
  }
  return best;
}

Result<MultiplierRun> multiply(const Multiplier& multiplier, const Product& product) {
  const DType dtype = multiplier.dtype;
  GraphBuilder graph("rate");
  const Value x = graph.input("x", dtype, {product.rows, product.inner});
  const Value weight = graph.initializer("weight", dtype, {product.inner, product.columns},
                                         small_numbers(product.inner * product.columns, dtype));
  graph.output("y", graph.node("", "MatMul", {x, weight}), {product.rows, product.columns});
  LoadRequest load;
  load.model = multiplier.folder / "rate.onnx";
  load.precision = to_string(dtype);
  load.threads = multiplier.threads;
  load.device_id = multiplier.device;
  ASSAY_CHECK_OK(graph.write(load.model, {.cancelled = multiplier.cancelled}));
  Worker::StartOptions start;
  start.executable = multiplier.registry->places().worker;
  start.cancelled = multiplier.cancelled;
  ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(multiplier.location, std::move(start)));
  ASSAY_TRY(const LoadReply loaded, worker->load(load, kPatience));
  const InputRecipe input{.name = "x", .dtype = dtype, .shape = {product.rows, product.inner}, .fill = Fill::kNormal};
  ASSAY_TRY(const BindReply bound, worker->bind({{input}, 0, 1, 1}, kPatience));
  MultiplierRun run;
  run.engine_version = loaded.engine_version;
  for (const EngineOptions* effective : {&loaded.effective, &bound.effective})
    for (const auto& [key, value] : *effective)
      if (key == "precision") run.precision = value;
  ASSAY_TRY(run.best, best_run([&] { return burst_of(*worker, multiplier.folder); }));
  return run;
}

}  // namespace assay
