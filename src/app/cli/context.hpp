// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/result/status.hpp"

namespace assay::cli {

/// How the program was called; every action gets it.
struct Context {
  std::string command_line;  ///< quoted for a shell; used for the record and for --resume
  bool terminal = false;     ///< stderr is a terminal: progress bar and colours
  bool json = false;         ///< --output-format json: stdout gets one document, also for an error
};

/// Returns the exit status, or an Error, which main() prints and whose code decides the status (exit_code_of).
using Action = std::function<Result<ExitCode>(Context&)>;

/// The subcommands and their actions. The action of the subcommand on the command line runs.
class Commands {
 public:
  void add(CLI::App* command, Action action) { entries_.emplace_back(command, std::move(action)); }
  [[nodiscard]] const Action* chosen() const {
    // The innermost wins: `db init` is registered after `db`.
    const Action* found = nullptr;
    for (const auto& [command, action] : entries_)
      if (command->parsed()) found = &action;
    return found;
  }

 private:
  std::vector<std::pair<CLI::App*, Action>> entries_;
};

/// 2 for the user's input, 130 for an interruption, 1 for everything else.
[[nodiscard]] ExitCode exit_code_of(ErrorCode code);

/// Whether SIGINT (Ctrl-C), SIGHUP (the terminal was closed) or SIGTERM arrived. A second signal ends the process at
/// once.
[[nodiscard]] bool interrupted();
void watch_interrupts();
/// Interrupts end a server from now on: nothing is measured that could be kept.
void interrupts_end_server();

/// While one lives, the command only reads, or writes files that it can make again: nothing would be lost. An interrupt
/// then ends the process some seconds later, also if it is inside a library that does not notice.
class NothingToKeep {
 public:
  NothingToKeep();
  NothingToKeep(const NothingToKeep&) = delete;
  NothingToKeep& operator=(const NothingToKeep&) = delete;
  ~NothingToKeep();
};

void register_run(CLI::App& app, Commands& commands);
void register_bench(CLI::App& app, Commands& commands);
void register_verify(CLI::App& app, Commands& commands);
void register_engines(CLI::App& app, Commands& commands);
void register_hardware(CLI::App& app, Commands& commands);
void register_doctor(CLI::App& app, Commands& commands);
void register_zoo(CLI::App& app, Commands& commands);
void register_zoo_list(CLI::App& zoo, Commands& commands);
void register_zoo_specialise(CLI::App& zoo, Commands& commands);
void register_db(CLI::App& app, Commands& commands);
void register_cache(CLI::App& app, Commands& commands);
void register_suite(CLI::App& app, Commands& commands);
void register_coverage(CLI::App& app, Commands& commands);
void register_query(CLI::App& app, Commands& commands);
void register_report(CLI::App& app, Commands& commands);
void register_plot(CLI::App& app, Commands& commands);
void register_serve(CLI::App& app, Commands& commands);
void register_conform(CLI::App& app, Commands& commands);
void register_help(CLI::App& app, Commands& commands);
void register_planned(CLI::App& app, Commands& commands);

}  // namespace assay::cli
