// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace assay::cli {

/// Shows the progress of a run: a bar, the elapsed time and the time left on a terminal; elsewhere a line for each
/// launch of several and for each cell; nothing if quiet. Writes to stderr; stdout belongs to results. Thread: one at a
/// time.
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
  /// How many launches are over, of how many, and the estimate of the time left.
  void set_left(std::size_t launches_done, std::size_t launches, double seconds);
  /// A launch is over; `line` is printed if there is no bar. Not called if each cell has one launch.
  void launched(const std::string& line, bool kept);
  /// A cell finished, or --resume kept its row; `line` is printed if there is no bar.
  void finished(const std::string& line, bool kept);
  void clear();

 private:
  void draw();
  [[nodiscard]] double elapsed_s() const;

  bool terminal_, quiet_;
  std::chrono::steady_clock::time_point start_;
  std::string step_;
  std::size_t done_ = 0, kept_ = 0, total_ = 0;
  std::size_t launches_done_ = 0, launches_ = 0;
  double left_s_ = 0;
  bool drawn_ = false;
};

}  // namespace assay::cli
