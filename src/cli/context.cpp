// SPDX-License-Identifier: Apache-2.0
#include "cli/context.hpp"

#include <unistd.h>

#include <csignal>

namespace assay::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int) {
  if (g_interrupted != 0) _exit(static_cast<int>(ExitCode::kInterrupted));
  g_interrupted = 1;
  constexpr char kNote[] = "\nStopping; finished cells are kept. Press Ctrl-C again to end at once.\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kNote, sizeof kNote - 1);
}

}  // namespace

bool interrupted() { return g_interrupted != 0; }

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
