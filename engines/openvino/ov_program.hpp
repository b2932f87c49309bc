// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ov_runtime.hpp"

namespace assay::plugin {

/// A compiled model. Its contexts share it.
struct OvCompiled {
  std::shared_ptr<const OvRuntime> runtime;  // before the model: outlives it
  OvCompiledPtr model;
};

/// With the option static_shapes (the default) the model is compiled for the shapes of each new context, as
/// OpenVINO's own benchmark does, and what is in force is read back from a tiny model compiled alike; without it the
/// model is compiled once, when it is loaded, with its dynamic extents.
class OvProgram final : public Program {
 public:
  [[nodiscard]] static std::vector<OptionInfo> option_infos();

  /// Errors: not_found (model file, device); unsupported (an operator, a string input, a precision that the model or the
  /// device has not); invalid_argument (a malformed model, an unknown option).
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(std::shared_ptr<const OvRuntime> runtime, const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return outputs_; }
  [[nodiscard]] Result<KeyValues> effective() override { return effective_; }
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;

 private:
  OvProgram() = default;
  [[nodiscard]] Result<OvModelPtr> read_model() const;
  [[nodiscard]] Status read_signature(const ov_model_t* model);
  /// Compiles, reads back what is in force, and refuses what is not computed as asked.
  [[nodiscard]] Result<std::shared_ptr<const OvCompiled>> compile(const ov_model_t* model);
  [[nodiscard]] std::string effective_precision() const;
  /// The model for exactly these shapes; the latest one is kept, for the contexts of several streams.
  [[nodiscard]] Result<std::shared_ptr<const OvCompiled>> compile_for(std::span<const TensorShape> shapes);

  std::shared_ptr<const OvRuntime> runtime_;
  std::string path_, device_;
  std::string strict_;  ///< the precision that must come out, as OpenVINO's word; empty: its choice
  int streams_ = 1;
  bool static_shapes_ = true;
  KeyValues properties_;  ///< given to every compilation
  KeyValues options_;
  std::vector<ValueInfo> inputs_, outputs_;
  OvModelPtr model_;  ///< waits for the first shape; freed once compiled, for its weights would be counted twice
  std::shared_ptr<const OvCompiled> compiled_;
  std::vector<std::vector<std::int64_t>> compiled_for_;
  KeyValues effective_;
};

}  // namespace assay::plugin
