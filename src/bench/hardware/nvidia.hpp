// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <assay/result.hpp>

namespace assay {

struct NvidiaGpu {
  std::string name, uuid;
  std::uint64_t memory_bytes = 0;
  std::string compute_capability;  ///< "9.0"
};

struct NvidiaReport {
  std::string driver;        ///< "570.86.15"
  std::string cuda_version;  ///< "12.8"
  std::vector<NvidiaGpu> gpus;
};

/// Asks NVIDIA's management library, loaded at run time. What it does not report stays empty.
/// Errors: not_found (the library cannot be loaded, why), unsupported (it lacks a function, or does not start).
[[nodiscard]] Result<NvidiaReport> ask_nvml(const std::string& library = "libnvidia-ml.so.1");

}  // namespace assay
