// SPDX-License-Identifier: Apache-2.0
#include "prepare/rate.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "builder/graph_builder.hpp"
#include "measure/environment.hpp"
#include "worker/worker.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

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

  // Seconds for x [rows, inner] by a weight [inner, columns].
  [[nodiscard]] Result<double> seconds(std::int64_t rows, std::int64_t inner, std::int64_t columns) const {
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
    std::vector<double> milliseconds;
    for (int run = 0; run < 6; ++run) {
      ASSAY_TRY(const InferReply reply, worker->infer({0, folder / "y.safetensors"}, kPatience));
      if (run > 0) milliseconds.push_back(reply.run_ms);
    }
    std::ranges::sort(milliseconds);
    const double median_s = milliseconds[milliseconds.size() / 2] / 1e3;
    if (median_s > 0) return median_s;
    return fail(ErrorCode::kInternal, "a multiplication took no time");
  }

  [[nodiscard]] Result<MachineRate> rate() const {
    ASSAY_TRY(const double wide, seconds(512, 2048, 2048));
    ASSAY_TRY(const double thin, seconds(1, 4096, 16384));
    return MachineRate{2.0 * 512 * 2048 * 2048 / wide, 4.0 * 4096 * 16384 / thin, location.engine, location.version};
  }
};

}  // namespace

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
