// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/engine/registry.hpp"
#include "bench/worker/descendants.hpp"
#include "bench/worker/environment.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {
using std::chrono::steady_clock;

constexpr std::chrono::seconds kStartLimit{30};
constexpr std::int64_t kLongestPollMs = 60'000;

ProcessEnd end_of(int status) {
  return WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
}

Result<Descriptor> open_log(const std::filesystem::path& path) {
  if (path.empty()) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
    const int fd = file ? ::fcntl(::fileno(file.get()), F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0)
      return fail(ErrorCode::kInternal, fmt::format("cannot create a temporary file: {}", std::strerror(errno)));
    return Descriptor(fd);
  }
  if (path.has_parent_path()) ASSAY_CHECK_OK(make_directories(path.parent_path()));
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("cannot write the log '{}': {}", path.string(), std::strerror(errno)));
  return Descriptor(fd);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Two connected sockets: one for this process, one for a child.
struct SocketPair {
  Descriptor ours, theirs;
};
Result<SocketPair> connected(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot create a socket: {}", std::strerror(errno)));
  return SocketPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Starts a program in a session of its own, with no descriptors but /dev/null as stdin and `given`: pairs of its
/// descriptor and ours.
Result<pid_t> start(std::vector<std::string>& arguments, std::vector<std::string>& environment,
                    const std::vector<std::pair<int, int>>& given) {
  // Above every descriptor of the child, so that none is overwritten before it is used.
  constexpr int kAbove = std::max(supervision::kSocket, supervision::kControl) + 1;
  std::vector<Descriptor> sources;
  for (const auto& [theirs, ours] : given) {
    sources.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, kAbove));
    if (sources.back().get() < 0)
      return fail(ErrorCode::kInternal,
                  fmt::format("cannot start '{}': cannot duplicate a file descriptor: {}", arguments.front(),
                              std::strerror(errno)),
                  "`ulimit -n` shows how many files a process may open; assay needs some hundred");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  int unusable = 0;
  for (std::size_t i = 0; i < given.size() && unusable == 0; ++i)
    unusable = posix_spawn_file_actions_adddup2(&actions, sources[i].get(), given[i].first);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = unusable != 0 ? unusable
                                  : ::posix_spawn(&pid, arguments.front().c_str(), &actions, &attributes,
                                                  pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(error == ENOENT || error == EACCES ? ErrorCode::kNotFound : ErrorCode::kInternal,
                fmt::format("cannot start '{}': {}", arguments.front(), std::strerror(error)),
                "it comes with assay: install or build assay again");
  return pid;
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const Options& options) {
  ASSAY_TRY(Descriptor log, open_log(options.log));
  const off_t log_start = ::lseek(log.get(), 0, SEEK_END);
  ASSAY_TRY(SocketPair socket, connected(SOCK_STREAM));
  ASSAY_TRY(SocketPair control, connected(SOCK_SEQPACKET));
  const std::string supervisor = EngineRegistry::own_program("assay-supervise").string();
  std::vector<std::string> arguments{supervisor, std::to_string(::getpid())};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::string> environment = worker_environment(environ, options.environment);
  ASSAY_TRY(const pid_t pid, start(arguments, environment,
                                   {{1, log.get()},
                                    {2, log.get()},
                                    {supervision::kSocket, socket.theirs.get()},
                                    {supervision::kControl, control.theirs.get()}}));
  ChildProcess process(pid, std::move(control.ours), std::move(socket.ours), std::move(log), log_start);
  control.theirs = Descriptor();  // so that the end of the supervisor is seen
  socket.theirs = Descriptor();
  ASSAY_CHECK_OK(process.await_start(options.arguments.front()));
  log_debug("process {} started: {}", process.pid(), join(options.arguments, " "));
  return process;
}

Status ChildProcess::await_start(const std::string& program) {
  supervision::Report report{};
  const Heard heard = hear(steady_clock::now() + kStartLimit, report);
  if (heard == Heard::kNothing)
    return fail(ErrorCode::kInternal,
                fmt::format("the supervisor of '{}' did not start it within {} s", program, kStartLimit.count()));
  if (heard == Heard::kGone)
    return fail(ErrorCode::kInternal, fmt::format("the supervisor of '{}' ended before it started it", program));
  if (report.event == supervision::Event::kCannotStart)
    return fail(report.value == ENOENT || report.value == EACCES ? ErrorCode::kNotFound : ErrorCode::kInternal,
                fmt::format("cannot start '{}': {}", program, std::strerror(report.value)));
  pid_ = report.value;
  return {};
}

ChildProcess::ChildProcess(pid_t supervisor, Descriptor control, Descriptor socket, Descriptor log, off_t log_start)
    : supervisor_(supervisor),
      control_(std::move(control)),
      socket_(std::move(socket)),
      log_(std::move(log)),
      log_start_(log_start) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : supervisor_(std::exchange(other.supervisor_, -1)),
      pid_(other.pid_),
      control_(std::move(other.control_)),
      socket_(std::move(other.socket_)),
      log_(std::move(other.log_)),
      log_start_(other.log_start_),
      end_(other.end_),
      gone_(other.gone_) {}

ChildProcess::~ChildProcess() { kill(); }

ChildProcess::Heard ChildProcess::hear(steady_clock::time_point until, supervision::Report& report) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    pollfd readable{control_.get(), POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLongestPollMs)));
    if (ready > 0) {
      const ssize_t got = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
      if (got == sizeof report) return Heard::kReport;
      if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return Heard::kGone;
    }
    if (left.count() <= 0) return Heard::kNothing;
  }
}

void ChildProcess::hear_all(steady_clock::time_point until) {
  supervision::Report report{};
  while (!gone_) {
    const Heard heard = hear(until, report);
    if (heard == Heard::kNothing) return;
    gone_ = heard == Heard::kGone;
    if (gone_) break;
    if (report.event == supervision::Event::kEnded) {
      end_ = end_of(report.value);
      return;
    }
    if (report.event == supervision::Event::kLeft)
      log_warning("the kernel did not end process {} and what it started within {} s: it is left behind", pid_,
                  supervision::kEndLimitMs / 1000);
  }
  if (!end_) end_ = ProcessEnd{0, SIGKILL};  // with its supervisor, by the parent-death signal
}

std::optional<ProcessEnd> ChildProcess::ended() {
  if (!end_) hear_all({});
  return end_;
}

std::optional<ProcessEnd> ChildProcess::wait(std::chrono::milliseconds limit) {
  if (!end_) hear_all(steady_clock::now() + limit);
  return end_;
}

void ChildProcess::signal(int number) const {
  const std::int32_t text = number;
  ::send(control_.get(), &text, sizeof text, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ChildProcess::kill() {
  if (supervisor_ < 0) return;
  ::shutdown(control_.get(), SHUT_WR);
  const auto until = steady_clock::now() + std::chrono::milliseconds(2 * supervision::kEndLimitMs);
  while (!gone_ && steady_clock::now() < until) hear_all(until);
  end_supervisor();
}

// It has closed its end and is about to exit, or it was killed, or it is stopped.
void ChildProcess::end_supervisor() {
  constexpr int kTries = 1000;
  siginfo_t how{};
  const auto has_ended = [&] {
    how = {};
    return ::waitid(P_PID, static_cast<id_t>(supervisor_), &how, WEXITED | WNOHANG | WNOWAIT) != 0 || how.si_pid != 0;
  };
  if (!gone_) ::kill(supervisor_, SIGKILL);
  for (int i = 0; i < kTries && !has_ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (how.si_code != CLD_EXITED) kill_session(supervisor_);  // nobody else can do it now
  ::waitpid(supervisor_, nullptr, WNOHANG);
  supervisor_ = -1;
}

std::vector<std::string> ChildProcess::last_words(std::size_t lines) const {
  constexpr off_t kTail = 4096;
  constexpr std::size_t kLongest = 300;
  struct stat info {};
  if (::fstat(log_.get(), &info) != 0) return {};
  const off_t start = std::max(log_start_, info.st_size - kTail);
  std::string tail(static_cast<std::size_t>(std::max<off_t>(info.st_size - start, 0)), '\0');
  const ssize_t got = ::pread(log_.get(), tail.data(), tail.size(), start);
  tail.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  std::vector<std::string> words;
  for (const std::string& line : split(tail, '\n')) {
    if (const auto text = trim(line); !text.empty()) words.push_back(sanitise(text.substr(0, kLongest)));
  }
  if (words.size() > lines) words.erase(words.begin(), words.end() - static_cast<std::ptrdiff_t>(lines));
  return words;
}

}  // namespace assay
