// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace assay::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0, g_serving = 0, g_nothing_to_keep = 0;

// For what must be cleaned up, such as temporary files.
constexpr unsigned kGraceSeconds = 3;

constexpr std::string_view kCtrlC = "\nStopping; finished cells are kept. Press Ctrl-C again to end at once.\n";
constexpr std::string_view kTerm = "\nStopping after SIGTERM; finished cells are kept. A second signal ends at once.\n";
constexpr std::string_view kHangUp =
    "\nStopping after SIGHUP (the terminal was closed); finished cells are kept. A second signal ends at once.\n";
constexpr std::string_view kServerEnds = "\nThe server ends.\n";
constexpr std::string_view kReaderEnds = "\nStopping.\n";

extern "C" void end_process(int /*signal*/) { _exit(static_cast<int>(ExitCode::kInterrupted)); }

extern "C" void on_interrupt(int signal) {
  if (g_interrupted != 0) _exit(static_cast<int>(ExitCode::kInterrupted));
  g_interrupted = 1;
  if (g_nothing_to_keep != 0) alarm(kGraceSeconds);
  const std::string_view note = g_nothing_to_keep != 0 ? kReaderEnds
                                : g_serving != 0       ? kServerEnds
                                : signal == SIGINT     ? kCtrlC
                                : signal == SIGTERM    ? kTerm
                                                       : kHangUp;
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, note.data(), note.size());
}

}  // namespace

bool interrupted() { return g_interrupted != 0; }

void interrupts_end_server() { g_serving = 1; }

NothingToKeep::NothingToKeep() {
  std::signal(SIGALRM, end_process);
  g_nothing_to_keep = 1;
  if (g_interrupted != 0) alarm(kGraceSeconds);
}

NothingToKeep::~NothingToKeep() {
  g_nothing_to_keep = 0;
  alarm(0);
}

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // `nohup` makes the program ignore SIGHUP: it continues after its terminal is closed.
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
      return ExitCode::kUsage;
    case ErrorCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kFailure;
  }
}

}  // namespace assay::cli
