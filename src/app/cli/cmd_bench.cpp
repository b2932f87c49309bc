// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/model_options.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/result/precision_words.hpp"

namespace assay::cli {
namespace {

MeasuringDefaults bench_defaults() {
  MeasuringDefaults defaults;
  defaults.hardware = "the first of " + join(best_hardware(), ", ") + " that this machine has and a runtime can use";
  defaults.settings.batch_sizes = {1, 8, 32, 128};
  defaults.settings.measure.warmup_iterations = 10;
  defaults.settings.measure.iterations = 50;
  defaults.settings.resource_pool = false;
  return defaults;
}

struct BenchOptions {
  MeasuringOptions measuring{bench_defaults()};
  std::vector<std::string> models;
  std::string framework;
  std::string dtype, data_source, device_prefer;
  std::vector<std::string> input_shape;
  std::string output_dir = "results/raw";
  StepOptions steps;
  bool save = false;
};

// "pytorch selects libtorch, jax selects xla"
std::string framework_list() {
  std::vector<std::string> parts;
  for (const Framework& each : frameworks(engine_registry()))
    parts.push_back(fmt::format("{} selects {}", each.name, each.engine));
  return join(parts, ", ");
}

// The valid values of --framework, each once.
std::vector<std::string> framework_words() {
  std::vector<std::string> words{"both"};
  for (const Framework& each : frameworks(engine_registry()))
    if (std::ranges::find(words, each.name) == words.end()) words.push_back(each.name);
  return words;
}

// Whether none of the given engines computes models, so that no model has to be given.
bool need_no_model(const std::vector<std::string>& engines) {
  return !engines.empty() && std::ranges::all_of(engines, [](const std::string& name) {
    const EngineEntry* entry = engine_registry().entry(name);
    return entry != nullptr && !entry->needs_model;
  });
}

// Lists of names take all words until the next option, so a model behind one is read as a name of the list.
Error without_model(const TargetRequest& targets) {
  Error error{.code = ErrorCode::kInvalidArgument,
              .message = "bench requires a model, such as `assay bench resnet50` or `assay bench bert-base-uncased`",
              .hint = "without a model, select an engine that computes none: `--engine null`"};
  std::vector<std::string> unknown;
  for (const std::string& name : targets.engines)
    if (engine_registry().entry(name) == nullptr) unknown.push_back(fmt::format("'{}'", name));
  if (unknown.empty()) return error;
  error.message += fmt::format("; --engine has {}, which {}", join(unknown, ", "),
                               unknown.size() == 1 ? "is not an engine" : "are not engines");
  error.hint = "give the model before --engine, or as --model NAME; `assay engines` lists the engines";
  return error;
}

// `stand_in`: the engine whose name stands for the model if no given engine needs a model; else "".
Result<std::vector<ModelChoice>> chosen_models(const BenchOptions& options, const TargetRequest& targets) {
  const std::string stand_in = need_no_model(targets.engines) ? targets.engines.front() : "";
  std::vector<std::string> names;
  for (const std::string& name : model_names(options.models)) {
    if (name == "both") {
      names.insert(names.end(), {"resnet50", "vit_b_16"});
    } else {
      names.push_back(name);
    }
  }
  ASSAY_TRY(std::vector<ModelChoice> models, named_models(names));
  if (models.empty() && !stand_in.empty()) models.push_back({stand_in, "", "other", "", "", "", false, true});
  if (models.empty()) return tl::unexpected(without_model(targets));
  return models;
}

Status choose_engines(const BenchOptions& options, SessionRequest& request) {
  if (options.framework.empty()) return {};
  if (!request.targets.engines.empty())
    return fail(ErrorCode::kInvalidArgument, "--framework and --engine cannot be combined: " + framework_list());
  for (const Framework& each : frameworks(engine_registry()))
    if (options.framework == "both" || options.framework == each.name) request.targets.engines.push_back(each.engine);
  return {};
}

// As in the guide, and the other hardware that is preferred automatically.
std::vector<std::string> preferable() {
  std::vector<std::string> words = best_hardware();
  words.emplace_back("tpu");
  return words;
}

// The extents keep their order, and may be equal: this is not a list of values to measure.
Result<Shape> input_shape_of(const BenchOptions& options) {
  constexpr std::size_t kMostAxes = 8;
  Shape shape;
  for (const std::string& text : options.input_shape) {
    ASSAY_TRY(const std::int64_t extent, integer_option("--input-shape", text, 1, kMostExtent));
    shape.push_back(extent);
  }
  if (shape.size() > kMostAxes)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--input-shape: {} axes are too many; give at most {}, such as 3,224,224", shape.size(),
                            kMostAxes));
  return shape;
}

Status check_preference(const BenchOptions& options, const SessionRequest& request) {
  if (options.device_prefer.empty() || request.targets.hardware.empty()) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--device-prefer {} and --hardware {} cannot be combined", options.device_prefer,
                          join(request.targets.hardware, ",")),
              "--hardware requires a hardware; --device-prefer uses another one if it is not available: give one");
}

// "org/model" must not become a folder.
std::string file_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return !(std::isalnum(c) || c == '-' || c == '.' || c == '_'); },
      '_');
  return text;
}

// The CSV of all rows, and a JSON file for each model and hardware: MODEL_DEVICE_PRECISION_<stamp>.json.
std::vector<ResultFile> result_files(const ReportInput& input, const std::string& precision) {
  std::vector<ResultFile> files{{"benchmark_results_", ".csv", [&input] { return csv_table(input.rows); }}};
  std::map<std::string, ReportInput> parts;
  for (const Record& row : input.rows) {
    const std::string prefix =
        fmt::format("{}_{}_{}_", file_word(row.model), row.hardware.empty() ? "none" : row.hardware,
                    row.precision.empty() ? precision : row.precision);
    const auto [part, fresh] = parts.try_emplace(prefix, input);
    if (fresh) part->second.rows.clear();
    part->second.rows.push_back(row);
  }
  for (auto& [prefix, part] : parts)
    files.push_back({prefix, ".json", [part = std::move(part)] { return json_text(results_json(part), 2) + "\n"; }});
  return files;
}

Result<SessionRequest> bench_request(const BenchOptions& options, const Context& context) {
  MeasuringOptions measuring = options.measuring;
  if (!options.dtype.empty()) {
    ASSAY_TRY(const RunSettings given, measuring.settings());
    if (measuring.given("--precision") && given.precision != canonical_precision(options.dtype))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("--dtype {} and --precision {} contradict each other", options.dtype, given.precision),
                  "they are two names of one option: give one");
    measuring.set("--precision", options.dtype, "--dtype");
  }
  if (!options.data_source.empty() && options.data_source != "synthetic")
    measuring.set("--data", options.data_source, "--data-source");
  ASSAY_TRY(SessionRequest request, make_request(measuring, context));
  ASSAY_CHECK_OK(options.steps.apply_to(request.settings));
  ASSAY_TRY(request.settings.input_shape, input_shape_of(options));
  ASSAY_CHECK_OK(choose_engines(options, request));
  ASSAY_CHECK_OK(check_preference(options, request));
  request.preferred_hardware = options.device_prefer;
  ASSAY_TRY(request.models, chosen_models(options, request.targets));
  if (need_no_model(request.targets.engines) && options.models.empty() && request.settings.default_batches)
    request.settings.batch_sizes = {1};
  request.best_hardware_only = request.targets.hardware.empty() && request.targets.engines.empty();
  request.save = options.save;
  request.output_dir = options.output_dir;
  return request;
}

Result<ExitCode> bench(const BenchOptions& options, Context& context) {
  options.measuring.apply();
  ASSAY_TRY(SessionRequest request, bench_request(options, context));
  if (options.measuring.plan) return show_plan(std::move(request), options.measuring, context);
  ASSAY_TRY(SessionResult session, run_with_progress(request, options.measuring, context));

  const ReportInput input = report_input(session);
  Output output;
  output.folder = options.output_dir;
  output.files = result_files(input, request.settings.precision);
  output.document = [&] { return results_json(input); };
  output.text = [&](const std::string& stamp) {
    std::vector<std::filesystem::path> files;
    if (!stamp.empty())
      for (const ResultFile& file : output.files) files.push_back(output.folder / (file.prefix + stamp + file.suffix));
    return bench_console(input, files, output_width());
  };
  output.verifies = options.steps.verify_only;
  return finish(output, options.measuring, request, session);
}

}  // namespace

void register_bench(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure the given models with a fixed number of inferences")->group(kFirstCommands);
  add_models(*command, options->models, std::string(kModelHelp) + "; both selects resnet50 and vit_b_16");
  show_as(command->add_option("--data-source", options->data_source,
                              "Another name of --data; synthetic means random inputs"),
          kModel, "PATH");
  only_words(show_as(command->add_option("--framework", options->framework,
                                         "Engines by their framework, in place of --engines: " + framework_list() +
                                             "; both selects all of these"),
                     kMatrix, join(framework_words(), "|")),
             framework_words());
  only_words(show_as(command->add_option("--device-prefer", options->device_prefer,
                                         "Hardware to use if it is available; else it is chosen as without this "
                                         "option, and a note says why"),
                     kMatrix, join(preferable(), "|")),
             preferable());
  show_as(command->add_option("--input-shape", options->input_shape,
                              "Shape of the image input (of a model without one, of its first input), such as "
                              "3,224,224; with a batch in front, --batch-sizes is that batch"),
          kModel, "N[,N…]")
      ->delimiter(',')
      ->default_str("that of the model");
  show_as(command->add_option("--dtype", options->dtype, "Another name of --precision"), kMatrix, "NAME");
  options->steps.add_to(*command);
  show_as(command->add_option("--output-dir,--csv-output-dir", options->output_dir, "Folder for the files of results"),
          kOutput, "FOLDER")
      ->default_str(options->output_dir);
  show_as(command->add_flag("--save", options->save, "Save the results in the database"), kStorage);
  options->measuring.add_to(*command);
  command->footer(
      "Examples:\n"
      "  assay bench resnet50 --batch-sizes 1,8\n"
      "  assay bench gpt2 --batch-sizes 1 --output-tokens 64 --save");
  commands.add(command, [options](Context& context) { return bench(*options, context); });
}

}  // namespace assay::cli
