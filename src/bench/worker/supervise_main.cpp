// SPDX-License-Identifier: Apache-2.0

// assay-supervise: the parent of one worker (bench/worker/supervision.hpp). Users do not start it. It uses only the C
// library, so that it starts within a millisecond and nothing in it can fail with a runtime.

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "bench/worker/cgroup.hpp"
#include "bench/worker/descendants.hpp"
#include "bench/worker/supervision.hpp"

namespace assay::supervision {
namespace {

void report(Event event, int value) {
  const Report text{event, value};
  ::send(kControl, &text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Descriptors that the controller inherited or forgot are neither ours nor the worker's.
void close_others() {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, kControl + 1, ~0U, 0) == 0) return;
#endif
  // Those that are open: the limit may be a thousand million, which takes minutes.
  if (DIR* const open = ::opendir("/proc/self/fd"); open != nullptr) {
    while (const dirent* const entry = ::readdir(open)) {
      const int fd = std::atoi(entry->d_name);
      if (fd > kControl && fd != ::dirfd(open)) ::close(fd);
    }
    ::closedir(open);
    return;
  }
  const long most = ::sysconf(_SC_OPEN_MAX);
  for (int fd = kControl + 1; fd < most; ++fd) ::close(fd);
}

// The signals that are read from a descriptor instead; the others that a user may send to all processes are ignored.
int block_signals() {
  sigset_t all;
  sigset_t read;
  sigfillset(&all);
  sigemptyset(&read);
  sigaddset(&read, SIGCHLD);
  sigaddset(&read, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  return ::signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
}

[[noreturn]] void become_worker(char** arguments, pid_t supervisor, int failed) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // for a supervisor that is killed
  if (::getppid() != supervisor) ::_exit(127);
  ::close(kControl);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(arguments[0], arguments);  // NOLINT(clang-analyzer-optin.taint.GenericTaint): assay wrote them
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failed, &error, sizeof error);
  ::_exit(127);
}

// The worker's process id, or -1 with errno.
pid_t start_worker(char** arguments, const Cgroup& cgroup) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t self = ::getpid();
  const pid_t worker = cgroup.fork_inside();
  if (worker == 0) become_worker(arguments, self, ends[1]);
  ::close(ends[1]);
  int error = worker < 0 ? errno : 0;
  while (worker > 0 && ::read(ends[0], &error, sizeof error) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  errno = error;
  return error == 0 ? worker : -1;
}

/// The worker and everything that it started.
class Family {
 public:
  Family(pid_t worker, const Cgroup& cgroup) : worker_(worker), cgroup_(cgroup) {}

  [[nodiscard]] bool worker_ended() const { return ended_; }

  void signal_worker(int number) const {
    if (!ended_) ::kill(worker_, number);
  }

  /// Reaps what has ended. False if no process is left.
  bool reap() {
    while (true) {
      int status = 0;
      const pid_t child = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (child == 0) return true;
      if (child < 0) return errno != ECHILD;
      if (child != worker_) continue;
      ended_ = true;
      report(Event::kEnded, status);
    }
  }

  /// Ends all of them. A process that starts others meanwhile is caught by the cgroup, or in the next round.
  void end(int signals) {
    constexpr int kRoundMs = 20;
    const std::int64_t until = now_ms() + kEndLimitMs;
    for (bool first = true; reap(); first = false) {
      if (now_ms() >= until) return report(Event::kLeft, 0);
      cgroup_.kill();
      if (!ended_) ::kill(-worker_, SIGKILL);
      signal_worker(SIGKILL);  // it may not have a group yet
      if (!first) kill_descendants();
      pollfd child{signals, POLLIN, 0};
      ::poll(&child, 1, kRoundMs);
      signalfd_siginfo ignored;
      while (::read(signals, &ignored, sizeof ignored) > 0) {
      }
    }
  }

 private:
  pid_t worker_;
  const Cgroup& cgroup_;
  bool ended_ = false;
};

/// Returns when the worker or the controller has ended, or when the controller closes its end.
void watch(Family& family, int signals, int controller) {
  pollfd watched[] = {{signals, POLLIN, 0}, {kControl, POLLIN, 0}, {controller, POLLIN, 0}};
  while (true) {
    if (::poll(watched, 3, -1) < 0) continue;
    signalfd_siginfo signal;
    while (::read(signals, &signal, sizeof signal) == sizeof signal)
      if (signal.ssi_signo == SIGTERM) family.signal_worker(SIGTERM);
    family.reap();
    if (family.worker_ended() || watched[2].revents != 0) return;
    if (watched[1].revents == 0) continue;
    std::int32_t number = 0;
    if (::recv(kControl, &number, sizeof number, 0) != sizeof number) return;
    family.signal_worker(number);
  }
}

int supervise(pid_t controller, char** arguments) {
  close_others();
  const int signals = block_signals();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
#ifdef SYS_pidfd_open
  const int controller_ends = static_cast<int>(::syscall(SYS_pidfd_open, controller, 0));
#else
  const int controller_ends = -1;  // the end of kControl says it too, if no other process has a copy
#endif
  if (controller_ends >= 0) ::fcntl(controller_ends, F_SETFD, FD_CLOEXEC);
  if (::getppid() != controller) return 1;
  Cgroup cgroup;
  cgroup.create();
  const pid_t worker = start_worker(arguments, cgroup);
  if (worker < 0) {
    report(Event::kCannotStart, errno);
    cgroup.remove();
    return 1;
  }
  ::close(kSocket);
  report(Event::kStarted, worker);
  Family family(worker, cgroup);
  watch(family, signals, controller_ends);
  family.end(signals);
  cgroup.remove();
  return 0;
}

}  // namespace
}  // namespace assay::supervision

int main(int argc, char** argv) {
  const int controller = argc > 2 ? std::atoi(argv[1]) : 0;
  if (controller <= 0 || ::fcntl(assay::supervision::kControl, F_GETFD) < 0) {
    std::fputs("assay starts assay-supervise; do not start it directly\n", stderr);
    return 2;
  }
  ::_exit(assay::supervision::supervise(controller, argv + 2));
}
