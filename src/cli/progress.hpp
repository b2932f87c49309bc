// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace assay::cli {

/// How far a run is: a bar with the time left on a terminal, a plain line per cell elsewhere, nothing when quiet.
/// Writes to stderr; stdout belongs to results. Thread: one at a time.
class Progress {
 public:
  Progress(bool terminal, bool quiet) : terminal_(terminal), quiet_(quiet), start_(std::chrono::steady_clock::now()) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void expect(std::size_t cells) { expected_ = cells; }
  void doing(const std::string& what);
  /// Files are made for cells: a line where there is no bar, for it may take a while before the next cell ends.
  void making(const std::string& what);
  /// `line`: what finished; shown where there is no bar.
  void finished(const std::string& line);
  void clear();

 private:
  void draw();

  bool terminal_, quiet_;
  std::chrono::steady_clock::time_point start_;
  std::string doing_;
  std::size_t done_ = 0, expected_ = 0;
  bool drawn_ = false;
};

}  // namespace assay::cli
