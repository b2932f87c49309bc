// SPDX-License-Identifier: Apache-2.0
#include "show/chart/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/descriptor.hpp"
#include "core/base/guard.hpp"

namespace assay::chart {
namespace {

using std::chrono::steady_clock;

// The first byte of what the copy writes: kText, then the text; or kError, the error's code as a byte, the message.
constexpr char kText = 't', kError = 'e';

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody reads any more
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string answer_of(const std::function<Result<std::string>()>& work) {
  const Result<std::string> result = guarded({}, work);
  return result ? kText + *result
                : std::string{kError, static_cast<char>(result.error().code)} + result.error().message;
}

// noexcept: an exception must not reach the caller's handlers in the copy. Only the lack of memory for the answer's
// text is left: then the copy aborts.
[[noreturn]] void run_as_child(const std::function<Result<std::string>()>& work, int to, pid_t parent,
                               std::chrono::milliseconds deadline) noexcept {
  // The handlers of the program are for the program.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE}) std::signal(signal, SIG_DFL);
  // If the parent is killed, nobody else ends this.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  const auto seconds = static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(deadline).count()) + 1;
  const rlimit limit{seconds, seconds}, no_core{0, 0};
  ::setrlimit(RLIMIT_CPU, &limit);
  ::setrlimit(RLIMIT_CORE, &no_core);
  write_all(to, answer_of(work));
  ::_exit(0);
}

// What the copy writes, until it closes its end. Errors: timeout, cancelled, internal.
Result<std::string> read_until_end(int from, steady_clock::time_point end, const Cancelled& cancelled) {
  constexpr int kPauseMs = 50;
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (;;) {
    ASSAY_CHECK_OK(check_cancelled(cancelled));
    if (steady_clock::now() >= end) return fail(ErrorCode::kTimeout, "its time is over");
    pollfd waiting{from, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, kPauseMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t size = ready < 0 ? -1 : ::read(from, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(ErrorCode::kInternal, fmt::format("cannot read its result: {}", std::strerror(errno)));
    if (size == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

Result<std::string> run_in_child(const std::function<Result<std::string>()>& work, std::chrono::milliseconds deadline,
                                 const Cancelled& cancelled) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kInternal, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail(ErrorCode::kInternal, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child == 0) run_as_child(work, to.get(), parent, deadline);
  { const Descriptor closed = std::move(to); }
  Result<std::string> text = read_until_end(from.get(), steady_clock::now() + deadline, cancelled);
  if (!text) ::kill(child, SIGKILL);
  const int status = wait_for(child);
  if (!text) return text;
  if (text->size() > 1 && text->front() == kError) return fail(static_cast<ErrorCode>((*text)[1]), text->substr(2));
  if (text->empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(ErrorCode::kInternal, WIFSIGNALED(status)
                                          ? fmt::format("its process ended by signal {}", WTERMSIG(status))
                                          : std::string("its process ended without a result"));
  return text->substr(1);
}

}  // namespace assay::chart
