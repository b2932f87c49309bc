// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ort_providers.hpp"
#include "ort_runtime.hpp"

namespace assay::plugin {

/// A session and its requested options. Its contexts share it.
struct OrtModel {
  std::shared_ptr<const OrtRuntime> runtime;  // before the session: outlives it
  OrtOptionsPtr options;
  OrtSessionPtr session;
  OrtMemoryInfoPtr host_memory;
  std::vector<ValueInfo> inputs, outputs;
};

class OrtProgram final : public Program {
 public:
  /// The options of OrtEngine::option_infos().
  [[nodiscard]] static std::vector<OptionInfo> option_infos();

  /// Errors: not_found (model file, device); unsupported (an accelerator, an operator, an opset, an input that is not a
  /// tensor, a precision that the model does not have); invalid_argument (a malformed model, an unknown option).
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(const std::shared_ptr<const OrtRuntime>& runtime,
                                                             const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return model_->inputs; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return model_->outputs; }
  /// The arithmetic is measured by the first call (ort_probe.hpp).
  [[nodiscard]] Result<KeyValues> effective() override;
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;

 private:
  OrtProgram(std::shared_ptr<const OrtModel> model, KeyValues effective)
      : model_(std::move(model)), effective_(std::move(effective)) {}

  std::shared_ptr<const OrtModel> model_;
  KeyValues effective_;
  bool measured_ = false;
};

}  // namespace assay::plugin
