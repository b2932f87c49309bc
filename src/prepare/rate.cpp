// SPDX-License-Identifier: Apache-2.0
#include "prepare/rate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "builder/graph_builder.hpp"
#include "measure/environment.hpp"
#include "measure/samples_file.hpp"
#include "worker/worker.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr auto kPatience = std::chrono::seconds(60);
constexpr std::int64_t kRunsOfBurst = 8;
constexpr int kBursts = 4;
/// So many runs of a calm burst, in order of their time, are within this factor of the fastest of all.
constexpr std::size_t kEqualRuns = 3;
constexpr double kEqual = 1.15;

// Numbers around 0, none of them 0: products stay normal and no runtime finds the matrix sparse.
ByteSource small_numbers(std::int64_t count) {
  return [count](const ByteSink& sink) -> Status {
    std::array<float, 4096> block{};
    for (std::size_t i = 0; i < block.size(); ++i) block[i] = (static_cast<float>(i * 7 % 31) - 15.5F) / 256.0F;
    for (std::int64_t left = count; left > 0;) {
      const std::int64_t now = std::min<std::int64_t>(left, block.size());
      ASSAY_CHECK_OK(sink(std::as_bytes(std::span(block).first(static_cast<std::size_t>(now)))));
      left -= now;
    }
    return {};
  };
}

struct Multiplier {
  const EngineRegistry& registry;
  EngineLocation location;
  int threads;
  const fs::path& folder;
  const Cancelled& cancelled;

  // x [rows, inner] by a weight [inner, columns].
  [[nodiscard]] Result<BestRun> best_of(std::int64_t rows, std::int64_t inner, std::int64_t columns) const {
    GraphBuilder graph("rate");
    const Value x = graph.input("x", DType::kFloat32, {rows, inner});
    const Value weight = graph.initializer("weight", DType::kFloat32, {inner, columns}, small_numbers(inner * columns));
    graph.output("y", graph.node("", "MatMul", {x, weight}), {rows, columns});
    LoadRequest load;
    load.model = folder / "rate.onnx";
    load.precision = "float32";
    load.threads = threads;
    load.device_id = registry.entry(location.engine)->cpu_device;
    ASSAY_CHECK_OK(graph.write(load.model, {.cancelled = cancelled}));
    Worker::StartOptions start;
    start.executable = registry.places().worker;
    start.cancelled = cancelled;
    ASSAY_TRY(const std::unique_ptr<Worker> worker, Worker::start(location, std::move(start)));
    ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, kPatience));
    const InputRecipe input{.name = "x", .dtype = DType::kFloat32, .shape = {rows, inner}, .fill = Fill::kNormal};
    ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind({{input}, 0, 1, 1}, kPatience));
    return best_run([&] { return burst(*worker); });
  }

  [[nodiscard]] Result<RunBurst> burst(Worker& worker) const {
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

  [[nodiscard]] Result<MachineRate> rate() const {
    ASSAY_TRY(const BestRun wide, best_of(512, 2048, 2048));
    ASSAY_TRY(const BestRun thin, best_of(1, 4096, 16384));
    return MachineRate{2.0 * 512 * 2048 * 2048 / wide.seconds, 4.0 * 4096 * 16384 / thin.seconds, location.engine,
                       location.version, wide.disturbed || thin.disturbed};
  }
};

}  // namespace

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

std::vector<EngineLocation> rate_runtimes(const EngineRegistry& registry) {
  std::vector<EngineLocation> runtimes;
  for (const EngineEntry& engine : registry.entries()) {
    if (!engine.needs_model || !engine.serves("cpu") || !engine.reads("onnx")) continue;
    if (Result<EngineLocation> location = registry.locate(engine.name)) runtimes.push_back(std::move(*location));
  }
  return runtimes;
}

Result<MachineRate> measure_rate(const EngineRegistry& registry, int threads, const fs::path& folder,
                                 const Cancelled& cancelled) {
  ASSAY_CHECK_OK(make_directories(folder));
  ASSAY_TRY(const TemporaryDirectory own, TemporaryDirectory::create("assay-rate-", folder));
  Result<MachineRate> rate =
      fail(ErrorCode::kNotFound, "there is no runtime to measure the rate of multiplication with");
  for (const EngineLocation& location : rate_runtimes(registry)) {
    rate = Multiplier{registry, location, threads > 0 ? threads : usable_threads(), own.path(), cancelled}.rate();
    if (rate || rate.error().code == ErrorCode::kCancelled) return rate;
  }
  return rate;
}

}  // namespace assay
