// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <assay/engine_plugin.hpp>

namespace assay::plugin {

/// Common code of contexts: bound buffers, the order of calls, timed bursts, and outputs that become inputs
/// (engine_abi.h). A derived class only calls its runtime and does not implement these rules.
class RuntimeContext : public Context {
 public:
  [[nodiscard]] Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) final;
  [[nodiscard]] Status run(std::size_t set) final;
  [[nodiscard]] Status get_output(std::size_t index, assay_tensor& out) final;
  [[nodiscard]] bool has_run_timed() const final { return true; }
  [[nodiscard]] Status run_timed(std::size_t runs, std::size_t first_set, std::size_t sets,
                                 assay_samples& samples) final;
  [[nodiscard]] Status alias_output_to_input(std::size_t output, std::size_t input) final;
  [[nodiscard]] Status reset_state() final;
  [[nodiscard]] Status share_output_with_input(std::size_t output, std::size_t input) final;

 protected:
  /// When a run began and ended, by the host's clock.
  struct Interval {
    std::int64_t start_ns = 0, end_ns = 0;
  };
  struct Alias {
    std::size_t output, input;
  };

  /// `shapes` have passed check_shapes.
  RuntimeContext(std::vector<ValueInfo> inputs, std::vector<ValueInfo> outputs, std::span<const TensorShape> shapes);

  /// Binds a checked buffer; `set` is at most one beyond the existing sets. The data of an empty tensor is not null.
  [[nodiscard]] virtual Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) = 0;
  /// Runs once. While state_begun(), aliased inputs are the previous run's outputs instead of the buffers of `set`.
  /// `took` excludes the preparation of the run.
  [[nodiscard]] virtual Status do_run(std::size_t set, Interval& took) = 0;
  /// Returns an output of the latest run, which exists; `index` is valid.
  [[nodiscard]] virtual Status do_get_output(std::size_t index, assay_tensor& out) = 0;
  /// Prepares for a new alias, already in aliases().
  [[nodiscard]] virtual Status do_alias(const Alias& alias) = 0;
  [[nodiscard]] virtual Status do_reset_state() { return {}; }
  /// Allocates the memory of a new share with shapes()[share.input]; not yet in shares(). do_reset_state writes zeros.
  [[nodiscard]] virtual Status do_share(const Alias& share);

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<TensorShape>& shapes() const { return shapes_; }
  [[nodiscard]] const std::vector<Alias>& aliases() const { return aliases_; }
  [[nodiscard]] const std::vector<Alias>& shares() const { return shares_; }
  [[nodiscard]] bool is_aliased(std::size_t input) const;
  [[nodiscard]] bool is_shared(std::size_t input) const;
  [[nodiscard]] bool state_begun() const { return state_begun_; }
  /// Whether an extent is open, so that outputs may have other extents in each run.
  [[nodiscard]] bool has_open_extents() const;

 private:
  [[nodiscard]] Status check_pair(std::size_t output, std::size_t input) const;
  [[nodiscard]] Status check_ready(std::size_t set, bool has_state) const;
  [[nodiscard]] Status burst(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples);

  std::vector<ValueInfo> inputs_, outputs_;
  std::vector<TensorShape> shapes_;
  std::vector<std::vector<bool>> bound_;  ///< true if the input of a set is bound
  std::vector<Alias> aliases_, shares_;
  bool ran_ = false, state_begun_ = false;
};

}  // namespace assay::plugin
