// SPDX-License-Identifier: Apache-2.0
#include "bench/rate/peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/rate/multiplication.hpp"
#include "bench/worker/probe.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {

constexpr std::array kTypes{DType::kFloat32, DType::kFloat16, DType::kBFloat16};

// A device may stand under several words: the processor is "cpu" and a runtime's own.
std::map<std::string, std::vector<std::string>> words_by_device(const FoundEngine& found) {
  std::map<std::string, std::vector<std::string>> words;
  for (const EngineDevice& device : found.devices)
    if (!device.simulated && !device.software) words[device.id].push_back(device.hardware);
  return words;
}

Result<MeasuredPeak> peak_of(const Multiplier& multiplier) {
  ASSAY_TRY(const MultiplierRun wide, multiply(multiplier, kWideProduct));
  const std::string_view precision = to_string(multiplier.dtype);
  if (!wide.precision.empty() && wide.precision != precision)
    return fail(ErrorCode::kUnsupported, fmt::format("it is computed in {}", wide.precision));
  ASSAY_TRY(const MultiplierRun thin, multiply(multiplier, kThinProduct));
  MeasuredPeak peak;
  peak.device = multiplier.device;
  peak.precision = precision;
  peak.engine = multiplier.location.engine;
  peak.engine_version = wide.engine_version;
  peak.flops_per_s = kWideProduct.flops() / wide.best.seconds;
  peak.bytes_per_s = kThinProduct.weight_bytes(multiplier.dtype) / thin.best.seconds;
  peak.threads = multiplier.threads;
  peak.disturbed = wide.best.disturbed || thin.best.disturbed;
  peak.measured_at = iso8601(wall_now());
  return peak;
}

}  // namespace

Json to_json(const MeasuredPeak& peak) {
  return {{"hardware", peak.hardware},
          {"device", peak.device},
          {"precision", peak.precision},
          {"engine", peak.engine},
          {"engine_version", peak.engine_version},
          {"flops_per_s", peak.flops_per_s},
          {"bytes_per_s", peak.bytes_per_s},
          {"threads", peak.threads},
          {"disturbed", peak.disturbed},
          {"measured_at", peak.measured_at}};
}

Result<MeasuredPeaks> measure_peaks(const EngineRegistry& registry, const std::filesystem::path& folder,
                                    const Cancelled& cancelled, const std::function<void(const std::string&)>& doing) {
  ASSAY_CHECK_OK(make_directories(folder));
  ASSAY_TRY(const TemporaryDirectory own, TemporaryDirectory::create("assay-peak-", folder));
  MeasuredPeaks measured;
  for (const EngineEntry& engine : registry.entries()) {
    if (!engine.built || engine.exact || !engine.needs_model || !engine.reads("onnx")) continue;
    const FoundEngine found = probe_engine(registry, engine.name);
    if (!found.available) {
      measured.left_out.push_back(found.why_not);
      continue;
    }
    for (const auto& [device, words] : words_by_device(found)) {
      for (const DType dtype : kTypes) {
        const std::string what = fmt::format("{} on {} in {}", engine.name, device, to_string(dtype));
        doing("measuring the peak of " + what);
        Result<MeasuredPeak> peak = peak_of({.registry = &registry,
                                             .location = found.location,
                                             .device = device,
                                             .dtype = dtype,
                                             .threads = usable_threads(),
                                             .folder = own.path(),
                                             .cancelled = cancelled});
        if (cancelled()) return fail(ErrorCode::kCancelled, "interrupted");
        if (!peak) {
          measured.left_out.push_back(fmt::format("{}: {}", what, peak.error().message));
          continue;
        }
        for (const std::string& word : words) {
          peak->hardware = word;
          measured.peaks.push_back(*peak);
        }
      }
    }
  }
  return measured;
}

}  // namespace assay
