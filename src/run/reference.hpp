// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "engine/registry.hpp"
#include "plan/task.hpp"
#include "prepare/artefact.hpp"
#include "worker/worker.hpp"

namespace assay {

/// What a model should compute on given inputs, as files of outputs.
struct Reference {
  std::string name = "none";                     ///< onnxruntime-noopt | given | none
  std::vector<std::filesystem::path> outputs{};  ///< of two input sets; of one where all inputs come from files
  std::vector<std::filesystem::path> moved{};    ///< the same, inputs and weights perturbed by one ulp of the precision
  std::string why_none;                          ///< when there is none
  std::optional<Error> file_at_fault{};  ///< ONNX Runtime refused to load or run the file: it breaks ONNX's own rules
  double run_ms = 0;                     ///< of one run, where it was made now and not found
  std::chrono::nanoseconds spent{};      ///< making it: charged to the cell's time
};

/// Input sets that differ: two, or one where every input is a file's value.
[[nodiscard]] std::size_t distinct_sets(const std::vector<InputRecipe>& recipes);

/// Makes references, each an attempt of its own in its own worker: the reference engine on the CPU, with the options of
/// its entry (an engine that computes no model is its own reference, without the options of the run: it defines its
/// numbers). Results are kept in a folder by model, inputs, shape, precision and reference version, and reused.
/// release() ends the worker, so that candidate and reference never live at the same time.
class ReferenceMaker {
 public:
  ReferenceMaker(const EngineRegistry& registry, ArtefactStore& artefacts, std::filesystem::path cache,
                 Cancelled cancelled);
  ~ReferenceMaker();

  /// For a task's arithmetic. For float16 and bfloat16 the weights are rounded to it first; the arithmetic stays the
  /// graph's own, and float32 for a graph that the zoo builds in 16 bits. A type that has no unit in the last place
  /// counts as float32. It may take the task's timeout. Never fails: a reference that cannot be made is `none`, with
  /// the reason.
  [[nodiscard]] Reference make(const Task& task);
  void release();
  /// Of each worker, from the next one on.
  void limit_memory(std::uint64_t bytes) { memory_limit_ = bytes; }

 private:
  struct Live;
  using Until = std::chrono::steady_clock::time_point;  ///< when the time of all of it is over
  const EngineRegistry& registry_;
  ArtefactStore& artefacts_;
  std::filesystem::path cache_;
  Cancelled cancelled_;
  std::optional<std::uint64_t> memory_limit_;
  std::unique_ptr<Live> live_;

  [[nodiscard]] Result<std::unique_ptr<Worker>> start(const EngineEntry& engine, const Task& task,
                                                      const Artefact& artefact, Until until) const;
  /// Makes live_ the one of this engine, the task's model and the precision.
  [[nodiscard]] Status revive(const EngineEntry& engine, const Task& task, DType precision, Until until);
  [[nodiscard]] Status run(const EngineEntry& engine, const Task& task, DType precision, Until until,
                           const std::filesystem::path& folder, Reference& reference);
};

}  // namespace assay
