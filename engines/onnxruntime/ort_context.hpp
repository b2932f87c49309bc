// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <assay/support/plugin_support.hpp>
#include <assay/support/runtime_context.hpp>
#include "ort_program.hpp"

namespace assay::plugin {

/// One IoBinding per input set, all with the same output buffers.
///
/// The extents of outputs are known after the first run, for which ONNX Runtime allocates memory. Before the second
/// run, outside of any timed interval, buffers of that size are bound; later runs reuse them. If a run fails with these
/// buffers it is repeated without: a model whose outputs change size with the data refuses a buffer of another size
/// (with a message that differs by version), and from then on each run allocates its outputs. Each run also allocates
/// them for a context with open extents or with outputs that become inputs: the output of a run is bound unchanged,
/// never copied. An output that shares memory with an input is one tensor, bound as both in every set.
class OrtContext final : public RuntimeContext {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const OrtModel> model,
                                                               std::span<const TensorShape> shapes);

 private:
  enum class Outputs {
    kUnknown,    ///< no run yet
    kLearnable,  ///< the latest run has their extents
    kBound,      ///< the outputs are in our buffers
    kVarying,    ///< the outputs are in memory that each run allocates
  };
  struct Set {
    OrtBindingPtr binding;
    std::vector<OrtValuePtr> inputs;
  };
  struct Output {
    std::vector<std::int64_t> dims;
    std::unique_ptr<Buffer> buffer;
    OrtValuePtr value;
  };

  OrtContext(std::shared_ptr<const OrtModel> model, std::span<const TensorShape> shapes)
      : RuntimeContext(model->inputs, model->outputs, shapes), model_(std::move(model)) {}

  [[nodiscard]] Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status do_run(std::size_t set, Interval& took) override;
  [[nodiscard]] Status do_get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] Status do_alias(const Alias& alias) override;
  [[nodiscard]] Status do_share(const Alias& share) override;
  [[nodiscard]] Status do_reset_state() override;

  [[nodiscard]] Status add_set();
  /// Completes the binding of `set` for the next run.
  [[nodiscard]] Status prepare(std::size_t set);
  /// Binds the inputs of `set`; some of them are outputs of the latest run.
  [[nodiscard]] Status bind_state(std::size_t set);
  /// Keeps outputs of the latest run as inputs of the next one. Errors: mismatch, if they do not match the inputs.
  [[nodiscard]] Status keep_state();
  /// Binds our buffers in every set, with the sizes of the latest run.
  [[nodiscard]] Status bind_outputs();
  /// Lets the runtime allocate all outputs, in every set.
  [[nodiscard]] Status unbind_outputs();
  [[nodiscard]] Status bind_outputs_of(Set& set);
  [[nodiscard]] Status bind_input(Set& set, std::size_t index, const OrtValue* value);
  /// The memory that an input shares with an output; nullptr: none.
  [[nodiscard]] const OrtValue* shared_value(std::size_t Alias::*end, std::size_t index) const;
  [[nodiscard]] Result<std::vector<OrtValuePtr>> latest_values() const;

  std::shared_ptr<const OrtModel> model_;
  std::vector<Output> buffers_;                // before sets_: the bindings refer to these
  std::map<std::size_t, OrtValuePtr> shared_;  ///< the key is the index of the input
  std::vector<Set> sets_;
  Outputs state_ = Outputs::kUnknown;
  std::size_t latest_set_ = 0;
  std::vector<OrtValuePtr>
      latest_;  ///< the outputs of the latest run, once they were read; keeps memory of the runtime alive
  std::vector<std::int64_t> latest_dims_;
};

}  // namespace assay::plugin
