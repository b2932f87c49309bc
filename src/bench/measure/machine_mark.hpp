// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/cancel.hpp"
#include "core/base/descriptor.hpp"

namespace assay {

/// A process that measures on this machine, as it says of itself.
struct MeasuringProcess {
  std::int64_t pid = 0;
  std::string command;
  std::string since;     ///< start time in UTC, for people
  std::string database;  ///< absolute path; "": nothing is saved
};

/// "process 4711 (assay run --hardware cpu, since 2026-03-02 12:34:56 UTC, database '/data/history.duckdb')".
[[nodiscard]] std::string process_words(const MeasuringProcess& measurement);

/// The folders in which processes look for each other: $ASSAY_RUNTIME_DIR alone if it is set, else /run/lock and /tmp,
/// which all users may write to.
[[nodiscard]] std::vector<std::filesystem::path> runtime_folders();

/// A file that says that this process measures, as long as the object lives. Two measurements at once are allowed and
/// disturb each other's times, so each looks for the files of the others and says so.
///
/// The file is locked (flock), and only its lock counts: a file that a killed process left does not count, and is
/// removed by the next process of its user. It can be read by everybody, so that the processes of all users see each
/// other; processes in containers do if they share the folder. Any user can write such a file with any content. Its
/// texts are only shown; but its kind and its `began_ns` decide whether wait_for_turn() still waits, so a locked file
/// of another user can make a process wait as long as it is locked.
/// Thread: one at a time.
class MachineMark {
 public:
  enum class State { kWaiting, kMeasuring };

  /// In the first folder that allows it; without one there is no mark, and the object still finds others.
  /// `began_ns`: a clock that all processes of the machine share; the order in which those that wait get their turn.
  [[nodiscard]] static MachineMark begin(const MeasuringProcess& self, std::int64_t began_ns,
                                         State state = State::kMeasuring,
                                         std::vector<std::filesystem::path> folders = runtime_folders());
  MachineMark(MachineMark&&) noexcept;
  MachineMark& operator=(MachineMark&&) = delete;
  ~MachineMark();

  /// The other processes that measure now. Cost: some system calls; those that began and ended since the last call are
  /// not seen.
  [[nodiscard]] std::vector<MeasuringProcess> others() const;

  /// Waits until no other process measures and none that waits began before this one; then this one measures. Calls
  /// `pause` before it looks again. Does nothing unless the state is kWaiting. False: it was cancelled.
  [[nodiscard]] bool wait_for_turn(const Cancelled& cancelled, const std::function<void()>& pause);

 private:
  MachineMark(std::int64_t began_ns, State state, std::vector<std::filesystem::path> folders)
      : began_ns_(began_ns), state_(state), folders_(std::move(folders)) {}
  std::int64_t began_ns_;
  State state_;
  std::vector<std::filesystem::path> folders_;
  std::filesystem::path path_;  ///< empty: there is no file
  Descriptor file_;
};

}  // namespace assay
