// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "app/cli/cache_folder.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/live.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/progress.hpp"
#include "bench/measure/doctor.hpp"
#include "bench/rate/peak.hpp"
#include "bench/run/run_info.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analyse.hpp"
#include "history/store/peaks.hpp"
#include "history/store/store.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

struct DoctorOptions {
  std::string db_path, spool;
  std::string output_format = "text";
  bool peak = false;
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

void print(const MeasuredPeaks& measured, const fs::path& database) {
  constexpr double kGiga = 1e9;
  std::printf("\nmeasured peaks, the best of several multiplications of matrices:\n");
  for (const MeasuredPeak& peak : measured.peaks)
    std::printf("  %-9s %-9s %8s GFLOP/s %6s GB/s  %s %s, %s%s\n", peak.hardware.c_str(), peak.precision.c_str(),
                in_words(peak.flops_per_s / kGiga).c_str(), in_words(peak.bytes_per_s / kGiga).c_str(),
                peak.engine.c_str(), peak.engine_version.c_str(), counted(peak.threads, "thread").c_str(),
                peak.disturbed ? "; disturbed: it may be too low" : "");
  for (const std::string& line : measured.left_out) std::printf("  not measured: %s\n", sanitise(line).c_str());
  if (!measured.peaks.empty()) std::printf("stored in %s\n", shown_path(database).c_str());
}

Result<MeasuredPeaks> measure_them(const fs::path& database, const Context& context) {
  ASSAY_TRY([[maybe_unused]] const MeasuringMark mark, MeasuringMark::begin(database, context.command_line));
  ASSAY_TRY(const CacheFolder cache, CacheFolder::open());
  Progress progress(context.terminal, false);
  return measure_peaks(engine_registry(), cache.path(), interrupted,
                       [&](const std::string& what) { progress.set_step(what); });
}

// First a file beside the bundles, so that a busy or full database costs nothing.
Status store_peaks(const MeasuredPeaks& measured, const fs::path& database, const fs::path& spool,
                   const Context& context) {
  RunInfo run =
      make_run_info(context.command_line, detect_hardware(Host(), engine_registry().entries()), engine_registry());
  run.run_id = make_uuid();
  Json peaks = Json::array();
  for (const MeasuredPeak& peak : measured.peaks) peaks.push_back(to_json(peak));
  ASSAY_TRY(const fs::path file, write_peaks(spool, run, peaks));
  const auto save = [&]() -> Status {
    ASSAY_TRY(Store opened, Store::open(database, Store::Mode::kWrite, std::chrono::seconds(2)));
    ASSAY_CHECK_OK(opened.ingest(spool));
    ASSAY_CHECK_OK(opened.publish_snapshot());
    return {};
  };
  return with_context(save(), fmt::format("while storing the peaks, which are safe in {}", shown_path(file)));
}

Result<ExitCode> doctor(const DoctorOptions& options, const Context& context) {
  const fs::path database = database_path(options.db_path), spool = spool_path(options.spool, database);
  const Diagnosis diagnosis = examine_machine(spool);
  std::optional<MeasuredPeaks> measured;
  if (options.peak) {
    ASSAY_TRY(measured, measure_them(database, context));
    if (!measured->peaks.empty()) ASSAY_CHECK_OK(store_peaks(*measured, database, spool, context));
  }
  if (options.output_format == "json") {
    Json document = to_json(diagnosis);
    if (measured) {
      document["peaks"] = Json::array();
      for (const MeasuredPeak& peak : measured->peaks) document["peaks"].push_back(to_json(peak));
      document["not_measured"] = measured->left_out;
    }
    std::printf("%s\n", json_text(document, 2).c_str());
  } else {
    print(diagnosis, isatty(STDOUT_FILENO) == 1);
    if (measured) print(*measured, database);
  }
  return measured && measured->peaks.empty() ? ExitCode::kCannotTell : ExitCode::kSuccess;
}

}  // namespace

void register_doctor(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand("doctor", "Check how reliable timings on this machine are, and what to change")
                          ->group(kMachineCommands);
  show_as(
      command->add_flag("--peak", options->peak,
                        "Also measure and store how fast each runtime multiplies matrices, on each device in each "
                        "precision; reports of hardware efficiency compare with it. It takes some seconds for each"),
      kMeasuring);
  add_storage_options(*command, options->db_path, options->spool);
  add_output_format(*command, options->output_format);
  command->footer("It also checks the disk of the spool (--spool).");
  commands.add(command, [options](Context& context) { return doctor(*options, context); });
}

}  // namespace assay::cli
