// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ort_program.hpp"
#include "support/plugin_support.hpp"

namespace assay::plugin {

/// One IoBinding per input set, all with the same output buffers.
///
/// The extents of outputs are known after the first run, which ONNX Runtime gives its own memory; before the second one,
/// outside of any timed interval, buffers of that size are bound and reused from then on. A run that fails
/// with them is repeated without: a model whose outputs change size with the data refuses a buffer of another size
/// (in words that differ by version), and has its outputs allocated by every run from then on.
class OrtContext final : public Context {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const OrtModel> model,
                                                               std::span<const TensorShape> shapes);

  [[nodiscard]] Status set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status run(std::size_t set) override;
  [[nodiscard]] Status get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] bool has_run_timed() const override { return true; }
  [[nodiscard]] Status run_timed(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples) override;

 private:
  enum class Outputs {
    kUnknown,         ///< no run yet
    kLearnable,       ///< the latest run tells their extents
    kBound,           ///< in our buffers
    kDataDependent,   ///< in memory that each run allocates
  };
  struct Set {
    OrtBindingPtr binding;
    std::vector<OrtValuePtr> inputs;
    std::size_t missing = 0;
  };
  struct Output {
    std::vector<std::int64_t> dims;
    std::unique_ptr<Buffer> buffer;
    OrtValuePtr value;
  };

  OrtContext(std::shared_ptr<const OrtModel> model, std::span<const TensorShape> shapes)
      : model_(std::move(model)), shapes_(shapes.begin(), shapes.end()) {}

  [[nodiscard]] Status add_set();
  [[nodiscard]] Status burst(std::size_t runs, std::size_t first_set, std::size_t sets, assay_samples& samples);
  [[nodiscard]] Status check_ready(std::size_t set) const;
  /// Binds our buffers in every set, sized by the latest run.
  [[nodiscard]] Status bind_outputs();
  /// Leaves all outputs to the runtime, in every set.
  [[nodiscard]] Status unbind_outputs();
  [[nodiscard]] Status bind_outputs_of(Set& set);
  [[nodiscard]] Result<std::vector<OrtValuePtr>> latest_values() const;

  std::shared_ptr<const OrtModel> model_;
  std::vector<TensorShape> shapes_;
  std::vector<Output> outputs_;  // before sets_: the bindings refer to these
  std::vector<Set> sets_;
  Outputs state_ = Outputs::kUnknown;
  std::size_t latest_set_ = 0;
  std::vector<OrtValuePtr> latest_;  ///< what get_output showed last; keeps run-allocated memory alive
  std::vector<std::int64_t> latest_dims_;
};

}  // namespace assay::plugin
