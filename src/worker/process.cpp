// SPDX-License-Identifier: Apache-2.0
#include "worker/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace assay {
namespace {

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

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != text.npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : changes) variables[name] = value;
  std::vector<std::string> merged;
  merged.reserve(variables.size());
  for (const auto& [name, value] : variables) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const Options& options) {
  ASSAY_TRY(Descriptor log, open_log(options.log));
  const off_t log_start = ::lseek(log.get(), 0, SEEK_END);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot create a socket: {}", std::strerror(errno)));
  Descriptor ours(ends[0]), theirs(ends[1]);
  // Above every descriptor that is assigned below, so that no assignment overwrites a later source.
  Descriptor high(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 100));
  Descriptor high_log(::fcntl(log.get(), F_DUPFD_CLOEXEC, 100));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, high_log.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, high_log.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, high.get(), options.socket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = options.arguments, environment = merged_environment(options.environment);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments.front().c_str(), &actions, &attributes, pointers(arguments).data(),
                                  pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return fail(error == ENOENT || error == EACCES ? ErrorCode::kNotFound : ErrorCode::kInternal,
                fmt::format("cannot start '{}': {}", arguments.front(), std::strerror(error)));
  log_debug("process {} started: {}", pid, join(options.arguments, " "));
  return ChildProcess(pid, std::move(ours), std::move(log), log_start);
}

ChildProcess::ChildProcess(pid_t pid, Descriptor socket, Descriptor log, off_t log_start)
    : pid_(pid), socket_(std::move(socket)), log_(std::move(log)), log_start_(log_start) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      log_(std::move(other.log_)),
      log_start_(other.log_start_),
      end_(other.end_) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) kill();
}

std::optional<ProcessEnd> ChildProcess::ended() {
  int status = 0;
  if (!end_ && ::waitpid(pid_, &status, WNOHANG) == pid_) end_ = end_of(status);
  return end_;
}

std::optional<ProcessEnd> ChildProcess::wait(std::chrono::milliseconds limit) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd readable{handle.get(), POLLIN, 0};
  if (!ended()) ::poll(&readable, 1, static_cast<int>(limit.count()));
  return ended();
}

void ChildProcess::signal(int number) const {
  if (!end_) ::kill(pid_, number);
}

void ChildProcess::kill() {
  // Processes of the runtime are in the same group. The kernel does not reuse its number before the worker is reaped.
  if (end_) return;
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  end_ = end_of(status);
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
