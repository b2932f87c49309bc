// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include <assay/support/runtime_context.hpp>
#include "ov_program.hpp"

namespace assay::plugin {

/// One infer request. Input sets are tensors over the caller's buffers, set outside of timed intervals; outputs
/// are the request's own tensors, which it allocates once and reuses.
///
/// An output that becomes an input must not be written while it is read. The processor's plug-in ensures this if the
/// extents of the output are open and there is one stream: it has two buffers and uses the one that is not an input, so
/// that the request's own tensor is passed on. With more streams it does not: each stream has its own graph, and if a
/// graph had the same input in its latest run, it does not check whether that is also the output, and overwrites or
/// frees it. In this case, and on other devices, the request gets two tensors of ours alternately.
class OvContext final : public RuntimeContext {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const OvCompiled> compiled,
                                                               const std::vector<ValueInfo>& inputs,
                                                               std::span<const TensorShape> shapes);

 private:
  /// The memory of an aliased output: two tensors alternately, or (empty) the request's own.
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
  /// Sets `set` and the outputs of the latest run as the request's inputs, unless they are already.
  [[nodiscard]] Status select(std::size_t set);
  [[nodiscard]] Status give_input(std::size_t index, const ov_tensor_t* tensor);
  [[nodiscard]] Status give_outputs();
  [[nodiscard]] Status keep_state();
  [[nodiscard]] Result<OvTensorPtr> output_tensor(std::size_t index) const;

  static constexpr std::size_t kNone = SIZE_MAX;

  std::shared_ptr<const OvCompiled> compiled_;
  std::vector<std::vector<OvTensorPtr>> sets_;
  std::map<std::size_t, Turns> turns_;  ///< the key is the index of the output
  /// The request's own tensors that became inputs; the key is the index of the output.
  std::map<std::size_t, OvTensorPtr> left_;
  OvRequestPtr request_;
  std::size_t selected_ = kNone;
  OvTensorPtr output_;  ///< the latest result of get_output
  std::vector<std::int64_t> output_dims_;
};

}  // namespace assay::plugin
