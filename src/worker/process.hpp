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

#include "base/descriptor.hpp"

namespace assay {

/// How a process ended.
struct ProcessEnd {
  int exit_status = 0;
  int signal = 0;  ///< 0: it exited by itself
};

/// A child process in its own process group (so that a terminal's Ctrl-C does not reach it), with a socket to it and a
/// log of its stdout and stderr. Destruction kills the group and reaps the child.
class ChildProcess {
 public:
  struct Options {
    std::vector<std::string> arguments;                              ///< the executable's path first
    std::vector<std::pair<std::string, std::string>> environment{};  ///< replaces or adds to ours
    std::filesystem::path log{};                                     ///< appended to; empty: an unnamed file
    int socket = 3;                                                  ///< the child's end
  };
  /// Errors: invalid_argument (log), not_found (no executable), internal (no more processes or descriptors).
  [[nodiscard]] static Result<ChildProcess> spawn(const Options& options);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int socket() const { return socket_.get(); }
  /// How it ended, if it did; does not wait. The process is then reaped.
  [[nodiscard]] std::optional<ProcessEnd> ended();
  /// Waits for its end, at most `limit`.
  [[nodiscard]] std::optional<ProcessEnd> wait(std::chrono::milliseconds limit);
  void signal(int number) const;
  /// Sends SIGKILL to the group and waits.
  void kill();
  /// The last lines of its log, oldest first: at most `lines`, each cut at 300 bytes.
  [[nodiscard]] std::vector<std::string> last_words(std::size_t lines = 3) const;

 private:
  ChildProcess(pid_t pid, Descriptor socket, Descriptor log, off_t log_start);
  pid_t pid_ = -1;
  Descriptor socket_, log_;
  off_t log_start_ = 0;
  std::optional<ProcessEnd> end_;
};

}  // namespace assay
