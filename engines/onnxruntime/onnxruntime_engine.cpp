// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_engine.hpp"

#include <algorithm>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {

Result<std::unique_ptr<Engine>> OnnxruntimeEngine::create(const std::string& home, const assay_host_api& host) {
  ASSAY_TRY(auto runtime, OrtRuntime::open(home, host));
  return std::unique_ptr<Engine>(new OnnxruntimeEngine(std::move(runtime)));
}

Result<std::vector<Device>> OnnxruntimeEngine::devices() {
  std::vector<Device> devices;
  for (const OrtProvider& provider : ort_providers()) {
    ASSAY_TRY(const bool built_in, ort_has_provider(*runtime_, provider));
    if (!built_in || !ort_try_provider(*runtime_, provider)) continue;
    const bool cpu = provider.append == OrtProvider::Append::kNothing;
    devices.push_back({provider.device_id, provider.hardware, cpu ? processor_name() : provider.ort_name,
                       cpu ? machine_memory_bytes() : 0, provider.score, 0});
  }
  std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return devices;
}

}  // namespace assay::plugin

ASSAY_EXPORT_ENGINE(assay::plugin::OnnxruntimeEngine);
