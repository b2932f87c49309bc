// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/cli/beside.hpp"
#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/model_facts.hpp"
#include "app/cli/model_options.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/services/zoo_check.hpp"
#include "bench/services/zoo_lower.hpp"
#include "bench/services/zoo_show.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/writable.hpp"
#include "core/traits/engine_entry.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::cli {
namespace {

constexpr std::int64_t kMostShown = 1 << 24;  ///< items and tokens

// Prints that the model is known by name and not built yet, if it is.
bool print_planned(const std::string& model, const Context& context) {
  const auto planned = zoo::find_planned(model);
  if (!planned || zoo::find_known(model)) return false;
  print_failure({std::string(to_string(Reason::kNotBuilt)),
                 fmt::format("the architecture '{}' is not part of this version of assay", planned->architecture),
                 "`assay zoo list` shows what is built"},
                context.json);
  return true;
}

Status read_size(const std::string& given, std::string& size) {
  return given.empty() ? Status() : size_word().read("--size", {given}, size);
}

CLI::Option* add_size(CLI::App& command, std::string& size) {
  return show_as(command.add_option("--size", size, "Size to build: a published one, such as tiny, small or reference"),
                 kModel, "SIZE")
      ->default_str("the size of the given model");
}

struct BuildOptions {
  std::string model, output, model_class, size;
  std::string seed = "0", batch = "1";
  std::optional<std::string> sequence;
  std::string precision = "float32";
  bool allow_random_weights = false;
  std::string output_format = "text";
};

Json to_json(const zoo::BuiltModel& built) {
  return {{"path", built.path.string()},
          {"architecture", built.architecture},
          {"class", built.model_class},
          {"category", built.category},
          {"family", built.family},
          {"task", built.task},
          {"kv_cache", to_string(built.kv_cache)},
          {"parameter_count", built.parameter_count},
          {"seeded", built.seeded},
          {"config_hash", built.config_hash},
          {"weights_hash", built.weights_hash},
          {"builder_version", built.builder_version},
          {"outputs", built.outputs},
          {"ignored_tensors", built.ignored_tensors}};
}

Result<ExitCode> build(const BuildOptions& options, const Context& context) {
  if (print_planned(options.model, context)) return ExitCode::kUsage;
  if (options.output.empty()) return fail(ErrorCode::kInvalidArgument, "--output: '' is not valid; give a file name");
  ASSAY_CHECK_OK(with_context(check_file_writable(options.output), "while looking at --output"));
  std::string precision;
  ASSAY_CHECK_OK(
      precision_word({"float32", "float16", "bfloat16"}).read("--precision", {options.precision}, precision));
  std::string size;
  ASSAY_CHECK_OK(read_size(options.size, size));
  ASSAY_TRY(const std::int64_t seed, integer_option("--seed", options.seed, 0, INT64_MAX));
  ZooSpecialiseRequest shapes{.model = options.model,
                              .model_class = options.model_class,
                              .size = size,
                              .seed = static_cast<std::uint64_t>(seed),
                              .allow_random_weights = options.allow_random_weights,
                              .precision = precision,
                              .output = options.output,
                              .cuts_sequence = !options.sequence};
  ASSAY_TRY(shapes.batch, integer_option("--batch-sizes", options.batch, 1, kMostShown));
  if (options.sequence) {
    ASSAY_TRY(shapes.sequence, integer_option("--sequence-lengths", *options.sequence, 1, kMostShown));
  }
  hub::Hub hub(hub::settings_from_environment(), {}, interrupted);
  ASSAY_TRY(const std::optional<LoweredFormat> format, lowered_format(options.output, engine_registry()));
  ZooLowered done;
  if (format) {
    ASSAY_TRY(done, lower_by_name(shapes, *format, engine_registry(), hub, interrupted));
  } else {
    ASSAY_TRY(BuiltByName built, build_by_name({options.model, options.model_class, precision, shapes.seed,
                                                options.allow_random_weights, size},
                                               options.output, hub, interrupted));
    done.built = std::move(built.model);
  }
  const zoo::BuiltModel& built = done.built;
  if (context.json) {
    Json json = to_json(built);
    for (const auto& [name, shape] : done.shapes) json["inputs"].push_back({{"name", name}, {"shape", shape}});
    return print_document(json), ExitCode::kSuccess;
  }
  std::printf("%s: %s (%s), %.1f million parameters, weights %s\n", built.path.c_str(), built.model_class.c_str(),
              built.architecture.c_str(), static_cast<double>(built.parameter_count) / 1e6,
              built.weights_hash.substr(0, 40).c_str());
  for (const auto& [name, shape] : done.shapes)
    std::printf("input %s %s\n", one_line(name).c_str(), to_string(shape).c_str());
  for (const std::string& name : built.ignored_tensors) std::printf("ignored tensor: %s\n", name.c_str());
  return ExitCode::kSuccess;
}

struct ShowOptions {
  std::string model, model_class, size;
  std::optional<std::string> batch, sequence;
  std::vector<std::string> shapes, dims;
  std::string output_format = "text";
};

Result<ExitCode> show(const ShowOptions& options, const Context& context) {
  InputAxes axes;
  axes.batch = axes.sequence = 0;
  if (options.batch) {
    ASSAY_TRY(axes.batch, integer_option("--batch-sizes", *options.batch, 1, kMostShown));
  }
  for (const std::string& text : options.shapes) ASSAY_CHECK_OK(add_shapes(text, axes.given.shapes));
  for (const std::string& text : options.dims) ASSAY_CHECK_OK(add_extents(text, axes.given.extents));
  if (options.sequence) {
    ASSAY_TRY(axes.sequence, integer_option("--sequence-lengths", *options.sequence, 1, kMostShown));
  }
  if (print_planned(options.model, context)) return ExitCode::kUsage;
  hub::Hub hub(hub::settings_from_environment(), {}, interrupted);
  std::string size;
  ASSAY_CHECK_OK(read_size(options.size, size));
  ASSAY_TRY(const ModelFacts facts, describe_model(options.model, options.model_class, size, axes, hub));
  if (context.json)
    print_document(model_facts_json(facts));
  else
    std::fputs(model_facts_text(facts).c_str(), stdout);
  return ExitCode::kSuccess;
}

struct CheckOptions {
  std::string folder;
  std::vector<std::string> engines{kReferenceEngine};
  bool strict = false, specialise = false;
  std::string keep;
  double timeout = 120;
  std::string output_format = "text";
};

Result<ExitCode> check(const CheckOptions& options, const Context& context) {
  if (!(options.timeout > 0) || options.timeout > 1e6) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--timeout: {} is not valid; give seconds, more than 0 and at most 1000000", options.timeout));
  }
  if (!options.keep.empty())
    ASSAY_CHECK_OK(with_context(check_folder_writable(options.keep), "while looking at --keep"));
  ASSAY_TRY([[maybe_unused]] const MachineMark beside, begin_beside_others(context.command_line, {}));
  ASSAY_TRY(const ZooCheckEngines engines, zoo_check_engines(options.engines));
  std::vector<Failure> missing;
  missing.reserve(engines.not_built.size() + engines.unavailable.size());
  for (const std::string& engine : engines.not_built)
    missing.push_back({std::string(to_string(Reason::kNotBuilt)),
                       fmt::format("the engine '{}' is not part of this version of assay", engine), ""});
  for (const Error& error : engines.unavailable)
    missing.push_back({std::string(to_string(Reason::kNoRuntime)), error.message, error.hint});
  if (engines.usable.empty()) {
    for (const Failure& failure : missing) print_failure(failure, context.json && &failure == &missing.front());
    return engines.unavailable.empty() ? ExitCode::kUsage : ExitCode::kCannotTell;
  }
  for (const Failure& failure : missing) log_warning("{}", failure.message);

  int passed = 0, failed = 0, unsupported = 0;
  Json results = Json::array();
  const ZooCheckRequest request{options.folder, engines.usable,     options.timeout,
                                interrupted,    options.specialise, options.keep};
  const auto print = [&](const ZooCheckResult& result) {
    (result.status == "passed" ? passed : result.status == "failed" ? failed : unsupported) += 1;
    if (!context.json)
      std::printf("%-11s %-40s %s%s\n", result.status.c_str(), one_line(result.name).c_str(),
                  result.worst ? fmt::format("largest error: {:.3g} of its tolerance", *result.worst).c_str() : "",
                  result.message.empty() ? "" : ((result.worst ? "; " : "") + one_line(result.message)).c_str());
    Json by_engine = Json::object();
    for (const auto& [engine, status] : result.by_engine) by_engine[engine] = status;
    results.push_back({{"name", result.name},
                       {"status", result.status},
                       {"message", result.message.empty() ? Json(nullptr) : Json(result.message)},
                       {"worst", result.worst ? Json(*result.worst) : Json(nullptr)},
                       {"worst_output", result.worst_output.empty() ? Json(nullptr) : Json(result.worst_output)},
                       {"max_abs_error", result.max_abs_error ? Json(*result.max_abs_error) : Json(nullptr)},
                       {"engine", join(engines.usable, ",")},
                       {"engines", std::move(by_engine)}});
  };
  ASSAY_CHECK_OK(check_zoo(request, print));
  if (context.json)
    print_document(
        {{"passed", passed}, {"failed", failed}, {"unsupported", unsupported}, {"results", std::move(results)}});
  else
    std::printf("passed %d, failed %d, unsupported %d\n", passed, failed, unsupported);
  if (interrupted()) return ExitCode::kInterrupted;
  if (failed > 0 || (options.strict && unsupported > 0)) return ExitCode::kFailure;
  return ExitCode::kSuccess;
}

}  // namespace

void register_zoo(CLI::App& app, Commands& commands) {
  CLI::App* zoo_app = app.add_subcommand("zoo", "List, show, build and check the models that assay builds itself")
                          ->group(kModelCommands);
  zoo_app->footer("`assay zoo COMMAND --help` describes a command and its options.");
  zoo_app->require_subcommand(1);
  register_zoo_list(*zoo_app, commands);

  auto build_options = std::make_shared<BuildOptions>();
  CLI::App* build_command = zoo_app->add_subcommand(
      "build", "Build a model from a name or a config.json; write it as ONNX, StableHLO or TorchScript");
  add_model(*build_command, build_options->model, "A name such as bert, a Hugging Face id, or a folder");
  show_as(build_command->add_option("--class", build_options->model_class, "Class to build, such as BertForMaskedLM"),
          kModel, "NAME")
      ->default_str("the class of the configuration");
  add_size(*build_command, build_options->size);
  show_as(build_command->add_option("--seed", build_options->seed, "Seed of random weights"), kModel, "N")
      ->default_str(build_options->seed);
  show_as(build_command->add_flag("--allow-random-weights", build_options->allow_random_weights,
                                  "Use random weights if the weights of a Hugging Face id cannot be fetched, which is "
                                  "an error if there is a network"),
          kModel);
  show_as(build_command->add_option("--precision", build_options->precision, "Element type of weights and arithmetic"),
          kModel, "float32|float16|bfloat16")
      ->default_str(build_options->precision);
  show_as(build_command->add_option("--batch-sizes,--batch-size", build_options->batch,
                                    "Number of items in one inference, for a format of one set of shapes"),
          kShapes, "N")
      ->default_str(build_options->batch);
  show_as(build_command->add_option("--sequence-lengths,--sequence-length", build_options->sequence,
                                    "Number of tokens in one input, for a format of one set of shapes"),
          kShapes, "N")
      ->default_str("128, or the positions that the graph states if they are fewer");
  show_as(
      build_command->add_option("-o,--output", build_options->output,
                                "File to write: ONNX, or by its extension .stablehlo, .mlir or .torchscript (a text, "
                                "with its weights beside it) or .pt (TorchScript, written by PyTorch)"),
      kOutput, "FILE")
      ->required();
  add_output_format(*build_command, build_options->output_format);
  build_command->footer(
      "Examples:\n  assay zoo build bert -o bert.onnx\n  assay zoo build ./folder -o model.onnx\n"
      "  assay zoo build bert -o bert.stablehlo --batch-size 8");
  commands.add(build_command, [build_options](Context& context) { return build(*build_options, context); });

  auto show_options = std::make_shared<ShowOptions>();
  CLI::App* show_command =
      zoo_app->add_subcommand("show", "Print parameters, inputs, outputs, FLOPs and memory of a model");
  add_model(*show_command, show_options->model, "A name such as bert, a Hugging Face id, a folder, or an .onnx file");
  show_as(show_command->add_option("--class", show_options->model_class, "Class to show, such as BertForMaskedLM"),
          kModel, "NAME")
      ->default_str("the class of the configuration");
  add_size(*show_command, show_options->size);
  show_as(
      show_command->add_option("--batch-sizes,--batch-size", show_options->batch, "Number of items in one inference"),
      kModel, "N")
      ->default_str("the fixed batch of the file, or 1");
  show_as(show_command->add_option("--sequence-lengths,--sequence-length", show_options->sequence,
                                   "Number of tokens in one input"),
          kModel, "N")
      ->default_str("128, or the maximum of the model if it is less");
  show_as(show_command->add_option("--shape", show_options->shapes,
                                   "Shape of an input by its name, such as x:1x3x48x320, may be repeated; B is the "
                                   "batch, S the sequence length"),
          kModel, "NAME:SHAPE")
      ->allow_extra_args(false);
  show_as(
      show_command->add_option("--dim", show_options->dims,
                               "Size of an open extent by its name in the file, such as width=320, may be repeated"),
      kModel, "SYMBOL=N")
      ->allow_extra_args(false);
  add_output_format(*show_command, show_options->output_format);
  show_command->footer("Examples:\n  assay zoo show bert\n  assay zoo show model.onnx --batch-size 8");
  commands.add(show_command, [show_options](Context& context) { return show(*show_options, context); });

  register_zoo_specialise(*zoo_app, commands);

  auto check_options = std::make_shared<CheckOptions>();
  CLI::App* check_command =
      zoo_app->add_subcommand("check", "Build and run the model of each golden, and compare its outputs");
  show_as(check_command->add_option("DIR", check_options->folder, "Folder of goldens, or one golden"), kModel, "DIR")
      ->required();
  show_as(check_command->add_option("--engine,--engines", check_options->engines, "Engines to run on"), kMeasuring,
          "NAME[,NAME…]")
      ->delimiter(',')
      ->default_str(kReferenceEngine);
  show_as(check_command->add_flag("--static", check_options->specialise,
                                  "Specialise each model to the shapes of the golden before it runs"),
          kMeasuring);
  show_as(check_command->add_option("--timeout", check_options->timeout, "Time limit of one golden"), kMeasuring,
          "SECONDS")
      ->default_str("120");
  show_as(check_command->add_flag("--strict", check_options->strict, "Count unsupported goldens as failed"),
          kMeasuring);
  show_as(check_command->add_option("--keep", check_options->keep, "Keep the built models in this folder"), kOutput,
          "FOLDER");
  add_output_format(*check_command, check_options->output_format);
  check_command->footer(
      "A golden is a folder with a configuration, weights, and recorded inputs and\noutputs of the original "
      "implementation.\n\n"
      "Examples:\n  assay zoo check ../goldens");
  commands.add(check_command, [check_options](Context& context) { return check(*check_options, context); });
}

}  // namespace assay::cli
