// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/app_forward.hpp"
#include "app/cli/context.hpp"
#include "history/store/dataset.hpp"

namespace assay::cli {

/// What `assay coverage` makes of stored results: reports, charts and the dashboard.
class CoverageAnswers {
 public:
  void add_to(CLI::App& command);

  [[nodiscard]] std::size_t count() const;
  /// `json`: of --output-format json. Errors: invalid_argument (one --output for several answers; a format that the
  /// answer does not have; more or less than one document of JSON on standard output).
  [[nodiscard]] Status check(bool json) const;
  /// Where the answers go: paths, or "standard output".
  [[nodiscard]] std::vector<std::string> places() const;
  /// Prints and writes them. With --output-format json, a report that goes to standard output is JSON; else the
  /// document printed is the list of files. Returns 4 if there are no results. Errors: those of read_selected() and of
  /// writing a file.
  [[nodiscard]] Result<ExitCode> write(const std::filesystem::path& database, const Selection& selection,
                                       const Context& context) const;

 private:
  bool comparative_ = false, optimization_ = false, dashboard_ = false, efficiency_ = false, memory_ = false;
  std::string output_, format_, goal_ = "latency";
};

}  // namespace assay::cli
