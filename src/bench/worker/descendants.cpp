// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/descendants.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace assay {
namespace {

struct ProcessPlace {
  pid_t parent = 0, session = 0;
};

bool read_place(pid_t pid, ProcessPlace& place) {
  char path[32];
  char text[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* const after_name = std::strrchr(text, ')');  // a name may contain any character
  char state = 0;
  pid_t group = 0;
  return after_name != nullptr &&
         std::sscanf(after_name + 1, " %c %d %d %d", &state, &place.parent, &group, &place.session) == 4;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  constexpr int kDeepest = 10'000;  // a chain of parents changes while it is read
  ProcessPlace place;
  for (int i = 0; i < kDeepest && pid > 1 && read_place(pid, place); ++i) {
    if (place.parent == ancestor) return true;
    pid = place.parent;
  }
  return false;
}

template <class Wanted>
void kill_processes(const Wanted& wanted) {
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return;
  while (const dirent* const entry = ::readdir(folder)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 1 && wanted(pid)) ::kill(pid, SIGKILL);
  }
  ::closedir(folder);
}

}  // namespace

void kill_descendants() {
  const pid_t self = ::getpid();
  kill_processes([self](pid_t pid) { return descends_from(pid, self); });
}

void kill_session(pid_t session) {
  kill_processes([session](pid_t pid) {
    ProcessPlace place;
    return pid != session && read_place(pid, place) && place.session == session;
  });
}

}  // namespace assay
