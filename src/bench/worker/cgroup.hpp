// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <climits>

namespace assay {

/// A cgroup (version 2) for the processes of one worker, below that of this process. The kernel ends all of its
/// processes at once, also those that start others faster than /proc can be read. It has no controllers: it limits and
/// measures nothing. Uses only the C library, because assay-supervise links nothing else.
class Cgroup {
 public:
  Cgroup() = default;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  /// Creates it. False if this system or this user has none: it is an addition, never a requirement.
  bool create();
  /// Like fork(), with the child inside. Without a cgroup, or if the kernel refuses, it is fork().
  [[nodiscard]] pid_t fork_inside() const;
  /// Sends SIGKILL to all of its processes.
  void kill() const;
  /// Removes it if no process is left in it.
  void remove();

 private:
  char path_[PATH_MAX] = "";
  int folder_ = -1;
};

}  // namespace assay
