// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "app/cli/cache_folder.hpp"
#include "app/cli/help.hpp"
#include "app/cli/live.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/not_yet.hpp"
#include "app/suite/check.hpp"
#include "app/suite/config.hpp"
#include "app/suite/folder.hpp"
#include "app/suite/offline.hpp"
#include "bench/measure/doctor.hpp"
#include "bench/run/places.hpp"
#include "bench/run/session_history.hpp"
#include "bench/run/session_plan.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNewConfig = "benchmark_config.json";
constexpr const char* kFolders = "Folders of results (nothing is measured)";

MeasuringDefaults suite_defaults() {
  MeasuringDefaults defaults;
  defaults.settings = suite::default_config().settings;
  defaults.hardware = join(suite::default_config().targets.hardware, ", ");
  return defaults;
}

struct SuiteOptions {
  MeasuringOptions measuring{suite_defaults()};
  StepOptions steps;
  std::string config, new_config, output_dir, resume_folder, executor = "local";
  std::vector<std::string> models, aggregate, comparison;
  std::string plot_only, update_matrix_only;
  bool overwrite = false, check = false, include_web = false, no_plots = false, no_matrix = false;
  CLI::Option *create = nullptr, *resume = nullptr, *parallel = nullptr;
  bool parallel_given = true;

  [[nodiscard]] bool offline() const {
    return !plot_only.empty() || !update_matrix_only.empty() || !aggregate.empty() || !comparison.empty();
  }
};

Result<ExitCode> create_config(const SuiteOptions& options, const Context& context) {
  const fs::path file = options.new_config.empty() ? kNewConfig : options.new_config;
  std::error_code error;
  if (fs::exists(file, error) && !options.overwrite)
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' exists already", file.string()),
                "give another name, or --overwrite");
  ASSAY_CHECK_OK(write_file_atomically(file, suite::example_config()));
  if (context.json)
    print_document({{"config", file.string()}});
  else
    std::printf("configuration: %s\nmeasure it with `assay suite --config %s`\n", file.c_str(), file.c_str());
  return ExitCode::kSuccess;
}

// The file or the guide's example, with what the options say in its place.
Result<suite::SuiteConfig> configuration(const SuiteOptions& options) {
  suite::SuiteConfig config = suite::default_config();
  if (!options.config.empty()) {
    ASSAY_TRY(config, suite::read_config(options.config));
  }
  ASSAY_CHECK_OK(suite::choose_models(config, options.models));
  if (!options.measuring.hardware.empty()) config.targets.hardware = options.measuring.hardware;
  if (!options.measuring.engines.empty()) {
    config.targets.engines = options.measuring.engines;
    // The engines decide, where the hardware is only a default.
    if (options.measuring.hardware.empty() && !config.given.contains("hardware_types")) config.targets.hardware.clear();
  }
  config.targets.device = options.measuring.device;
  config.targets.include_web = config.targets.include_web || options.include_web;
  if (!options.output_dir.empty()) config.output_dir = options.output_dir;
  if (options.parallel->count() > 0) config.parallel = options.parallel_given;
  config.plots = config.plots && !options.no_plots;
  config.matrix = config.matrix && !options.no_matrix;
  return config;
}

Result<SessionRequest> suite_request(const SuiteOptions& options, suite::SuiteConfig& config, const Context& context) {
  MeasuringOptions measuring = options.measuring;
  const bool asked = config.settings.precision_asked;
  measuring.start_from(config.settings);
  ASSAY_TRY(SessionRequest request, make_request(measuring, context));
  ASSAY_CHECK_OK(options.steps.apply_to(request.settings));
  // A list of batches is a request; each model gets the lengths that it accepts.
  request.settings.default_batches = false;
  request.settings.default_lengths = true;
  request.settings.precision_asked = asked || measuring.given("--precision");
  request.targets = config.targets;
  // The example has the key, too; its note would come with every suite.
  request.settings.parallel = config.parallel && (options.parallel->count() > 0 || config.given.contains("parallel"));
  request.models = config.models;
  request.resume = options.resume->count() > 0;
  config.settings = request.settings;
  return request;
}

std::vector<std::string> notes_of(const SuiteOptions& options, const suite::SuiteConfig& config) {
  std::vector<std::string> notes;
  if (config.schedule.enabled)
    notes.push_back(fmt::format("\"schedule\" ({}, {}): {}", config.schedule.frequency, config.schedule.time,
                                not_yet("schedule").message + "; " + not_yet("schedule").hint));
  std::vector<std::string> given = options.measuring.given();
  if (!options.measuring.hardware.empty()) given.emplace_back("--hardware");
  if (!options.config.empty() && !given.empty())
    notes.push_back(fmt::format("{} {} what '{}' says", join(given, ", "), given.size() == 1 ? "replaces" : "replace",
                                options.config));
  return notes;
}

// The folder that --resume continues: the named one, or the newest of this plan.
Result<fs::path> folder_to_resume(const SuiteOptions& options, SessionRequest request, const fs::path& output_dir) {
  if (!options.resume_folder.empty()) {
    request.output_dir = options.resume_folder;
    if (last_run(request)) return request.output_dir;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--resume: '{}' has no suite with this configuration", options.resume_folder),
                "call it with the options that the suite began with");
  }
  for (const fs::path& folder : suite::suite_folders(output_dir)) {
    request.output_dir = folder;
    if (last_run(request)) return folder;
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--resume: no suite with this configuration in '{}'", output_dir.string()),
              "call it with the options that the suite began with");
}

Result<ExitCode> measure(const SuiteOptions& options, Context& context) {
  ASSAY_TRY(suite::SuiteConfig config, configuration(options));
  ASSAY_TRY(SessionRequest request, suite_request(options, config, context));
  const std::vector<std::string> notes = notes_of(options, config);
  const fs::path output_dir = config.output_dir;
  request.output_dir = output_dir;
  if (options.measuring.plan) {
    request.resume = false;
    for (const std::string& note : notes) log_info("{}", note);
    return show_plan(std::move(request), options.measuring, context);
  }
  ASSAY_CHECK_OK(check_results_folder(output_dir));
  if (request.resume) {
    ASSAY_TRY(request.output_dir, folder_to_resume(options, request, output_dir));
  } else {
    ASSAY_TRY(request.output_dir, suite::make_folder(output_dir));
  }
  const fs::path folder = request.output_dir;
  request.doctor = to_json(examine_machine(request.spool));
  const auto input_of = [&](const SessionResult& session) {
    ReportInput input = report_input(session);
    input.notes.insert(input.notes.begin(), notes.begin(), notes.end());
    if (config.matrix) input.files.matrix = folder / kMatrixFile;
    return input;
  };
  const std::function<void()> publish = publisher(request);
  request.model_finished = [&](const SessionResult& session) {
    // Written again at the end, where a failure is reported.
    if (const Status written = suite::write_results(folder, input_of(session)); !written)
      log_verbose("{}", written.error().message);
    publish();
  };
  const auto run = [&]() -> Result<SessionResult> {
    ASSAY_CHECK_OK(write_file_atomically(folder / suite::kConfigFile, json_text(to_json(config), 2) + "\n"));
    return run_with_progress(request, options.measuring, context);
  };
  Result<SessionResult> session = run();
  if (!session) {
    std::error_code ignored;  // a suite that could not begin leaves no folder
    if (!fs::exists(folder / suite::kResultsFile, ignored) && !request.resume) fs::remove_all(folder, ignored);
    return tl::unexpected<Error>(std::move(session).error());
  }
  const ReportInput input = input_of(*session);
  Output output;
  output.folder = folder;
  output.stamped = false;
  output.files = {{suite::kResultsFile, "", [&] { return json_text(guide_json(input), 2) + "\n"; }},
                  {suite::kCsvFile, "", [&] { return csv_table(input.rows); }},
                  {suite::kReportFile, "", [&] { return markdown_report(input); }}};
  output.document = [&] { return guide_json(input); };
  output.text = [&](const std::string& stamp) {
    std::string text = summary_table(input, isatty(STDOUT_FILENO) == 1, output_width());
    if (!stamp.empty())
      text += fmt::format("\nResults: {}; database: {}\n", folder.string(), request.database.string());
    return text;
  };
  output.matrix = config.matrix;
  output.matrix_copy = output_dir;
  output.pictures = config.plots;
  output.verifies = options.steps.verify_only;
  return finish(output, options.measuring, request, *session);
}

Result<ExitCode> check(const SuiteOptions& options, Context& context) {
  ASSAY_TRY(suite::SuiteConfig config, configuration(options));
  ASSAY_TRY(SessionRequest request, suite_request(options, config, context));
  ASSAY_TRY(const CacheFolder cache, CacheFolder::open());
  request.cache = cache.path();
  request.cancelled = interrupted;
  request.output_dir = config.output_dir;
  request.resume = false;
  ASSAY_TRY(const SessionPlan plan, plan_session(request));
  const std::vector<suite::Prerequisite> found = suite::check_prerequisites(request, plan);
  if (context.json)
    print_document(suite::check_json(found));
  else
    std::fputs(suite::check_text(found).c_str(), stdout);
  if (plan.so_far.usage_error) return ExitCode::kUsage;
  return std::ranges::all_of(found, &suite::Prerequisite::met) ? ExitCode::kSuccess : ExitCode::kCannotTell;
}

// Prints what a command wrote.
ExitCode answer(const suite::Written& written, const Context& context) {
  Json files = Json::array();
  for (const fs::path& file : written.files) files.push_back(file.string());
  if (context.json) {
    print_document({{"written", std::move(files)}, {"notes", written.notes}});
    return ExitCode::kSuccess;
  }
  for (const fs::path& file : written.files) std::printf("%s\n", file.c_str());
  for (const std::string& note : written.notes) std::printf("note: %s\n", note.c_str());
  return ExitCode::kSuccess;
}

Result<ExitCode> work_on_folders(const SuiteOptions& options, Context& context) {
  const fs::path output_dir = options.output_dir.empty() ? suite::default_config().output_dir : options.output_dir;
  if (options.measuring.plan) {
    std::vector<std::string> read = options.aggregate;
    for (const std::string& folder : options.comparison) read.push_back(folder);
    for (const std::string& folder : {options.plot_only, options.update_matrix_only})
      if (!folder.empty()) read.push_back(folder);
    const bool made = !options.aggregate.empty() || !options.comparison.empty();
    const std::string into = made ? output_dir.string() : read.front();
    if (context.json)
      print_document({{"reads", read}, {"writes_into", into}, {"new_folder", made}});
    else
      std::printf("reads %s; writes into %s%s; measures nothing\n", join(read, ", ").c_str(),
                  made ? "a new folder of " : "", into.c_str());
    return ExitCode::kSuccess;
  }
  const auto paths = [](const std::vector<std::string>& names) {
    return std::vector<fs::path>(names.begin(), names.end());
  };
  if (!options.plot_only.empty()) {
    ASSAY_TRY(const suite::Written written, suite::plot_only(options.plot_only, interrupted));
    return answer(written, context);
  }
  if (!options.update_matrix_only.empty()) {
    ASSAY_TRY(const suite::Written written,
              suite::update_matrix_only(options.update_matrix_only, database_path(options.measuring.db_path)));
    return answer(written, context);
  }
  if (!options.aggregate.empty()) {
    ASSAY_TRY(const suite::Written written,
              suite::aggregate(paths(options.aggregate), output_dir, context.command_line, interrupted));
    return answer(written, context);
  }
  ASSAY_TRY(const suite::Written written,
            suite::plot_comparison(options.comparison[0], options.comparison[1], output_dir, interrupted));
  return answer(written, context);
}

Result<ExitCode> suite_command(const SuiteOptions& options, Context& context) {
  options.measuring.apply();
  if (options.executor != "local") return answer_not_yet("distributed", context);
  const int tasks = (options.create->count() > 0 ? 1 : 0) + (options.check ? 1 : 0) +
                    (options.plot_only.empty() ? 0 : 1) + (options.update_matrix_only.empty() ? 0 : 1) +
                    (options.aggregate.empty() ? 0 : 1) + (options.comparison.empty() ? 0 : 1);
  if (tasks > 1)
    return fail(ErrorCode::kInvalidArgument,
                "--create-config, --check, --plot-only, --update-matrix-only, --aggregate-results and "
                "--plot-comparison cannot be combined");
  if (options.create->count() > 0) return create_config(options, context);
  if (options.offline()) return work_on_folders(options, context);
  if (options.check) return check(options, context);
  return measure(options, context);
}

void add_folder_options(CLI::App& command, SuiteOptions& options) {
  show_as(command.add_option("--plot-only", options.plot_only, "Draw the plots of this folder's results again"),
          kFolders, "FOLDER");
  show_as(command.add_option("--update-matrix-only", options.update_matrix_only,
                             "Write hardware_compatibility_matrix.json from this folder's results and the history"),
          kFolders, "FOLDER");
  show_as(command.add_option("--aggregate-results", options.aggregate,
                             "Put the results of these folders into a new folder; the newest of each cell is shown"),
          kFolders, "FOLDER…");
  show_as(command.add_option("--plot-comparison", options.comparison,
                             "Compare the results of two folders, cell by cell, in a new folder"),
          kFolders, "BEFORE AFTER")
      ->expected(2);
}

}  // namespace

void register_suite(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<SuiteOptions>();
  CLI::App* command = app.add_subcommand("suite", "Measure what a configuration file names, into a folder of its own");
  command->group(kResultCommands);
  show_as(command->add_option("--config", options->config, "Configuration file; docs/formats.md has every key"), kModel,
          "FILE")
      ->default_str("the example that --create-config writes");
  options->create = show_as(command->add_option("--create-config", options->new_config,
                                                std::string("Write an example of a configuration file, ") + kNewConfig +
                                                    " unless named, and end"),
                            kModel, "[FILE]")
                        ->expected(0, 1);
  show_as(command->add_flag("--overwrite", options->overwrite, "Let --create-config replace a file"), kModel);
  show_as(command->add_option("MODEL,--models,--model,--model-id", options->models,
                              "Only these models of the configuration: families, or names"),
          kModel, "NAME[,NAME…]")
      ->delimiter(',');
  show_as(command->add_flag("--check", options->check,
                            "Only look whether models, hardware, space and database are there; status 4 if not"),
          kMeasuring);
  show_as(command->add_flag("--include-web-platforms", options->include_web,
                            "Add rows for webnn and webgpu; no engine for them is part of this version"),
          kMatrix);
  options->parallel =
      show_as(command->add_flag("--parallel,!--no-parallel", options->parallel_given,
                                "Measure on independent hardware at the same time, as the key \"parallel\"; without "
                                "effect in this version: a note says why"),
              kMeasuring);
  only_words(show_as(command->add_option("--executor", options->executor), kUnlisted, "local|slurm"),
             {"local", "slurm"});
  options->steps.add_to(*command);
  show_as(command->add_option("--output-dir", options->output_dir,
                              "Folder in which each suite makes its own, named after the time"),
          kOutput, "FOLDER")
      ->default_str(suite::default_config().output_dir);
  show_as(command->add_flag("--no-plots", options->no_plots, "Do not make plots and index.html beside the results"),
          kOutput);
  show_as(command->add_flag("--no-compatibility-update", options->no_matrix,
                            "Do not write hardware_compatibility_matrix.json"),
          kOutput);
  add_folder_options(*command, *options);
  options->measuring.add_to(*command);
  command->remove_option(command->get_option("--resume"));
  options->resume = show_as(command->add_option("--resume", options->resume_folder,
                                                "Continue an interrupted suite with the same options: that of FOLDER, "
                                                "or the newest one in the output folder"),
                            kStorage, "[FOLDER]")
                        ->expected(0, 1);
  command->footer(
      "Examples:\n"
      "  assay suite --models embedding vision --hardware cpu cuda\n"
      "  assay suite --config my_benchmark_config.json --plan\n"
      "  assay suite --create-config");
  commands.add(command, [options](Context& context) { return suite_command(*options, context); });
}

}  // namespace assay::cli
