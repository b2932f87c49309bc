// SPDX-License-Identifier: Apache-2.0
#include "openvino_engine.hpp"

#include <algorithm>
#include <charconv>

#include <assay/support/plugin_support.hpp>

namespace assay::plugin {

Result<std::unique_ptr<Engine>> OpenvinoEngine::create(const std::string& home, const assay_host_api& host) {
  ASSAY_TRY(auto runtime, OvRuntime::open(home, host));
  return std::unique_ptr<Engine>(new OpenvinoEngine(std::move(runtime)));
}

Result<std::vector<Device>> OpenvinoEngine::devices() {
  ASSAY_TRY(const auto ids, runtime_->devices());
  std::vector<Device> devices;
  for (const std::string& id : ids) {
    Device device{id, "openvino", runtime_->device_property(id, "FULL_DEVICE_NAME").value_or(id), 0, 20, 0};
    if (id == "CPU") {
      device.memory_bytes = machine_memory_bytes();
      device.score = 10;
      devices.push_back(device);
      devices.back().hardware = "cpu";
    } else if (const auto bytes = runtime_->device_property(id, "GPU_DEVICE_TOTAL_MEM_SIZE")) {
      std::from_chars(bytes->data(), bytes->data() + bytes->size(), device.memory_bytes);
    }
    devices.push_back(std::move(device));
  }
  if (!ids.empty()) devices.push_back({"AUTO", "openvino", "chosen by OpenVINO", 0, 1, 0});
  std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return devices;
}

}  // namespace assay::plugin
ASSAY_EXPORT_ENGINE(assay::plugin::OpenvinoEngine);
