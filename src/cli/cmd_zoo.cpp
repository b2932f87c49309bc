// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/failure.hpp"
#include "cli/measuring_options.hpp"
#include "plan/prepare.hpp"
#include "plan/zoo_check.hpp"
#include "report/format.hpp"
#include "zoo/zoo.hpp"

namespace assay::cli {
namespace {

struct ListOptions {
  std::string category, family;
  std::string output_format = "text";
};

template <class Get>
Status check_word(const char* option, const std::string& wanted, Get get) {
  if (wanted.empty()) return {};
  std::vector<std::string> valid;
  for (const zoo::Architecture& each : zoo::architectures()) {
    if (get(each) == wanted) return {};
    if (std::find(valid.begin(), valid.end(), get(each)) == valid.end()) valid.push_back(get(each));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: no architecture of '{}'; there are: {}", option, wanted, join(valid, ", ")));
}

Result<ExitCode> list(const ListOptions& options) {
  ASSAY_CHECK_OK(check_word("--category", options.category, [](const auto& a) { return a.category; }));
  ASSAY_CHECK_OK(check_word("--family", options.family, [](const auto& a) { return a.family; }));
  Json entries = Json::array();
  for (const zoo::Architecture& each : zoo::architectures()) {
    if (!options.category.empty() && each.category != options.category) continue;
    if (!options.family.empty() && each.family != options.family) continue;
    std::vector<std::string> names;
    for (const std::string& name : zoo::known_names())
      if (const auto known = zoo::find_known(name); known && known->architecture == each.name) names.push_back(name);
    if (options.output_format == "json")
      entries.push_back({{"name", each.name},
                         {"category", each.category},
                         {"family", each.family},
                         {"skeleton", each.skeleton},
                         {"reference_checkpoint", each.reference_checkpoint},
                         {"models", names}});
    else
      std::printf("%-10s %-16s %-16s %s\n", each.name.c_str(), each.category.c_str(), each.family.c_str(),
                  join(names, " ").c_str());
  }
  if (options.output_format == "json")
    std::printf("%s\n", Json{{"schema_version", kReportSchema}, {"architectures", std::move(entries)}}.dump(2).c_str());
  return ExitCode::kSuccess;
}

struct BuildOptions {
  std::string model, output, model_class;
  std::string seed = "0";
  std::string precision = "float32";
  std::string output_format = "text";
};

Json to_json(const zoo::BuiltModel& built) {
  return {{"path", built.path.string()},
          {"architecture", built.architecture},
          {"class", built.model_class},
          {"category", built.category},
          {"family", built.family},
          {"form", built.form},
          {"parameter_count", built.parameter_count},
          {"seeded", built.seeded},
          {"config_hash", built.config_hash},
          {"weights_hash", built.weights_hash},
          {"builder_version", built.builder_version},
          {"outputs", built.outputs},
          {"ignored_tensors", built.ignored_tensors}};
}

Result<ExitCode> build(const BuildOptions& options, const Context& context) {
  if (const auto planned = zoo::find_planned(options.model); planned && !zoo::find_known(options.model)) {
    tell({std::string(reason::kNotBuilt),
          fmt::format("the architecture '{}' is not part of this version of assay", planned->architecture),
          "`assay zoo list` shows what is built"},
         context.json);
    return ExitCode::kUsage;
  }
  ASSAY_TRY(const std::int64_t seed, integer_option("--seed", options.seed, 0, INT64_MAX));
  hub::Hub hub(hub::settings_from_environment(), {}, interrupted);
  ASSAY_TRY(const zoo::BuiltModel built, build_by_name(options.model, options.model_class, options.precision,
                                                       static_cast<std::uint64_t>(seed), options.output, hub));
  if (context.json) return print_document(to_json(built)), ExitCode::kSuccess;
  std::printf("%s: %s (%s), %.1f million parameters, weights %s\n", built.path.c_str(), built.model_class.c_str(),
              built.architecture.c_str(), static_cast<double>(built.parameter_count) / 1e6,
              built.weights_hash.substr(0, 40).c_str());
  for (const std::string& name : built.ignored_tensors) std::printf("ignored tensor: %s\n", name.c_str());
  return ExitCode::kSuccess;
}

struct CheckOptions {
  std::string folder;
  std::vector<std::string> engines{"onnxruntime"};
  bool strict = false;
  double timeout = 120;
  std::string output_format = "text";
};

Result<ExitCode> check(const CheckOptions& options) {
  int passed = 0, failed = 0, unsupported = 0;
  Json results = Json::array();
  for (const std::string& engine : options.engines) {
    ZooCheckRequest request{options.folder, engine, options.timeout, interrupted};
    const auto print = [&](const ZooCheckResult& result) {
      (result.status == "passed" ? passed : result.status == "failed" ? failed : unsupported) += 1;
      if (options.output_format == "text")
        std::printf("%-11s %-40s %s%s\n", result.status.c_str(),
                    (result.name + (options.engines.size() > 1 ? " (" + engine + ")" : "")).c_str(),
                    result.worst ? fmt::format("worst error {:.3g} of its tolerance", *result.worst).c_str() : "",
                    result.message.empty() ? "" : ((result.worst ? "; " : "") + result.message).c_str());
      results.push_back({{"name", result.name},
                         {"status", result.status},
                         {"message", result.message.empty() ? Json(nullptr) : Json(result.message)},
                         {"worst", result.worst ? Json(*result.worst) : Json(nullptr)},
                         {"worst_output", result.worst_output.empty() ? Json(nullptr) : Json(result.worst_output)},
                         {"max_abs_error", result.max_abs_error ? Json(*result.max_abs_error) : Json(nullptr)},
                         {"engine", engine}});
    };
    ASSAY_CHECK_OK(check_zoo(request, print));
  }
  if (options.output_format == "json")
    std::printf("%s\n", Json{{"schema_version", kReportSchema},
                             {"passed", passed},
                             {"failed", failed},
                             {"unsupported", unsupported},
                             {"results", std::move(results)}}
                            .dump(2)
                            .c_str());
  else
    std::printf("passed %d, failed %d, unsupported %d\n", passed, failed, unsupported);
  if (interrupted()) return ExitCode::kInterrupted;
  if (failed > 0 || (options.strict && unsupported > 0)) return ExitCode::kFailure;
  return ExitCode::kSuccess;
}

}  // namespace

void register_zoo(CLI::App& app, Commands& commands) {
  CLI::App* zoo_app =
      app.add_subcommand("zoo", "The architectures assay builds by itself: list, build, check against Hugging Face");
  zoo_app->require_subcommand(1);

  auto list_options = std::make_shared<ListOptions>();
  CLI::App* list_command = zoo_app->add_subcommand("list", "Architectures and the names that resolve to them");
  list_command->add_option("--category", list_options->category, "Only this category, e.g. text_encoders");
  list_command->add_option("--family", list_options->family, "Only this family, e.g. vision");
  list_command->add_option("--output-format", list_options->output_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  commands.add(list_command, [list_options](Context&) { return list(*list_options); });

  auto build_options = std::make_shared<BuildOptions>();
  CLI::App* build_command =
      zoo_app->add_subcommand("build", "Write an ONNX model from a name, or a folder with config.json and weights");
  build_command->add_option("MODEL", build_options->model, "bert, resnet50, a Hugging Face id, or a folder")
      ->required();
  build_command->add_option("-o,--output", build_options->output, "The .onnx file to write")->required();
  build_command->add_option("--class", build_options->model_class, "The class to build, e.g. BertForMaskedLM");
  build_command->add_option("--seed", build_options->seed, "Of seeded weights");
  build_command->add_option("--precision", build_options->precision, "float32")->capture_default_str();
  build_command->add_option("--output-format", build_options->output_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  commands.add(build_command, [build_options](Context& context) { return build(*build_options, context); });

  auto check_options = std::make_shared<CheckOptions>();
  CLI::App* check_command =
      zoo_app->add_subcommand("check", "Build and run every golden folder and compare with its outputs");
  check_command->add_option("DIR", check_options->folder, "A folder of goldens, or one of them")->required();
  check_command->add_option("--engine,--engines", check_options->engines, "Engines to run on")
      ->delimiter(',')
      ->capture_default_str();
  check_command->add_flag("--strict", check_options->strict, "Unsupported counts as failed");
  check_command->add_option("--timeout", check_options->timeout, "Seconds for one golden")->capture_default_str();
  check_command->add_option("--output-format", check_options->output_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  commands.add(check_command, [check_options](Context&) { return check(*check_options); });
}

}  // namespace assay::cli
