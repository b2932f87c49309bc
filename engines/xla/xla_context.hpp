// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <assay/support/runtime_context.hpp>
#include "xla_program.hpp"

namespace assay::plugin {

/// One list of arguments, in which a run replaces the inputs of its set; weights stay. Inputs are arrays over the
/// caller's buffers; buffers that are not aligned as XLA requires are copied in each run. Outputs are written into the
/// memory of the outputs of the run before (Compiled in xla_compiled.py).
///
/// An output that becomes an input is passed on as it is. If the program may write it over that input, its memory stays
/// the same; else two arrays take turns, so that no run writes what it reads.
class XlaContext final : public RuntimeContext {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Context>> create(std::shared_ptr<const XlaCompiled> compiled,
                                                               const std::vector<ValueInfo>& inputs,
                                                               const std::vector<ValueInfo>& outputs,
                                                               std::span<const TensorShape> shapes);
  ~XlaContext() override;

 private:
  /// A bound buffer.
  struct Bound {
    const void* data = nullptr;
    std::size_t bytes = 0;
    assay_dtype dtype = 0;
    std::unique_ptr<Buffer> aligned{};  ///< a copy that XLA reads; null: it reads the caller's buffer
    /// XLA's array of `aligned` or `data`; empty: a run consumed it, because an output was written over it.
    PyRef array{};
  };
  struct Set {
    std::vector<Bound> inputs;
    bool copies = false;  ///< an input is copied in each run
  };

  XlaContext(std::shared_ptr<const XlaCompiled> compiled, const std::vector<ValueInfo>& inputs,
             const std::vector<ValueInfo>& outputs, std::span<const TensorShape> shapes)
      : RuntimeContext(inputs, outputs, shapes), compiled_(std::move(compiled)) {}

  [[nodiscard]] Status do_set_input(std::size_t set, std::size_t index, const assay_tensor& tensor) override;
  [[nodiscard]] Status do_run(std::size_t set, Interval& took) override;
  [[nodiscard]] Status do_get_output(std::size_t index, assay_tensor& out) override;
  [[nodiscard]] Status do_alias(const Alias& alias) override;

  // These need the lock.
  [[nodiscard]] Status prepare();
  [[nodiscard]] Result<PyRef> array_over(const Bound& bound, std::size_t index) const;
  /// Puts the inputs of a run into the list of arguments.
  [[nodiscard]] Status select(std::size_t set);
  /// Keeps the outputs of a run of `set`, and gives their memory to the next one.
  [[nodiscard]] Status keep_results(std::size_t set, PyObject* results);
  void set_argument(std::size_t place, const PyRef& array);
  /// The memory for the output number `place` of XlaCompiled::spare in the next run.
  void give_memory(std::size_t place, PyRef memory);
  /// The same with memory that no run was given.
  [[nodiscard]] Status renew_memory(std::size_t place);
  /// The Error of a run of `set` that failed. It may have consumed the memory that it was given.
  [[nodiscard]] tl::unexpected<Error> execution_error(std::size_t set);
  /// Arrays over bound inputs that a run of `set` consumed are made again for the next run.
  void forget_consumed(std::size_t set);

  static constexpr std::size_t kNone = SIZE_MAX;

  std::shared_ptr<const XlaCompiled> compiled_;
  std::vector<Set> sets_;
  PyRef arguments_;            ///< a list: inputs, weights, memory for outputs
  PyRef consume_, block_;      ///< the name of a method; jaxlib's function that waits for arrays
  std::vector<PyRef> latest_;  ///< the outputs of the latest run
  std::vector<PyRef> spare_;   ///< memory for outputs of the next run, in the order of compiled_->spare
  bool renew_ = false;         ///< spare_ was consumed by a run that failed
  std::size_t selected_ = kNone;
};

}  // namespace assay::plugin
