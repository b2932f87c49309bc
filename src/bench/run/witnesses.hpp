// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "bench/engine/registry.hpp"
#include "bench/run/local_task.hpp"
#include "bench/run/output_checks.hpp"
#include "bench/run/reference.hpp"
#include "core/result/record.hpp"

namespace assay {

/// Who else computed what a cell computed, for the cells of one call of an executor: other engines with the same
/// inputs and arithmetic, and the golden of the architecture. Outputs of a cell are kept in a folder until clear().
///
/// The kernel libraries of an engine are those of its engine.json: what is known, not what a run used.
/// Thread: one at a time.
class Witnesses {
 public:
  /// `folder`: for the outputs. `most_bytes`: that are kept of one engine in one cell; if all sets are more, the set
  /// with the largest error first, then those with small numbers. Lifetime: `registry` outlives the object.
  Witnesses(const EngineRegistry& registry, std::filesystem::path folder, std::uint64_t most_bytes = 512ULL << 20)
      : registry_(registry), folder_(std::move(folder)), most_bytes_(most_bytes) {}

  /// Sets `kernels`, `shared_kernels` and `agreed_by` of a row that was compared with its reference, and keeps its
  /// outputs for later cells; the files are moved. If the row is wrong, but agrees with every other engine so far in
  /// sets of which one is wrong, the message says that this points at the reference. What cannot be compared is not a
  /// witness.
  void add(const LocalTask& local, const Reference& reference, const OutputsOfSets& outputs, Record& row);

  /// Forgets all outputs.
  void clear();

 private:
  [[nodiscard]] const EngineEntry* reference_engine_of(const Reference& reference, const Record& row) const;
  void set_kernels(const LocalTask& local, const Reference& reference, Record& row) const;
  [[nodiscard]] bool agrees(const LocalTask& local, const Reference& reference, const OutputsOfSets& outputs,
                            const Record& row, const OutputsOfSets& other) const;
  void keep(const std::string& key, const std::string& engine, const OutputsOfSets& outputs);

  const EngineRegistry& registry_;
  std::filesystem::path folder_;
  std::uint64_t most_bytes_;
  std::map<std::string, std::map<std::string, OutputsOfSets>> kept_;  ///< the keys are reference_key(), then the engine
  std::size_t count_ = 0;
};

}  // namespace assay
