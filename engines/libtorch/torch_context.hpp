// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include <assay/support/runtime_context.hpp>
#include "torch_program.hpp"

namespace assay::plugin {

/// Bound buffers as tensors. libtorch allocates the outputs of each run, and they are returned as they are; those that
/// are views of an input, or not packed in row-major order, are copied within the timed interval. A cache is written in
/// place while the state is kept; bound buffers are not changed.
class TorchContext final : public RuntimeContext {
 public:
  TorchContext(std::shared_ptr<const TorchModel> model, std::span<const TensorShape> shapes);

 private:
  [[nodiscard]] Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status do_run(std::size_t set, Interval& took) override;
  [[nodiscard]] Status do_get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] Status do_alias(const Alias&) override { return {}; }
  /// Checks the results of a run against the signature. Errors: mismatch: another number, element type or extent.
  [[nodiscard]] Status check(const std::vector<at::Tensor>& results) const;
  [[nodiscard]] tl::unexpected<Error> run_error(const std::exception& thrown) const;
  /// Copies the inputs that the run overwrites, unless they are its own earlier outputs.
  void keep_bound_inputs(std::vector<c10::IValue>& given) const;
  /// After the first run: finds the results that are views of an input, and copies them.
  void copy_views(std::vector<at::Tensor>& results, const std::vector<c10::IValue>& given);

  std::shared_ptr<const TorchModel> model_;
  std::vector<TensorShape> declared_;  ///< types and shapes of the outputs as the program declares them
  std::vector<std::vector<at::Tensor>> sets_;
  std::vector<at::Tensor> latest_;
  /// One value for each output: whether it is a view of an input, so that each run copies it; empty before the first
  /// run.
  std::vector<bool> copied_;
};

}  // namespace assay::plugin
