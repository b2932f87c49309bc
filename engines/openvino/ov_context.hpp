// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include <assay/support/runtime_context.hpp>
#include "ov_program.hpp"

namespace assay::plugin {

/// One infer request. Input sets are tensors over the caller's buffers, exchanged outside of timed intervals; outputs
/// are the request's own tensors, which it allocates once and reuses.
///
/// An output that becomes an input must not be written while it is read. The processor's plug-in sees to that itself
/// where the output's extents are open and there is one stream: it has two buffers and takes the one that is no input,
/// so that the request's own tensor is handed on. With more streams it does not: each has a graph of its own, and one
/// that had the same input in its latest run no longer looks whether that is the output too, writes into it or frees
/// it. There, and elsewhere, the request gets two tensors of ours in turn.
class OvContext final : public RuntimeContext {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const OvCompiled> compiled,
                                                               const std::vector<ValueInfo>& inputs,
                                                               std::span<const TensorShape> shapes);

 private:
  /// Where an aliased output goes: two tensors in turn, or (empty) wherever the request puts it.
  struct Turns {
    std::array<OvTensorPtr, 2> tensors;
    std::size_t next = 0;
  };

  OvContext(std::shared_ptr<const OvCompiled> compiled, const std::vector<ValueInfo>& inputs,
            std::span<const TensorShape> shapes)
      : RuntimeContext(inputs, compiled->outputs, shapes), compiled_(std::move(compiled)) {}

  [[nodiscard]] Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status do_run(std::size_t set, Interval& took) override;
  [[nodiscard]] Status do_get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] Status do_alias(const Alias& alias) override;
  [[nodiscard]] Status do_reset_state() override;

  [[nodiscard]] Status create_request();
  /// Makes `set`, and what the latest run left, the request's inputs, unless they are.
  [[nodiscard]] Status select(std::size_t set);
  [[nodiscard]] Status give_input(std::size_t index, const ov_tensor_t* tensor);
  [[nodiscard]] Status give_outputs();
  [[nodiscard]] Status keep_state();
  [[nodiscard]] Result<OvTensorPtr> output_tensor(std::size_t index) const;

  static constexpr std::size_t kNone = SIZE_MAX;

  std::shared_ptr<const OvCompiled> compiled_;
  std::vector<std::vector<OvTensorPtr>> sets_;
  std::map<std::size_t, Turns> turns_;       ///< by output
  std::map<std::size_t, OvTensorPtr> left_;  ///< by output: the request's own tensors that became inputs
  OvRequestPtr request_;
  std::size_t selected_ = kNone;
  OvTensorPtr output_;  ///< what get_output showed last
  std::vector<std::int64_t> output_dims_;
};

}  // namespace assay::plugin
