// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "torch_module.hpp"
#include "torch_optimise.hpp"
#include "torch_runtime.hpp"

namespace assay::plugin {

/// What contexts share.
struct TorchModel {
  TorchCode code;
  std::vector<ValueInfo> inputs, outputs;
  /// Assay did not lower the file: if it cannot be computed, the file or the inputs are the cause.
  bool foreign = false;
  const assay_host_api* host = nullptr;
};

class TorchProgram final : public SavableProgram {
 public:
  /// Errors: not_found (file, device); invalid_argument (not a model, an unknown option); unsupported (an operator, a
  /// precision that the model does not have, a device that was not tried).
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(const assay_host_api& host, const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return model_->inputs; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return model_->outputs; }
  [[nodiscard]] Result<KeyValues> effective() override;
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;
  [[nodiscard]] Status save(const std::string& path, bool frozen) const override;

 private:
  TorchProgram(LoadedModule loaded, std::shared_ptr<const TorchModel> model)
      : loaded_(std::move(loaded)), model_(std::move(model)) {}

  LoadedModule loaded_;  ///< the unchanged module of the file; save() writes it
  std::shared_ptr<const TorchModel> model_;
  int streams_ = 1;
  KeyValues options_;
};

}  // namespace assay::plugin
