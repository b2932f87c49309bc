// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "ov_program.hpp"

namespace assay::plugin {

/// One infer request. Input sets are tensors over the caller's buffers, exchanged outside of timed intervals; outputs are
/// the request's own tensors, which it allocates once and reuses.
class OvContext final : public Context {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const OvCompiled> compiled,
                                                               const std::vector<ValueInfo>& inputs,
                                                               const std::vector<ValueInfo>& outputs,
                                                               std::span<const TensorShape> shapes);

  [[nodiscard]] Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status run(std::size_t set) override;
  [[nodiscard]] Status get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] bool has_run_timed() const override { return true; }
  [[nodiscard]] Status run_timed(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) override;

 private:
  OvContext(std::shared_ptr<const OvCompiled> compiled, const std::vector<ValueInfo>& inputs,
            const std::vector<ValueInfo>& outputs, std::span<const TensorShape> shapes)
      : compiled_(std::move(compiled)), inputs_(inputs), outputs_(outputs), shapes_(shapes.begin(), shapes.end()) {}

  [[nodiscard]] Status check_ready(std::size_t set) const;
  /// Makes `set` the request's inputs, unless it is.
  [[nodiscard]] Status select(std::size_t set);

  static constexpr std::size_t kNone = SIZE_MAX;

  std::shared_ptr<const OvCompiled> compiled_;
  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<TensorShape> shapes_;
  std::vector<std::vector<OvTensorPtr>> sets_;
  OvRequestPtr request_;
  std::size_t selected_ = kNone;
  bool ran_ = false;
  OvTensorPtr output_;  ///< what get_output showed last
  std::vector<std::int64_t> output_dims_;
};

}  // namespace assay::plugin
