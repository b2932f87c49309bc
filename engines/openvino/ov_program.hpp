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
  std::vector<ValueInfo> outputs;   ///< their shapes are those of the compilation
  std::string devices;              ///< devices that the model runs on: "CPU"
  bool may_have_variables = false;  ///< the model may keep state from run to run
  bool one_stream = false;          ///< there is only one copy of the graph for all runs of a request
};

/// With the option static_shapes (the default) the model is compiled for the shapes of each new context, as
/// OpenVINO's own benchmark does; open extents of a context stay open. The effective properties are read back from each
/// compilation, and before the first one from a tiny model that is compiled with the same properties, but not while the
/// model is loaded. Without the option the model is compiled once, when it is loaded, with all its dynamic extents.
class OvProgram final : public Program {
 public:
  [[nodiscard]] static std::vector<OptionInfo> option_infos();

  /// Errors: not_found (model file, device); unsupported (an operator, a string input, a precision that the model or
  /// the device does not have); invalid_argument (a malformed model, an unknown option).
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(const std::shared_ptr<const OvRuntime>& runtime,
                                                             const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return outputs_; }
  /// Errors: unsupported, if the arithmetic is not as requested.
  [[nodiscard]] Result<KeyValues> effective() override;
  /// Reads the model again if it was freed after a compilation for other shapes.
  [[nodiscard]] Status prepare_context(std::span<const TensorShape> shapes) override;
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;

 private:
  OvProgram() = default;
  [[nodiscard]] Result<OvModelPtr> read_model() const;
  /// Compiles and reads back the effective properties. Errors: unsupported, if the arithmetic is not as requested.
  [[nodiscard]] Result<std::shared_ptr<const OvCompiled>> compile(const ov_model_t* model);
  [[nodiscard]] bool is_compiled_for(std::span<const TensorShape> shapes) const;
  /// Reshapes the model to these extents, except inputs of rank 0: the C API would change them to rank 1.
  [[nodiscard]] Status reshape(const ov_model_t* model, std::span<const TensorShape> shapes) const;
  /// The model for exactly these shapes; the latest one is kept, for the contexts of several streams.
  [[nodiscard]] Result<std::shared_ptr<const OvCompiled>> compile_for(std::span<const TensorShape> shapes);

  std::shared_ptr<const OvRuntime> runtime_;
  std::string path_, device_;
  std::string strict_;  ///< the required precision, as OpenVINO names it; empty: OpenVINO chooses
  bool static_shapes_ = true;
  KeyValues properties_;  ///< properties of every compilation
  KeyValues options_;
  std::vector<ValueInfo> inputs_, outputs_;
  /// The model as read from its file; each compilation frees it, because its weights would be in memory twice.
  OvModelPtr model_;
  std::shared_ptr<const OvCompiled> compiled_;
  std::vector<std::vector<std::int64_t>> compiled_for_;
  KeyValues effective_;    ///< properties read back from the latest compilation
  std::string denormals_;  ///< measured by the first call of effective()
};

}  // namespace assay::plugin
