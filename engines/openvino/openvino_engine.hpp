// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ov_program.hpp"

namespace assay::plugin {

/// OpenVINO through its C API, opened at run time (README.md).
class OpenvinoEngine final : public Engine {
 public:
  static constexpr const char* kName = "openvino";
  static constexpr bool kCompilesShapes = true;
  static constexpr bool kConcurrentContexts = true;
  static constexpr bool kTimesItself = true;

  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api& host);
  [[nodiscard]] static std::vector<OptionInfo> option_infos() { return OvProgram::option_infos(); }

  [[nodiscard]] std::string version() const override { return runtime_->version(); }
  /// Each device as hardware "openvino"; the processor also as "cpu", with the same id.
  [[nodiscard]] Result<std::vector<Device>> devices() override;
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    return OvProgram::load(runtime_, args);
  }

 private:
  explicit OpenvinoEngine(std::shared_ptr<const OvRuntime> runtime) : runtime_(std::move(runtime)) {}

  std::shared_ptr<const OvRuntime> runtime_;
};

}  // namespace assay::plugin
