// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <assay/support/plugin_support.hpp>
#include "py_runtime.hpp"

namespace assay::plugin {

/// A compiled program. Its contexts share it.
struct XlaCompiled {
  std::shared_ptr<const PyRuntime> runtime;
  const assay_host_api* host = nullptr;
  PyRef client;    ///< a Client of xla_device.py
  PyRef compiled;  ///< a Compiled of xla_compiled.py
  PyRef execute;   ///< its bound method, called in each run
  PyRef handlers;  ///< functions that make arrays from a run's results
  std::vector<PyRef> weights;
  std::vector<std::size_t> spare;  ///< outputs whose memory is given to each run, in the order of these arguments
  std::vector<std::pair<std::size_t, std::size_t>> donated;  ///< inputs that are overwritten: (input, output)
};

/// A StableHLO module, read and its weights on the device. All extents are fixed, so it is compiled once: for the first
/// context.
class XlaProgram final : public Program {
 public:
  /// Errors: not_found: the file, a weight's file, the device; invalid_argument: a file that is not a StableHLO module,
  /// a sidecar that does not fit; unsupported: open extents, an element type, a precision that the model does not
  /// have, a device where this engine has not been run.
  [[nodiscard]] static Result<std::unique_ptr<Program>> load(const std::shared_ptr<const PyRuntime>& runtime,
                                                             const assay_host_api& host, const LoadArgs& args);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const override { return inputs_; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const override { return outputs_; }
  /// Errors: unsupported, if the arithmetic is not as requested.
  [[nodiscard]] Result<KeyValues> effective() override;
  [[nodiscard]] Result<std::unique_ptr<Context>> create_context(std::span<const TensorShape> shapes) override;

 private:
  XlaProgram() = default;
  [[nodiscard]] Status compile();

  std::shared_ptr<const PyRuntime> runtime_;
  const assay_host_api* host_ = nullptr;
  bool strict_ = true;
  int threads_ = 1;  ///< number of threads that compute, counted in the process
  PyRef client_, model_, overrides_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::shared_ptr<const XlaCompiled> compiled_;
  KeyValues measured_;
};

}  // namespace assay::plugin
