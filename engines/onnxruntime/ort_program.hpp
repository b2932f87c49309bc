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
  OrtSessionPtr session;
  OrtMemoryInfoPtr host_memory;
  std::vector<ValueInfo> inputs, outputs;
};

class OrtProgram final : public Program {
 public:
  /// The options of OrtEngine::option_infos().
  [[nodiscard]] static std::vector<OptionInfo> option_infos();

  /// Errors: not_found (model file, device); unsupported (an operator, an opset, an input that is not a tensor, a
  /// precision that the model or the device does not have); invalid_argument (a malformed model, an unknown option).
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(const std::shared_ptr<const OrtRuntime>& runtime,
                                                             const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return model_->inputs; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return model_->outputs; }
  [[nodiscard]] Result<KeyValues> effective() override { return effective_; }
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;

 private:
  OrtProgram(std::shared_ptr<const OrtModel> model, KeyValues effective)
      : model_(std::move(model)), effective_(std::move(effective)) {}

  std::shared_ptr<const OrtModel> model_;
  KeyValues effective_;
};

}  // namespace assay::plugin
