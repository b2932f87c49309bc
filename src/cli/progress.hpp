// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace assay::cli {

/// Shows the progress of a run: a bar and the time left on a terminal, a line per cell elsewhere, nothing if quiet.
/// Writes to stderr; stdout belongs to results. Thread: one at a time.
class Progress {
 public:
  Progress(bool terminal, bool quiet) : terminal_(terminal), quiet_(quiet), start_(std::chrono::steady_clock::now()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set_total(std::size_t cells) { total_ = cells; }
  void set_step(const std::string& what);
  /// A step that creates model files. Prints a line if there is no bar, because the next cell may end much later.
  void set_long_step(const std::string& what);
  /// A cell finished, or --resume kept its row; `line` is printed if there is no bar.
  void finished(const std::string& line, bool kept);
  void clear();

 private:
  void draw();

  bool terminal_, quiet_;
  std::chrono::steady_clock::time_point start_;
  std::string step_;
  std::size_t done_ = 0, kept_ = 0, total_ = 0;
  bool drawn_ = false;
};

}  // namespace assay::cli
