// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/worker/supervision.hpp"
#include "core/base/descriptor.hpp"

namespace assay {

/// How a process ended.
struct ProcessEnd {
  int exit_status = 0;
  int signal = 0;  ///< 0: it exited by itself
};

/// A child process in its own session (so that a terminal's Ctrl-C does not reach it), with a socket to it and a log of
/// its stdout and stderr. It has no other descriptors, and the environment of bench/worker/environment.hpp. Its parent
/// is a supervisor (bench/worker/supervision.hpp), which ends it and everything that it started, wherever that went,
/// when the child ends, when this object is destroyed, and when this program ends, however it ends. Thread: one at a
/// time.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;                              ///< the executable's path first
    std::vector<std::pair<std::string, std::string>> environment{};  ///< replaces or adds to ours
    std::filesystem::path log{};                                     ///< appended to; empty: an unnamed file
  };
  /// Errors: invalid_argument (log), not_found (no executable), internal (no more processes or descriptors).
  [[nodiscard]] static Result<ChildProcess> spawn(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }  ///< The id of the child, not of its supervisor.
  [[nodiscard]] int socket() const { return socket_.get(); }
  /// How it ended, if it did; does not wait. The process is then reaped.
  [[nodiscard]] std::optional<ProcessEnd> ended();
  /// Waits for its end, at most `limit`.
  [[nodiscard]] std::optional<ProcessEnd> wait(std::chrono::milliseconds limit);
  void signal(int number) const;
  /// Ends the child and everything that it started, and waits, but not for ever: what the kernel cannot end stays, with
  /// a warning.
  void kill();
  /// The last lines of its log, oldest first: at most `lines`, each cut at 300 bytes.
  [[nodiscard]] std::vector<std::string> last_words(std::size_t lines = 3) const;

 private:
  ChildProcess(pid_t supervisor, Descriptor control, Descriptor socket, Descriptor log, off_t log_start);
  [[nodiscard]] Status await_start(const std::string& program);
  enum class Heard { kReport, kNothing, kGone };
  /// The next report of the supervisor, if it comes before `until`.
  Heard hear(std::chrono::steady_clock::time_point until, supervision::Report& report);
  void hear_all(std::chrono::steady_clock::time_point until);
  void end_supervisor();

  pid_t supervisor_ = -1;  ///< -1: it has been reaped
  pid_t pid_ = -1;
  Descriptor control_, socket_, log_;
  off_t log_start_ = 0;
  std::optional<ProcessEnd> end_;
  bool gone_ = false;  ///< the supervisor has closed its end
};

}  // namespace assay
