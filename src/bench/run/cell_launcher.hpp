// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include <assay/result.hpp>

#include "bench/run/batch_times.hpp"
#include "bench/run/cell_files.hpp"
#include "bench/run/launch.hpp"
#include "bench/run/local_executor.hpp"
#include "bench/run/local_task.hpp"
#include "bench/run/local_workers.hpp"
#include "bench/run/reference_set.hpp"
#include "bench/run/witnesses.hpp"
#include "history/store/bundle.hpp"

namespace assay {

/// Launches one cell: an attempt, its row and its bundle. Which cell comes next is not decided here. Thread: one at a
/// time.
class CellLauncher {
 public:
  struct Parts {
    const ExecutorServices& services;
    const RunContext& context;  ///< written into the bundles
    std::filesystem::path scratch;
    CellFiles& files;
    LocalWorkers& workers;
    ReferenceSet& references;  ///< made for the cells before
    Witnesses& witnesses;
  };
  /// Lifetime: the parts outlive the object.
  explicit CellLauncher(Parts parts) : parts_(std::move(parts)) {}

  /// Runs the cell once. Whatever happens is in the row; nullopt: interrupted before it began.
  [[nodiscard]] std::optional<Launch> launch(LocalTask& local, std::int64_t round);

  /// For a launch for which there is no time: sets LocalTask::refused. The bundles of the cell's launches are complete:
  /// one of its own says in the database why the cell has no more.
  void refuse(LocalTask& local, std::int64_t round) const;

 private:
  [[nodiscard]] Result<Launch> execute(LocalTask& local, std::int64_t round);
  [[nodiscard]] Result<Launch> run_once(LocalTask& local, Record planned);
  [[nodiscard]] Result<Launch> finish_unrun(Record row) const;
  [[nodiscard]] std::optional<bool> starts_cold(const LocalTask& local, const Record& row);
  void use_stored_verdict(Record& row) const;

  Parts parts_;
  BatchTimes times_;
  std::set<std::string> cold_started_;  ///< worker groups whose first process got its files from the disk
};

}  // namespace assay
