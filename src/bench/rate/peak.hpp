// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "core/base/cancel.hpp"
#include "core/base/json.hpp"

namespace assay {

/// The highest rate that was measured of a runtime on a device, in one precision: that of multiplying large matrices.
/// What the hardware could do in theory may be more.
struct MeasuredPeak {
  std::string hardware;   ///< word, "cpu"
  std::string device;     ///< id of the runtime
  std::string precision;  ///< precision of the arithmetic: "float32"
  std::string engine{};
  std::string engine_version{};
  double flops_per_s = 0;  ///< kWideProduct
  double bytes_per_s = 0;  ///< kThinProduct
  int threads = 0;
  bool disturbed = false;     ///< something else used the machine meanwhile: it may be too low
  std::string measured_at{};  ///< UTC, ISO 8601
};
/// The keys that the query machine_peaks reads.
[[nodiscard]] Json to_json(const MeasuredPeak& peak);

struct MeasuredPeaks {
  std::vector<MeasuredPeak> peaks;
  std::vector<std::string> left_out;  ///< messages that say what has no peak, and why
};

/// Measures each installed runtime that computes ONNX graphs, on each of its devices (not those that are simulated, or
/// computed by the processor in place of another one), in float32, float16 and bfloat16, on all threads that this
/// process may use: about two seconds each, four if something else uses the machine. `doing` is called before each.
/// `folder` needs 268 MB meanwhile. A type that a runtime does not compute, or computes in another precision, is left
/// out. Errors: cancelled; those of making the folder.
[[nodiscard]] Result<MeasuredPeaks> measure_peaks(const EngineRegistry& registry, const std::filesystem::path& folder,
                                                  const Cancelled& cancelled,
                                                  const std::function<void(const std::string&)>& doing);

}  // namespace assay
