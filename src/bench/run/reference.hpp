// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/engine/registry.hpp"
#include "bench/plan/task.hpp"
#include "bench/prepare/artefact.hpp"
#include "bench/run/honest_runs.hpp"
#include "bench/verify/honest.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/cancel.hpp"

namespace assay {

/// What another engine computed, to decide between a cell and its reference (docs/statistics.md, "Disputes").
struct Opinion {
  std::string name;    ///< "evaluator-float64", or the engine's
  std::string engine;  ///< the engine that computed it
  bool exact = false;  ///< computed in float64, by kernels of its own: its verdict counts
  /// A file for every input set of the cell; empty: it could not compute them.
  std::vector<std::filesystem::path> outputs{};
  std::string why_none{};  ///< why it could not
  /// It lacked time or memory, and may have enough another time.
  bool may_answer_later = false;
  /// If it is exact: the honest error, that of the reference itself included (with_reference_error()); nullopt:
  /// unknown.
  std::optional<HonestErrors> honest{};
};

/// The outputs that a model should compute for given inputs, as files.
struct Reference {
  std::string name = "none";                     ///< onnxruntime-noopt | given | none
  std::vector<std::filesystem::path> outputs{};  ///< a file for every input set of the cell
  /// For a model that generates: for every set that is timed its greedy tokens and their largest logits
  /// (InferRequest::largest), empty for the others; no elements if the model does not generate.
  std::vector<std::filesystem::path> largest{};
  std::optional<HonestErrors> honest{};  ///< errors of honest arithmetic in the candidate's precision
  std::string why_no_honest{};           ///< why they are not known; "": they are, or none are needed
  std::string why_none{};                ///< why there is no reference
  std::optional<Error> invalid_file{};   ///< ONNX Runtime refused to load or run the file: it breaks the rules of ONNX
  double run_ms = 0;                     ///< time of one run; 0: the reference was not made now but found
  std::chrono::nanoseconds spent{};      ///< time to make it, which counts as the cell's time
  /// What other engines computed, in the order of asking; nullopt: no cell disputed it, or engines may answer later.
  std::optional<std::vector<Opinion>> opinions{};
};

/// Makes references in a worker of their own: the reference engine on the CPU, with the options of its entry. An engine
/// that computes no model is its own reference, without the options of the run, because it defines its numbers. Results
/// are kept in a folder by model, inputs, shape, precision and reference version, with checksums, and reused while
/// these agree. Outputs that came with the model are the reference themselves: only the honest error is measured. It is
/// measured at batch size 1, kept by model, precision and the other extents, and used for all batch sizes. release()
/// ends the worker, so that candidate and reference are never in memory at the same time.
class ReferenceMaker {
 public:
  ReferenceMaker(const EngineRegistry& registry, ArtefactStore& artefacts, std::filesystem::path cache,
                 Cancelled cancelled);
  ~ReferenceMaker();

  /// The reference for a task's arithmetic. For float16 and bfloat16 the weights are rounded to it first; the
  /// arithmetic is that of the graph, or float32 for a graph that the zoo builds in 16 bits. A type without a unit in
  /// the last place counts as float32. It may take as long as the task's timeout. Never fails: a reference that cannot
  /// be made is `none`, with the reason.
  [[nodiscard]] Reference make(const Task& task);
  /// Generates the tokens `ids` [batch, output tokens] after the prompt of an input set, and writes the largest logits
  /// and those of the tokens: `largest` of InferRequest::forced. For a task whose reference was made. Errors: those of
  /// artefacts and of the worker; timeout after `limit`.
  [[nodiscard]] Status force(const Task& task, std::size_t set, const TensorView& ids,
                             const std::filesystem::path& largest, std::chrono::nanoseconds limit);
  /// Asks other engines on the CPU for the outputs of a task whose reference was made: the one that computes exactly,
  /// or, if it cannot, every other that reads the model. An engine that cannot answer says why. It may take `limit`,
  /// all engines together. Errors: cancelled.
  [[nodiscard]] Result<std::vector<Opinion>> ask(const Task& task, const Reference& reference,
                                                 std::chrono::nanoseconds limit);
  void release();
  /// The limit of each worker that starts after this call.
  void limit_memory(std::uint64_t bytes) { memory_limit_ = bytes; }

 private:
  struct Loaded;
  using Until = std::chrono::steady_clock::time_point;  ///< the deadline of all steps together
  const EngineRegistry& registry_;
  ArtefactStore& artefacts_;
  std::filesystem::path cache_;
  Cancelled cancelled_;
  std::optional<std::uint64_t> memory_limit_;
  std::unique_ptr<Loaded> loaded_;

  [[nodiscard]] Result<std::unique_ptr<Worker>> start(const EngineEntry& engine, const Task& task,
                                                      const Artefact& artefact, Until until) const;
  /// Sets loaded_ for this engine, the task's model and the precision.
  [[nodiscard]] Status load(const EngineEntry& engine, const Task& task, DType precision, Until until);
  [[nodiscard]] Status run(const EngineEntry& engine, const Task& task, DType precision, Until until,
                           const std::filesystem::path& folder, Reference& reference);
  [[nodiscard]] Reference make_given(const Task& task);
  /// The folder with the outputs of an engine for all input sets, found in the cache or computed now. Sets `run_ms`,
  /// `spent`, `invalid_file` of `reference`. Errors: those of artefacts and of the worker; internal: not kept.
  [[nodiscard]] Result<std::filesystem::path> outputs_of(const EngineEntry& engine, const std::string& version,
                                                         const Task& task, std::chrono::nanoseconds limit,
                                                         Reference& reference);
  [[nodiscard]] Opinion ask_engine(const EngineEntry& engine, const Task& task, std::chrono::nanoseconds limit);
  /// The engine that computes the task's reference.
  [[nodiscard]] const EngineEntry& engine_of(const Task& task) const;
  /// The task's inputs for one set, as loaded_ expects them.
  [[nodiscard]] Result<std::vector<InputRecipe>> inputs_of(const Task& task, const std::vector<InputRecipe>& recipes,
                                                           std::size_t set) const;
  /// Sets the honest error, from the cache or by running. An error of other runs than the arithmetic requires is used,
  /// but not kept: what prevented those may be gone the next time.
  void add_honest(const EngineEntry& engine, const std::string& version, const Task& task, DType precision, Until until,
                  Reference& reference);
  [[nodiscard]] Result<HonestErrors> measure(const EngineEntry& engine, const Task& task, DType precision, Until until,
                                             const Reference& reference);
  [[nodiscard]] Result<HonestErrors> measure_by(const HonestMethod& method, const EngineEntry& engine, const Task& task,
                                                const std::vector<InputRecipe>& recipes,
                                                const std::vector<std::filesystem::path>& expected, Until until);
};

}  // namespace assay
