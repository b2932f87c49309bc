// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "app/cli/help.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/model_options.hpp"
#include "bench/measure/doctor.hpp"
#include "bench/settings/sets.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "models/model/classify.hpp"

namespace assay::cli {
namespace {

MeasuringDefaults run_defaults() {
  constexpr std::int64_t kLaunches = 3;
  constexpr std::chrono::seconds kMaxTime(10);
  MeasuringDefaults defaults;
  defaults.settings.launches = kLaunches;
  defaults.settings.max_time = kMaxTime;
  return defaults;
}

struct RunOptions {
  MeasuringOptions measuring{run_defaults()};
  std::string output_dir = "./benchmark_results";
  std::string models_set = "key";
  std::string custom_models;
  std::vector<std::string> models, specific_models, model_families;
  StepOptions steps;
  bool no_plots = false, no_compatibility_update = false;
  bool parallel = false, include_web_platforms = false, small_models_only = false;
  CLI::Option* set = nullptr;
};

// Models that are named are measured in place of a set.
Result<std::vector<ModelChoice>> chosen_by_name(const RunOptions& options) {
  for (const auto& [name, given] : {std::pair("--models-set", options.set->count() > 0),
                                    std::pair("--small-models-only", options.small_models_only),
                                    std::pair("--custom-models", !options.custom_models.empty()),
                                    std::pair("--specific-models", !options.specific_models.empty()),
                                    std::pair("--model-families", !options.model_families.empty())})
    if (given)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the model '{}' and {} cannot be combined", options.models.front(), name),
                  "name models, or choose from a set with --models-set, --specific-models and --model-families");
  return named_models(model_names(options.models));
}

Result<std::vector<ModelChoice>> chosen_models(const RunOptions& options) {
  if (!options.models.empty()) return chosen_by_name(options);
  const std::string set = options.small_models_only ? "small" : options.models_set;
  if (set == "custom" && options.custom_models.empty())
    return fail(ErrorCode::kInvalidArgument, "--models-set custom requires --custom-models FILE",
                R"(FILE is JSON, such as {"my_bert": {"name": "prajjwal1/bert-tiny", "family": "embedding"}})");
  if (set != "custom" && !options.custom_models.empty())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--custom-models requires --models-set custom, not '{}'", set));
  ASSAY_TRY(std::vector<ModelChoice> models,
            set == "custom" ? models_of_file(options.custom_models) : models_of_set(set));

  std::vector<std::string> names;
  names.reserve(models.size());
  for (const ModelChoice& model : models) names.push_back(model.name);
  for (const std::string& wanted : options.specific_models)
    if (std::find(names.begin(), names.end(), wanted) == names.end())
      return unknown_word(fmt::format("--specific-models: the set '{}' has no model", set), wanted, names);
  const std::vector<std::string>& families = model_families();
  for (const std::string& family : options.model_families)
    if (std::find(families.begin(), families.end(), family) == families.end())
      return unknown_word("--model-families: unknown family", family, families);
  std::erase_if(models, [&](const ModelChoice& model) {
    const auto listed = [](const std::vector<std::string>& list, const std::string& name) {
      return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
    };
    return !listed(options.specific_models, model.name) || !listed(options.model_families, model.family);
  });
  if (models.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("no model of the set '{}' belongs to the families {}", set,
                                                         join(options.model_families, ", ")));
  return models;
}

Result<ExitCode> run(const RunOptions& options, Context& context) {
  options.measuring.apply();
  ASSAY_TRY(SessionRequest request, make_request(options.measuring, context));
  ASSAY_TRY(request.models, chosen_models(options));
  request.targets.include_web = options.include_web_platforms;
  ASSAY_CHECK_OK(options.steps.apply_to(request.settings));
  request.settings.parallel = options.parallel;
  request.output_dir = options.output_dir;
  if (options.measuring.plan) return show_plan(std::move(request), options.measuring, context);
  // Before the run: afterwards its own work would count as a disturbance.
  request.doctor = to_json(examine_machine(request.spool));
  ASSAY_TRY(SessionResult session, run_with_progress(request, options.measuring, context));

  ReportInput input = report_input(session);
  if (!options.no_compatibility_update) input.files.matrix = request.output_dir / kMatrixFile;
  Output output;
  output.folder = options.output_dir;
  output.files = files_of_run(input);
  output.document = [&] { return guide_json(input); };
  output.text = [&](const std::string& stamp) {
    std::string text = summary_table(input, isatty(STDOUT_FILENO) == 1, output_width());
    if (!stamp.empty()) text += files_of_run_line(output.folder, stamp, request.database.string());
    return text;
  };
  output.matrix = !options.no_compatibility_update;
  output.pictures = !options.no_plots;
  output.verifies = options.steps.verify_only;
  return finish(output, options.measuring, request, session);
}

}  // namespace

void register_run(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Verify and measure a set of models on all hardware of this machine");
  command->group(kFirstCommands);
  add_models(*command, options->models, std::string(kModelHelp) + ". Without it, the models of a set are measured");
  options->set =
      only_words(show_as(command->add_option("--models-set", options->models_set,
                                             "Set of models: key (13 models), small (5 models), or custom: those of "
                                             "--custom-models"),
                         kModel, "key|small|custom"),
                 {"key", "small", "custom"});
  options->set->default_str(options->models_set);
  show_as(
      command->add_flag("--small-models-only", options->small_models_only, "Another way to write --models-set small"),
      kModel);
  show_as(
      command->add_option("--custom-models", options->custom_models,
                          "JSON file with the models of --models-set custom; paths in it are relative to its folder"),
      kModel, "FILE");
  show_as(command->add_option("--specific-models", options->specific_models, "Only these models of the set"), kModel,
          "NAME[,NAME…]")
      ->delimiter(',');
  show_as(command->add_option("--model-families", options->model_families,
                              "Only these families of models: " + join(model_families(), ", ")),
          kModel, "NAME[,NAME…]")
      ->delimiter(',');
  show_as(command->add_flag("--include-web-platforms", options->include_web_platforms,
                            "Add rows for webnn and webgpu; no engine for them is part of this version"),
          kMatrix);
  options->steps.add_to(*command);
  show_as(
      command->add_flag("--parallel", options->parallel,
                        "Measure on independent hardware at the same time; without effect in this version: a note says "
                        "why"),
      kMeasuring);
  show_as(command->add_option("--output-dir", options->output_dir, "Folder for the files of results"), kOutput,
          "FOLDER")
      ->default_str(options->output_dir);
  show_as(command->add_flag("--no-plots", options->no_plots, "Do not make plots and index.html beside the results"),
          kOutput);
  show_as(command->add_flag("--no-compatibility-update", options->no_compatibility_update,
                            "Do not write hardware_compatibility_matrix.json"),
          kOutput);
  options->measuring.add_to(*command);
  command->footer(
      "Examples:\n"
      "  assay run --models-set small --output-dir ./benchmark_results\n"
      "  assay run bert resnet50 --hardware cpu\n"
      "  assay run --hardware all --batch-sizes 1 4 8 --verify-only");
  commands.add(command, [options](Context& context) { return run(*options, context); });
}

}  // namespace assay::cli
