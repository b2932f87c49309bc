// SPDX-License-Identifier: Apache-2.0
#include "bench/hardware/python_version.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>

#include "core/base/text.hpp"

namespace assay {

PythonVersion::PythonVersion() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  output_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);  // so that what a script starts is killed with it
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string program = "python3", option = "--version";
  const std::array<char*, 3> arguments{program.data(), option.data(), nullptr};
  if (::posix_spawnp(&pid_, program.c_str(), &actions, &attributes, arguments.data(), environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}

PythonVersion::~PythonVersion() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  // A process that waits for a file system which does not answer cannot be ended: then it is left.
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && ::waitpid(pid_, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

std::string PythonVersion::wait(std::chrono::milliseconds limit, const Cancelled& cancelled) {
  constexpr std::chrono::milliseconds kPeriod(50);  // between two looks at `cancelled`
  constexpr std::size_t kLongest = 64;
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string answer;
  while (pid_ > 0 && answer.size() < kLongest && answer.find('\n') == std::string::npos) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || (cancelled && cancelled())) return {};
    pollfd readable{output_.get(), POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(std::min(left, kPeriod).count())) <= 0) continue;
    std::array<char, kLongest> part{};
    const ssize_t got = ::read(output_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(got));
  }
  const std::string_view text = trim(std::string_view(answer).substr(0, answer.find('\n')));
  constexpr std::string_view kPrefix = "Python ";
  return text.starts_with(kPrefix) ? sanitise(text.substr(kPrefix.size())) : std::string();
}

}  // namespace assay
