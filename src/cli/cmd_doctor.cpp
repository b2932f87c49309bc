// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/json.hpp"
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
  std::printf("\nscore: %d of 100 (100: nothing found that disturbs timings)\n", diagnosis.score);
}

}  // namespace

void register_doctor(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "Score this machine as a place to measure on, and say what to change");
  command->add_option("--db-path,--db", options->db_path, "Database whose disk is looked at");
  command->add_option("--spool", options->spool, "Folder of the bundles; default: <db>.spool");
  command->add_option("--output-format", options->output_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
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
