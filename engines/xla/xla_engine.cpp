// SPDX-License-Identifier: Apache-2.0
#include "xla_engine.hpp"

namespace assay::plugin {

Result<std::unique_ptr<Engine>> XlaEngine::create(const std::string& home, const assay_host_api& host) {
  ASSAY_TRY(auto runtime, PyRuntime::start(home));
  return std::unique_ptr<Engine>(new XlaEngine(std::move(runtime), host));
}

Result<std::vector<Device>> XlaEngine::devices() {
  return std::vector<Device>{{"cpu", "cpu", processor_name(), machine_memory_bytes(), 0, 0}};
}

}  // namespace assay::plugin
ASSAY_EXPORT_ENGINE(assay::plugin::XlaEngine);
