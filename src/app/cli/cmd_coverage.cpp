// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "app/cli/coverage_answers.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/live.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/not_yet.hpp"
#include "app/suite/coverage.hpp"
#include "bench/hardware/hardware.hpp"
#include "bench/run/places.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "models/model/classify.hpp"

namespace assay::cli {
namespace {

constexpr const char* kWhat = "What to measure";

MeasuringDefaults coverage_defaults() {
  constexpr std::chrono::seconds kMaxTime(1);
  MeasuringDefaults defaults;
  defaults.settings.size = "tiny";
  defaults.settings.batch_sizes = {1};
  defaults.settings.sequence_lengths = {16};
  defaults.settings.output_tokens = {8};
  defaults.settings.max_time = kMaxTime;
  return defaults;
}

struct CoverageOptions {
  MeasuringOptions measuring{coverage_defaults()};
  StepOptions steps;
  CoverageAnswers answers;
  std::vector<std::string> categories, models;
  std::string older_than, frequency, output_dir;
  bool all = false, incremental = false, update = false, all_models = false, profile = false, schedule = false;

  /// With an answer, --model and --all-models say which results it is of.
  [[nodiscard]] bool measures() const {
    return all || incremental || update || !categories.empty() ||
           (answers.count() == 0 && (all_models || !models.empty()));
  }
};

// Which cells are wanted, and how many were left out; of those that were, the models of cells without any result, and
// of those that failed.
struct Choice {
  suite::Covered covered;
  std::size_t wanted = 0, left_out = 0, without_result = 0, failed = 0;
  std::set<std::string> models_without_result, models_failed;
};

Result<SessionRequest> coverage_request(const CoverageOptions& options, const Context& context) {
  ASSAY_TRY(SessionRequest request, make_request(options.measuring, context));
  ASSAY_CHECK_OK(options.steps.apply_to(request.settings));
  // Not the request's own: --resume continues what that has, and coverage has --incremental-benchmarks.
  if (!options.output_dir.empty()) ASSAY_CHECK_OK(check_results_folder(options.output_dir));
  ASSAY_TRY(request.models, suite::coverage_models(options.categories, options.models, request.settings.size));
  return request;
}

// --incremental-benchmarks leaves out what is settled, --update-benchmarks what is not old.
Result<std::shared_ptr<Choice>> choose(const CoverageOptions& options, SessionRequest& request) {
  auto choice = std::make_shared<Choice>();
  if (!options.incremental && !options.update) return choice;
  const std::string machine = machine_fingerprint(detect_hardware(Host(), engine_registry().entries()));
  if (options.update) {
    const std::optional<double> days = parse_number<double>(options.older_than);
    if (!days || !(*days >= 0 && *days <= suite::kMostDays))
      return fail(ErrorCode::kInvalidArgument, fmt::format("--older-than: '{}' is not a number of days from 0 to {}",
                                                           options.older_than, suite::kMostDays));
    ASSAY_TRY(choice->covered, suite::Covered::older_than(request.database, machine, *days));
  } else {
    ASSAY_TRY(choice->covered, suite::Covered::read(request.database, machine));
  }
  request.wanted = [choice, update = options.update](const Record& row) {
    const bool wanted = choice->covered.has(row) == update;
    ++(wanted ? choice->wanted : choice->left_out);
    if (!wanted && choice->covered.has_failed(row)) {
      ++choice->failed;
      choice->models_failed.insert(row.model);
    } else if (update && !choice->covered.has_any(row)) {
      ++choice->without_result;
      choice->models_without_result.insert(row.model);
    }
    return wanted;
  };
  return choice;
}

// "bert, vit and 3 others".
std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> shown(names.begin(), std::next(names.begin(), std::min(kShown, names.size())));
  return names.size() <= kShown ? join(shown, ", ")
                                : fmt::format("{} and {} others", join(shown, ", "), names.size() - kShown);
}

// What failed is left to those who know why: a crash or a timeout would come again with every call.
std::string failed_words(const Choice& choice) {
  if (choice.failed == 0) return {};
  const std::vector<std::string> models(choice.models_failed.begin(), choice.models_failed.end());
  return fmt::format(
      "; failed with this version of their engine and of assay: {} ({}); `assay coverage --model {}` with the same "
      "other "
      "options measures every cell of these models again",
      choice.failed, some_of(choice.models_failed), join(models, " "));
}

std::string left_out_words(const CoverageOptions& options, const Choice& choice) {
  const std::size_t all = choice.wanted + choice.left_out;
  if (!options.update)
    return fmt::format("--incremental-benchmarks: {} of {} cells have a result with this version of their engine",
                       choice.left_out - choice.failed, all) +
           failed_words(choice);
  std::string old = fmt::format("--update-benchmarks: {} of {} cells have a result older than {} days", choice.wanted,
                                all, options.older_than);
  if (choice.without_result > 0)
    old += fmt::format("; without a result: {} ({}), which --incremental-benchmarks measures", choice.without_result,
                       some_of(choice.models_without_result));
  return old + failed_words(choice);
}

// Everything was left out, and nothing else stood in the way.
ExitCode nothing_to_do(const CoverageOptions& options, const Choice& choice, const Context& context) {
  const bool up_to_date = choice.without_result == 0 && choice.failed == 0;
  const std::string words = left_out_words(options, choice) + (up_to_date ? ": everything is up to date" : "");
  if (context.json)
    print_document({{"up_to_date", up_to_date},
                    {"left_out", choice.left_out},
                    {"without_result", choice.without_result},
                    {"failed", choice.failed},
                    {"note", words}});
  else
    std::printf("%s\n", words.c_str());
  return ExitCode::kSuccess;
}

Result<ExitCode> measure_coverage(const CoverageOptions& options, Context& context) {
  ASSAY_TRY(SessionRequest request, coverage_request(options, context));
  ASSAY_TRY(const std::shared_ptr<Choice> choice, choose(options, request));
  const bool chosen = request.wanted != nullptr;
  if (options.measuring.plan) {
    ASSAY_TRY(const ExitCode code, show_plan(request, options.measuring, context));
    if (chosen) log_info("{}", left_out_words(options, *choice));
    return code;
  }
  request.model_finished = [publish = publisher(request)](const SessionResult&) { publish(); };
  ASSAY_TRY(SessionResult session, run_with_progress(request, options.measuring, context));
  if (chosen) session.notes.push_back(left_out_words(options, *choice));
  if (options.all)
    session.notes.push_back(
        fmt::format("{} architectures of the catalogue are not part of this version: `assay zoo list` "
                    "shows those that are",
                    suite::architectures_not_built()));
  if (choice->left_out > 0 && session.rows.empty() && !session.interrupted)
    return nothing_to_do(options, *choice, context);
  ReportInput input = report_input(session);
  Output output;
  if (!options.output_dir.empty()) {
    output.folder = options.output_dir;
    output.files = files_of_run(input);
    output.matrix = true;
    input.files.matrix = output.folder / kMatrixFile;
  }
  output.document = [&] { return guide_json(input); };
  output.text = [&](const std::string& stamp) {
    const std::string database = request.database.string();
    return summary_table(input, isatty(STDOUT_FILENO) == 1, output_width()) +
           (options.output_dir.empty() || stamp.empty() ? fmt::format("\nDatabase: {}\n", database)
                                                        : files_of_run_line(output.folder, stamp, database));
  };
  output.verifies = options.steps.verify_only;
  return finish(output, options.measuring, request, session);
}

// Which results the answers are of.
Result<Selection> selection_of(const CoverageOptions& options) {
  ASSAY_TRY(const RunSettings settings, options.measuring.settings());
  Selection selection;
  for (const std::string& model : options.models)
    (suite::is_architecture(model) ? selection.architectures : selection.models).push_back(model);
  selection.categories = options.categories;
  selection.engines = options.measuring.engines;
  for (const std::string& word : options.measuring.hardware) {
    if (word == "all") {
      selection.hardware.clear();
      break;
    }
    selection.hardware.push_back(canonical_hardware(word));
  }
  if (options.measuring.given("--precision")) selection.precisions = {settings.precision};
  return selection;
}

Result<ExitCode> answer(const CoverageOptions& options, Context& context) {
  const std::filesystem::path database = database_path(options.measuring.db_path);
  if (options.measuring.plan) {
    const std::vector<std::string> places = options.answers.places();
    if (context.json)
      print_document({{"reads", Json::array({database.string()})}, {"writes", places}});
    else
      std::printf("reads %s; writes %s; measures nothing\n", database.c_str(), join(places, ", ").c_str());
    return ExitCode::kSuccess;
  }
  ASSAY_TRY(const Selection selection, selection_of(options));
  return options.answers.write(database, selection, context);
}

Status check_options(const CoverageOptions& options, const Context& context) {
  const auto wrong = [](const char* message, const char* hint) {
    return fail(ErrorCode::kInvalidArgument, message, hint);
  };
  if (options.incremental && options.update)
    return wrong("--incremental-benchmarks and --update-benchmarks cannot be combined", "");
  if (options.update == options.older_than.empty())
    return wrong("--update-benchmarks and --older-than DAYS belong together", "");
  if (options.all_models && !options.models.empty()) return wrong("--all-models and --model cannot be combined", "");
  if (!options.measures() && options.answers.count() == 0)
    return wrong("`assay coverage` requires an action",
                 "measure with --benchmark-all, --benchmark-category, --model, --incremental-benchmarks or "
                 "--update-benchmarks; or name a report, a chart or the dashboard: `assay coverage --help`");
  if (!options.measures() && !options.output_dir.empty())
    return wrong("--output-dir is the folder of what is measured, and nothing is",
                 "--output names the place of an answer");
  if (options.measures() && options.answers.count() > 0 && context.json)
    return wrong("--output-format json prints one document, and two are asked",
                 "measure first, then ask in a second call");
  return options.answers.check(context.json);
}

Result<ExitCode> coverage(const CoverageOptions& options, Context& context) {
  options.measuring.apply();
  if (options.profile) return answer_not_yet("profile-detailed", context);
  if (options.schedule || !options.frequency.empty()) return answer_not_yet("schedule", context);
  ASSAY_CHECK_OK(check_options(options, context));
  if (!options.measures()) return answer(options, context);
  ASSAY_TRY(const ExitCode measured, measure_coverage(options, context));
  if (options.answers.count() == 0 || measured == ExitCode::kInterrupted) return measured;
  ASSAY_TRY(const ExitCode answered, answer(options, context));
  return worse(measured, answered);
}

}  // namespace

void register_coverage(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<CoverageOptions>();
  CLI::App* command = app.add_subcommand("coverage", "Verify and measure every architecture of the catalogue");
  command->group(kResultCommands);
  show_as(command->add_flag("--benchmark-all", options->all, "Every architecture that is built"), kWhat);
  show_as(command->add_option("--benchmark-category", options->categories,
                              "Those of these categories: " + join(model_categories(), ", ")),
          kWhat, "NAME[,NAME…]")
      ->delimiter(',');
  show_as(command->add_option(
              "MODEL,--model,--models,--model-id", options->models,
              "These architectures; `assay zoo list` shows all. With an answer, only results of these models"),
          kWhat, "NAME[,NAME…]")
      ->delimiter(',');
  show_as(command->add_flag("--all-models", options->all_models, "Every model; the same as no --model"), kWhat);
  show_as(command->add_flag("--incremental-benchmarks", options->incremental,
                            "Only cells that the database has no result of, or only one of another version of their "
                            "engine; what failed with this one is left out, too: a note says how to try it again"),
          kWhat);
  show_as(
      command->add_flag("--update-benchmarks", options->update, "Only cells whose result is older than --older-than"),
      kWhat);
  show_as(command->add_option("--older-than", options->older_than, "Age of results for --update-benchmarks"), kWhat,
          "DAYS");
  show_as(command->add_flag("--profile-detailed", options->profile), kUnlisted);
  show_as(command->add_flag("--schedule-benchmarks", options->schedule), kUnlisted);
  show_as(command->add_option("--frequency", options->frequency), kUnlisted, "WORD");
  show_as(command->add_option("--output-dir", options->output_dir,
                              "Folder for the files of results, the same as those of `assay run`"),
          kOutput, "FOLDER")
      ->default_str("none: the results are in the database");
  options->answers.add_to(*command);
  options->steps.add_to(*command);
  options->measuring.add_to(*command);
  command->remove_option(command->get_option("--resume"));
  command->footer(
      "Models have their smallest size unless --size names another.\n"
      "--incremental-benchmarks continues an interrupted run.\n\n"
      "Examples:\n"
      "  assay coverage --benchmark-all --budget 20m\n"
      "  assay coverage --benchmark-category text_encoders --hardware all\n"
      "  assay coverage --incremental-benchmarks --plan\n"
      "  assay coverage --generate-optimization-report --output optimization.md");
  commands.add(command, [options](Context& context) { return coverage(*options, context); });
}

}  // namespace assay::cli
