// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/registry.hpp"
#include "prepare/prepare.hpp"
#include "worker/worker.hpp"

namespace assay {

/// What a model should compute on given inputs, as files of outputs.
struct Reference {
  std::string name = "none";                     ///< onnxruntime-noopt | given | none
  std::vector<std::filesystem::path> outputs{};  ///< of two input sets; of one where all inputs come from files
  std::vector<std::filesystem::path> moved{};    ///< the same, inputs and weights moved by one ulp of the precision
  std::string why_none;                          ///< when there is none
  std::optional<Error> file_at_fault{};  ///< ONNX Runtime refused to load or run the file: it breaks ONNX's own rules
  double run_ms = 0;                     ///< of one run, where it was made now and not found
  std::chrono::nanoseconds spent{};      ///< making it: charged to the cell's time
};

/// Input sets that differ: two, or one where every input is a file's value.
[[nodiscard]] std::size_t distinct_sets(const std::vector<InputRecipe>& recipes);

/// The null engine computes on any signature, told by its options: what a model's inputs and outputs look like.
void add_signature(EngineOptions& options, const ModelInfo& info);

/// Makes references, each an attempt of its own in its own worker: ONNX Runtime on the CPU with graph optimisation
/// off (for the null engine, itself without faults: it defines its numbers). Results are kept in a folder by model,
/// inputs, shape, precision and reference version, and reused. release() ends the worker, so that candidate and
/// reference never live at the same time.
class ReferenceMaker {
 public:
  ReferenceMaker(const EngineRegistry& registry, std::filesystem::path cache, std::function<bool()> cancelled);
  ~ReferenceMaker();

  /// `precision`: of the candidate's arithmetic. For float16 and bfloat16 the weights are rounded to it first; the
  /// arithmetic stays the graph's own, and float32 of a graph that the zoo built in 16 bits. One that has no unit in
  /// the last place counts as float32. `generation`: what a run is, of a model that generates. `timeout`: for all of
  /// it. Never fails: a reference that cannot be made is `none`, with the reason.
  [[nodiscard]] Reference make(const PreparedModel& model, const std::string& candidate_engine, DType precision,
                               const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                               const std::string& input_hash, const std::optional<Generation>& generation,
                               std::chrono::nanoseconds timeout);
  void release();
  /// Of each worker, from the next one on.
  void limit_memory(std::uint64_t bytes) { memory_limit_ = bytes; }

 private:
  struct Live;
  using Until = std::chrono::steady_clock::time_point;  ///< when the time of all of it is over
  const EngineRegistry& registry_;
  std::filesystem::path cache_;
  std::function<bool()> cancelled_;
  std::optional<std::uint64_t> memory_limit_;
  std::unique_ptr<Live> live_;

  /// `folder`: of copies of the model's files; empty: those themselves.
  [[nodiscard]] Result<std::unique_ptr<Worker>> start(const std::string& engine, const PreparedModel& model,
                                                      const std::filesystem::path& folder, Until until) const;
  /// Makes live_ that of these three.
  [[nodiscard]] Status revive(const std::string& engine, const PreparedModel& model, DType precision, Until until);
  [[nodiscard]] Status run(const std::string& engine, const PreparedModel& model, DType precision,
                           const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                           const std::optional<Generation>& generation, Until until,
                           const std::filesystem::path& folder, Reference& reference);
};

}  // namespace assay
