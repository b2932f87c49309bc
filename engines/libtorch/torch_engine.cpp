// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <assay/support/plugin_support.hpp>
#include "torch_program.hpp"
#include "torch_runtime.hpp"
#include "torch_settings.hpp"
#include "torch_values.hpp"

namespace assay::plugin {
namespace {

class TorchEngine final : public Engine {
 public:
  TorchEngine(const assay_host_api& host, std::string version) : host_(&host), version_(std::move(version)) {}
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] Result<std::vector<Device>> devices() override {
    return std::vector<Device>{{"cpu", "cpu", processor_name(), machine_memory_bytes(), 0, 0}};
  }
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    return TorchProgram::load(*host_, args);
  }

 private:
  const assay_host_api* host_;
  std::string version_;
};

}  // namespace
}  // namespace assay::plugin

extern "C" ASSAY_EXPORT void assay_create_torch_engine(const assay_host_api& host, const std::string& version,
                                                       assay::Result<std::unique_ptr<assay::plugin::Engine>>& made);

void assay_create_torch_engine(const assay_host_api& host, const std::string& version,
                               assay::Result<std::unique_ptr<assay::plugin::Engine>>& made) try {
  static bool first = true;
  if (first) assay::plugin::set_strict_arithmetic();
  first = false;
  made = std::make_unique<assay::plugin::TorchEngine>(host, version);
} catch (const std::exception& thrown) {
  made = assay::plugin::torch_error(thrown, assay::ErrorCode::kInternal, "libtorch does not start");
}
