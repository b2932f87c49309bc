// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/rate.hpp"

#include <utility>

#include "bench/measure/environment.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

Result<MachineRate> rate_with(const Multiplier& multiplier) {
  ASSAY_TRY(const MultiplierRun wide, multiply(multiplier, kWideProduct));
  ASSAY_TRY(const MultiplierRun thin, multiply(multiplier, kThinProduct));
  return MachineRate{kWideProduct.flops() / wide.best.seconds,
                     kThinProduct.weight_bytes(multiplier.dtype) / thin.best.seconds, multiplier.location.engine,
                     multiplier.location.version, wide.best.disturbed || thin.best.disturbed};
}

}  // namespace

std::vector<EngineLocation> rate_runtimes(const EngineRegistry& registry) {
  std::vector<EngineLocation> runtimes;
  for (const EngineEntry& engine : registry.entries()) {
    if (engine.exact || !engine.needs_model || !engine.serves("cpu") || !engine.reads("onnx")) continue;
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
    rate = rate_with({.registry = &registry,
                      .location = location,
                      .device = registry.entry(location.engine)->cpu_device,
                      .threads = threads > 0 ? threads : usable_threads(),
                      .folder = own.path(),
                      .cancelled = cancelled});
    if (rate || rate.error().code == ErrorCode::kCancelled) return rate;
  }
  return rate;
}

}  // namespace assay
