// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/json.hpp"
#include "cli/help.hpp"
#include "cli/measuring_options.hpp"
#include "measure/doctor.hpp"

namespace assay::cli {
namespace {

struct DoctorOptions {
  std::string db_path, spool;
  std::string output_format = "text";
};

void print(const Diagnosis& diagnosis, bool colour) {
  for (const HealthFinding& finding : diagnosis.findings) {
    const char* paint = finding.verdict == Health::kOk     ? "\x1b[32m"
                        : finding.verdict == Health::kWarn ? "\x1b[33m"
                                                           : "\x1b[31m";
    std::printf("%s%-5s%s %-17s %s\n", colour ? paint : "", std::string(to_string(finding.verdict)).c_str(),
                colour ? "\x1b[0m" : "", finding.item.c_str(), finding.value.c_str());
    if (!finding.remedy.empty()) std::printf("%-23s to do: %s\n", "", finding.remedy.c_str());
  }
  std::printf("\nscore: %d of 100: %s\n", diagnosis.score, std::string(score_words(diagnosis.score)).c_str());
}

}  // namespace

void register_doctor(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor", "Check how reliable timings on this machine are, and what to change")
                          ->group(kMachineCommands);
  add_storage_options(*command, options->db_path, options->spool);
  add_output_format(*command, options->output_format);
  command->footer("It also checks the disk of the spool (--spool).");
  commands.add(command, [options](Context&) -> Result<ExitCode> {
    const Diagnosis diagnosis = examine_machine(spool_path(options->spool, database_path(options->db_path)));
    if (options->output_format == "json")
      std::printf("%s\n", json_text(to_json(diagnosis), 2).c_str());
    else
      print(diagnosis, isatty(STDOUT_FILENO) == 1);
    return ExitCode::kSuccess;
  });
}

}  // namespace assay::cli
