// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/failure.hpp"
#include "cli/measuring_options.hpp"
#include "prepare/zoo_specialise.hpp"

namespace assay::cli {
namespace {

struct SpecialiseOptions {
  std::string model, output, model_class;
  std::string seed = "0", batch, sequence = "128";
  std::vector<std::string> extents, constants;
  std::string output_format = "text";
};

// "NAME=VALUE", each name once.
Result<std::map<std::string, std::string>> pairs(const char* option, const std::vector<std::string>& texts) {
  std::map<std::string, std::string> found;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not valid; give NAME=VALUE", option, text));
    if (!found.emplace(text.substr(0, sign), text.substr(sign + 1)).second)
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is given twice", option, text.substr(0, sign)));
  }
  return found;
}

Result<ZooSpecialiseRequest> request_of(const SpecialiseOptions& options) {
  constexpr std::int64_t kMost = 1 << 24;
  ZooSpecialiseRequest request{options.model, options.model_class};
  request.output = options.output;
  ASSAY_TRY(const std::int64_t seed, integer_option("--seed", options.seed, 0, INT64_MAX));
  request.seed = static_cast<std::uint64_t>(seed);
  if (!options.batch.empty()) {
    ASSAY_TRY(request.batch, integer_option("--batch-size", options.batch, 1, kMost));
  }
  ASSAY_TRY(request.sequence, integer_option("--sequence-length", options.sequence, 1, kMost));
  ASSAY_TRY(const auto extents, pairs("--extent", options.extents));
  for (const auto& [symbol, text] : extents) {
    ASSAY_TRY(request.extents[symbol], integer_option("--extent", text, 0, kMost));
  }
  ASSAY_TRY(request.constants, pairs("--constant", options.constants));
  return request;
}

Json to_json(const ZooSpecialised& done) {
  Json inputs = Json::array(), dynamic = Json::array();
  for (const auto& [name, shape] : done.shapes) inputs.push_back({{"name", name}, {"shape", shape}});
  for (const DynamicNode& node : done.model.dynamic)
    dynamic.push_back({{"node", node.name}, {"operator", node.op_type}});
  return {{"path", done.model.path.string()},  {"inputs", std::move(inputs)},
          {"nodes", done.model.nodes},         {"nodes_before", done.model.nodes_before},
          {"constants", done.model.constants}, {"dynamic", std::move(dynamic)}};
}

Result<ExitCode> specialise(const SpecialiseOptions& options, const Context& context) {
  if (options.output.empty()) return fail(ErrorCode::kInvalidArgument, "--output: '' is not valid; give a file name");
  ASSAY_TRY(const ZooSpecialiseRequest request, request_of(options));
  hub::Hub hub(hub::settings_from_environment(), {}, interrupted);
  ASSAY_TRY(const ZooSpecialised done, specialise_by_name(request, hub, interrupted));
  // The file is there and runs where shapes may be dynamic, but is not what was asked for.
  const ExitCode code = done.model.dynamic.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  if (context.json) return print_document(to_json(done)), code;
  std::printf("%s: %zu of %zu nodes, %zu constants in place of others\n", done.model.path.c_str(), done.model.nodes,
              done.model.nodes_before, done.model.constants);
  for (const auto& [name, shape] : done.shapes)
    std::printf("input %s %s\n", one_line(name).c_str(), to_string(shape).c_str());
  for (const DynamicNode& node : done.model.dynamic)
    std::printf("not static: node '%s' (%s): its shape depends on data, or assay has no rule for it\n",
                node.name.c_str(), node.op_type.c_str());
  return code;
}

}  // namespace

void register_zoo_specialise(CLI::App& zoo, Commands& commands) {
  auto options = std::make_shared<SpecialiseOptions>();
  CLI::App* command = zoo.add_subcommand(
      "specialise", "Write a model for one set of shapes: none of them dynamic, their arithmetic folded");
  command->add_option("MODEL", options->model, "bert, a Hugging Face id, a folder, or an .onnx file")->required();
  command->add_option("-o,--output", options->output, "The .onnx file to write")->required();
  command->add_option("--class", options->model_class, "The class to build, e.g. BertForMaskedLM");
  command->add_option("--seed", options->seed, "Of seeded weights");
  command->add_option("--batch-sizes,--batch-size", options->batch,
                      "Batch that one inference has; else the file's own, else 1");
  command->add_option("--sequence-lengths,--sequence-length", options->sequence, "Its tokens")->capture_default_str();
  command->add_option("--extent", options->extents, "SYMBOL=N: of another dynamic extent, by its name in the file")
      ->allow_extra_args(false);
  command
      ->add_option("--constant", options->constants,
                   "NAME=VALUES: an input that becomes a constant; integers joined by commas, or an .npy")
      ->allow_extra_args(false);
  command->add_option("--output-format", options->output_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  commands.add(command, [options](Context& context) { return specialise(*options, context); });
}

}  // namespace assay::cli
