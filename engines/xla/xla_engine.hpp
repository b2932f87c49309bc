// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xla_program.hpp"

namespace assay::plugin {

/// XLA through jaxlib, in an embedded Python interpreter (README.md).
class XlaEngine final : public Engine {
 public:
  static constexpr const char* kName = "xla";
  static constexpr bool kCompilesShapes = true;
  static constexpr bool kConcurrentContexts = true;
  static constexpr bool kTimesItself = true;

  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api& host);
  [[nodiscard]] static std::vector<OptionInfo> option_infos() { return {}; }

  /// The extension "notes" (engine_abi.h).
  [[nodiscard]] static const void* extension(std::string_view name);

  [[nodiscard]] std::string version() const override { return runtime_->version(); }
  [[nodiscard]] Result<std::vector<Device>> devices() override;
  /// jax's plug-ins for other hardware, which are found and not run: a sentence by hardware.
  [[nodiscard]] Result<KeyValues> notes() const;
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    return XlaProgram::load(runtime_, *host_, args);
  }

 private:
  XlaEngine(std::shared_ptr<const PyRuntime> runtime, const assay_host_api& host)
      : runtime_(std::move(runtime)), host_(&host) {}

  std::shared_ptr<const PyRuntime> runtime_;
  const assay_host_api* host_;
};

}  // namespace assay::plugin
