// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ort_program.hpp"

namespace assay::plugin {

/// ONNX Runtime through its C API, opened at run time (README.md).
class OnnxruntimeEngine final : public Engine {
 public:
  static constexpr const char* kName = "onnxruntime";
  static constexpr bool kCompilesShapes = false;
  static constexpr bool kConcurrentContexts = true;
  static constexpr bool kTimesItself = true;
  static constexpr bool kSharesMemory = true;

  [[nodiscard]] static Result<std::unique_ptr<Engine>> create(const std::string& home, const assay_host_api& host);
  [[nodiscard]] static std::vector<OptionInfo> option_infos() { return OrtProgram::option_infos(); }

  [[nodiscard]] std::string version() const override { return runtime_->version(); }
  [[nodiscard]] Result<std::vector<Device>> devices() override;
  [[nodiscard]] Result<std::unique_ptr<Program>> load(const LoadArgs& args) override {
    return OrtProgram::load(runtime_, args);
  }

 private:
  explicit OnnxruntimeEngine(std::shared_ptr<const OrtRuntime> runtime) : runtime_(std::move(runtime)) {}

  std::shared_ptr<const OrtRuntime> runtime_;
};

}  // namespace assay::plugin
