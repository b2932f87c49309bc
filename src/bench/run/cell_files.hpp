// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <assay/error.hpp>
#include <assay/result.hpp>

#include "bench/prepare/artefact.hpp"
#include "bench/run/launch.hpp"
#include "bench/run/local_task.hpp"

namespace assay {

/// Sets in the row of a cell that its files could not be made.
void set_artefact_failure(Record& row, const Error& error);

/// The files that the engines of cells load: made before the first launch that needs them, kept until the last one, if
/// all that are kept for one cell only are together below a limit; else made again. Thread: one at a time.
class CellFiles {
 public:
  /// `resumed`: ExecutorServices::resumed, because a task gets other keys if its graph is another one than planned.
  /// Lifetime: `artefacts` and `resumed` outlive the object.
  CellFiles(ArtefactStore& artefacts, const std::map<std::string, std::vector<Launch>>& resumed,
            std::uint64_t kept_bytes_limit)
      : artefacts_(artefacts), resumed_(resumed), kept_bytes_limit_(kept_bytes_limit) {}

  /// Makes them if they are not there, and sets what the task's row and notes say of them. Errors: those of
  /// ArtefactStore::make.
  [[nodiscard]] Status make(LocalTask& local);

  /// Between two launches of the cell. Files that other cells load too stay in any case.
  void keep(LocalTask& local);

  /// After the cell's last launch.
  void release(LocalTask& local);

 private:
  ArtefactStore& artefacts_;
  const std::map<std::string, std::vector<Launch>>& resumed_;
  std::uint64_t kept_bytes_limit_;
  std::uint64_t kept_bytes_ = 0;  ///< files of fixed shapes that wait for the next launch
};

}  // namespace assay
