// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay {
namespace {

constexpr char kCgroupName[] = "assay-worker-";

// The folder of this process's cgroup of version 2; false if there is none.
bool own_folder(char (&folder)[PATH_MAX]) {
  const bool unified = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  const char* const mount = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
  std::FILE* const file = std::fopen("/proc/self/cgroup", "re");
  if (file == nullptr) return false;
  char line[PATH_MAX];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "0::/", 4) != 0) continue;
    if (char* const end = std::strchr(line, '\n')) *end = '\0';
    const int length =
        std::snprintf(folder, sizeof folder, "%s%s", mount, std::strcmp(line, "0::/") == 0 ? "" : line + 3);
    found = length > 0 && length < static_cast<int>(sizeof folder);
  }
  std::fclose(file);
  return found;
}

// What supervisors left that were killed. Folders with processes stay: the kernel refuses to remove them.
void remove_abandoned(const char* folder) {
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return;
  const int place = ::dirfd(entries);
  while (const dirent* const entry = place < 0 ? nullptr : ::readdir(entries)) {
    if (std::strncmp(entry->d_name, kCgroupName, sizeof kCgroupName - 1) != 0) continue;
    const int supervisor = std::atoi(entry->d_name + sizeof kCgroupName - 1);
    if (supervisor > 0 && ::kill(supervisor, 0) != 0 && errno == ESRCH) ::unlinkat(place, entry->d_name, AT_REMOVEDIR);
  }
  ::closedir(entries);
}

}  // namespace

bool Cgroup::create() {
  char parent[PATH_MAX];
  if (!own_folder(parent) || ::access(parent, W_OK) != 0) return false;
  remove_abandoned(parent);
  const int length = std::snprintf(path_, sizeof path_, "%s/%s%d", parent, kCgroupName, ::getpid());
  if (length >= static_cast<int>(sizeof path_) || ::mkdir(path_, 0755) != 0) {
    path_[0] = '\0';
    return false;
  }
  folder_ = ::open(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0 || ::faccessat(folder_, "cgroup.kill", W_OK, 0) != 0) {
    remove();
    return false;
  }
  return true;
}

pid_t Cgroup::fork_inside() const {
#if defined(SYS_clone3) && defined(CLONE_INTO_CGROUP)
  if (folder_ >= 0) {
    clone_args how{};
    how.flags = CLONE_INTO_CGROUP;
    how.exit_signal = SIGCHLD;
    how.cgroup = static_cast<std::uint64_t>(folder_);
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
    if (child >= 0) return child;
  }
#endif
  return ::fork();
}

void Cgroup::kill() const {
  const int file = folder_ < 0 ? -1 : ::openat(folder_, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(file, "1", 1);
  ::close(file);
}

void Cgroup::remove() {
  if (folder_ >= 0) ::close(folder_);
  if (path_[0] != '\0') ::rmdir(path_);
  folder_ = -1;
  path_[0] = '\0';
}

}  // namespace assay
