// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/measure_command.hpp"
#include "engine/registry.hpp"

namespace assay::cli {
namespace {

struct BenchOptions {
  MeasuringOptions measuring;
  std::vector<std::string> models;  ///< --model, as bench/runner had it; any MODEL is fine
  std::string model_id;             ///< --model-id, as run_hardware_benchmark had it
  std::string framework;
  std::string dtype, data_source;
  std::string output_dir = "results/raw";
  bool save = false, verify_only = false, benchmark_only = false, verbose = false;
};

// Engines that stand for a framework of the guides: "pytorch" is libtorch, "jax" is xla.
std::vector<EngineEntry> framework_engines() {
  std::vector<EngineEntry> engines;
  for (const EngineEntry& engine : own_engines())
    if (engine.framework != engine.name) engines.push_back(engine);
  return engines;
}

// "pytorch (libtorch), jax (xla)"
std::string show_frameworks(std::string_view pattern, std::string_view separator) {
  std::vector<std::string> parts;
  for (const EngineEntry& engine : framework_engines())
    parts.push_back(fmt::format(fmt::runtime(pattern), engine.framework, engine.name));
  return join(parts, separator);
}

std::vector<std::string> framework_words() {
  std::vector<std::string> words{"both"};
  for (const EngineEntry& engine : framework_engines()) words.push_back(engine.framework);
  return words;
}

// Whether every engine that was named computes no model, so that none has to be named.
bool need_no_model(const std::vector<std::string>& engines) {
  if (engines.empty()) return false;
  const EngineRegistry registry(EngineRegistry::default_places());
  return std::ranges::all_of(engines, [&](const std::string& name) {
    const EngineEntry* entry = registry.entry(name);
    return entry != nullptr && !entry->needs_model;
  });
}

// `imitator`: the engine that needs no model, where all are such.
Result<std::vector<ModelChoice>> chosen_models(const BenchOptions& options, const std::string& imitator) {
  std::vector<std::string> names;
  for (const std::string& name : options.models) {
    if (name == "both") {
      names.insert(names.end(), {"resnet50", "vit_b_16"});
    } else {
      names.push_back(name);
    }
  }
  if (!options.model_id.empty()) names.push_back(options.model_id);
  std::vector<ModelChoice> models;
  if (names.empty() && !imitator.empty()) models.push_back({imitator, "", "other", "", "", "", false, true});
  for (const std::string& name : names) {
    ASSAY_CHECK_OK(check_named(name));
    ModelChoice choice;
    choice.name = choice.reference = name;
    models.push_back(std::move(choice));
  }
  if (models.empty())
    return fail(ErrorCode::kInvalidArgument, "bench needs a model: --model resnet50 or --model-id bert-base-uncased",
                "only an engine that computes no model needs none: `--engine null`");
  return models;
}

Status choose_engines(const BenchOptions& options, SessionRequest& request) {
  if (options.framework.empty()) return {};
  if (!request.targets.engines.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--framework and --engine exclude each other: " + show_frameworks("{} means {}", ", "));
  for (const EngineEntry& engine : framework_engines())
    if (options.framework == "both" || options.framework == engine.framework)
      request.targets.engines.push_back(engine.name);
  return {};
}

// "org/model" must not become a folder.
std::string file_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return !(std::isalnum(c) || c == '-' || c == '.' || c == '_'); },
      '_');
  return text;
}

Result<ExitCode> bench(const BenchOptions& options, Context& context) {
  options.measuring.apply();
  if (options.verify_only && options.benchmark_only)
    return fail(ErrorCode::kInvalidArgument, "--verify-only and --benchmark-only exclude each other");
  MeasuringOptions measuring = options.measuring;
  if (!options.dtype.empty() && !measuring.precision.empty() && measuring.precision != options.dtype)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--dtype {} and --precision {} contradict each other", options.dtype, measuring.precision),
                "they are two names of one option: give one");
  if (!options.dtype.empty()) measuring.precision = options.dtype;
  if (!options.data_source.empty() && options.data_source != "synthetic") measuring.data = options.data_source;
  ASSAY_TRY(SessionRequest request, make_request(measuring, context));
  if (measuring.batch_sizes.empty()) request.settings.batch_sizes = {1, 8, 32, 128};
  if (!measuring.warmup) request.settings.measure.warmup_iterations = 10;
  if (!measuring.iterations) request.settings.measure.iterations = 50;
  request.settings.resource_pool = measuring.use_resource_pool;
  request.settings.verify = !options.benchmark_only;
  request.settings.benchmark = !options.verify_only;
  ASSAY_CHECK_OK(choose_engines(options, request));
  const bool no_model = need_no_model(request.targets.engines);
  ASSAY_TRY(request.models, chosen_models(options, no_model ? request.targets.engines.front() : ""));
  if (no_model && options.models.empty() && measuring.batch_sizes.empty()) request.settings.batch_sizes = {1};
  request.best_hardware_only = request.targets.hardware.empty() && request.targets.engines.empty();
  request.save = options.save;
  request.output_dir = options.output_dir;
  ASSAY_TRY(SessionResult session, run_with_progress(request, measuring, context));

  const ReportInput input = report_input(session);
  Output output;
  output.folder = options.output_dir;
  output.files = {{"benchmark_results_", ".csv", [&] { return csv_table(input.rows); }}};
  if (!options.model_id.empty()) {
    const std::string device = input.rows.empty() ? "none" : input.rows.front().hardware;
    output.files.push_back({fmt::format("{}_{}_{}_", file_word(options.model_id), device, request.settings.precision),
                            ".json", [&] { return json_text(results_json(input), 2) + "\n"; }});
  }
  output.document = [&] { return results_json(input); };
  output.text = [&](const std::string& stamp) {
    const ResultFile& csv = output.files.front();
    return bench_console(input,
                         stamp.empty() ? std::filesystem::path() : output.folder / (csv.prefix + stamp + csv.suffix));
  };
  output.verifies = options.verify_only;
  return finish(output, measuring, request, session);
}

}  // namespace

void register_bench(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure one model with fixed iterations, each shape in a fresh process");
  command
      ->add_option("--model", options->models,
                   "resnet50, vit_b_16, both, or any MODEL: a file, a folder, a name, a Hugging Face id")
      ->delimiter(',');
  command->add_option("--model-id", options->model_id, "A Hugging Face id, e.g. bert-base-uncased");
  command
      ->add_option("--framework", options->framework,
                   show_frameworks("{} ({})", ", ") + " or both; default: the hardware's own runtime")
      ->check(CLI::IsMember(framework_words()));
  command->add_option("--dtype", options->dtype, "Another name for --precision");
  command->add_option("--data-source", options->data_source, "synthetic, or a folder: another name for --data");
  command->add_option("--output-dir,--csv-output-dir", options->output_dir, "Folder of the results")
      ->capture_default_str();
  command->add_flag("--save", options->save, "Put the results into the database");
  command->add_flag("--verify-only", options->verify_only, "Only verify");
  command->add_flag("--benchmark-only", options->benchmark_only, "Only measure");
  command->add_flag("--verbose", options->verbose, "As ever: progress is shown unless --quiet");
  options->measuring.add_to(*command);
  command->footer(
      "Defaults: batches 1 8 32 128, 10 warm-ups, 50 iterations.\n"
      "Example: assay bench --model-id bert-base-uncased --device cpu --batch-sizes 1,4 --sequence-lengths 128 --save");
  commands.add(command, [options](Context& context) { return bench(*options, context); });
}

}  // namespace assay::cli
