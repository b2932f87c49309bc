// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "torch_runtime.hpp"

namespace assay::plugin {

/// libtorch, opened at run time (README.md). The engine of the second library does the work.
class LibtorchEngine final : public Engine {
 public:
  static constexpr const char* kName = "libtorch";
  static constexpr bool kCompilesShapes = false;
  static constexpr bool kConcurrentContexts = true;
  static constexpr bool kTimesItself = true;

  /// Errors: not_found: no libtorch in `home`, or a part of it is missing or not whole; incompatible_plugin: another
  /// version than the one that this was built for.
  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api& host);
  [[nodiscard]] static std::vector<OptionInfo> option_infos();
  /// "save": engine_abi.h.
  [[nodiscard]] static const void* extension(std::string_view name);

  [[nodiscard]] std::string version() const override { return inner_->version(); }
  [[nodiscard]] Result<std::vector<Device>> devices() override { return inner_->devices(); }
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const LoadArgs& args) override { return inner_->load(args); }

 private:
  explicit LibtorchEngine(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}
  std::unique_ptr<Engine> inner_;
};

}  // namespace assay::plugin
