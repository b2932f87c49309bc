// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>

#include <assay/result.hpp>

#include "bench/run/session.hpp"
#include "core/base/descriptor.hpp"

/// What a command that measures shows to other processes while it runs.
namespace assay::cli {

/// `<database>.measuring`, a locked file that is there while a command measures for this database: the times of two at
/// once would disturb each other. A file that a killed process left is free.
class MeasuringMark {
 public:
  /// Creates the folder of the database. Errors: those of make_directories(); store_busy: names the other process, its
  /// command and its beginning. A file that cannot be made is not an error: another user's killed process may have left
  /// it.
  [[nodiscard]] static Result<MeasuringMark> begin(const std::filesystem::path& database, const std::string& command);
  MeasuringMark(MeasuringMark&&) noexcept = default;
  MeasuringMark& operator=(MeasuringMark&&) noexcept = default;
  ~MeasuringMark();

 private:
  explicit MeasuringMark(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  Descriptor file_;
};

/// `<name>.progress.json` beside the database, which `assay serve` shows: pid, command, started, updated, cells,
/// cells_done, launches, launches_done, seconds_left, and `lines`, the newest of what finished. Written when a launch
/// or a cell ends, not while one is measured; gone with this object. A file that cannot be written costs nothing.
class ProgressFile {
 public:
  /// Nothing is written before expecting().
  ProgressFile(const std::filesystem::path& database, std::string command);
  ~ProgressFile();
  ProgressFile(const ProgressFile&) = delete;
  ProgressFile& operator=(const ProgressFile&) = delete;

  void expecting(std::size_t cells);
  void left(const TimeLeft& left) { left_ = left; }
  void launched(const std::string& line) { add(line); }
  void finished(const std::string& line);

 private:
  void add(const std::string& line);
  void write();

  std::filesystem::path path_;
  std::string command_, started_;
  std::size_t cells_ = 0, cells_done_ = 0;
  TimeLeft left_;
  std::deque<std::string> lines_;
  bool begun_ = false;
};

/// To be called between models, when no worker runs: puts what is measured until now into the database and its
/// snapshot; at most every 10 s, and only while this takes less than 2 % of the time. A busy database has its turn
/// later. After another failure, also if the disk has little space, nothing more is saved until the end of the run.
[[nodiscard]] std::function<void()> publisher(const SessionRequest& request);

}  // namespace assay::cli
