// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/model_options.hpp"
#include "bench/services/zoo_specialise.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/writable.hpp"
#include "models/inputs/given_shapes.hpp"

namespace assay::cli {
namespace {

struct SpecialiseOptions {
  std::string model, output, model_class, size;
  std::string seed = "0", batch, sequence = "128";
  bool allow_random_weights = false;
  std::vector<std::string> extents, constants, shapes, dims;
  std::string output_format = "text";
};

// "NAME=VALUE", each name once.
Result<std::map<std::string, std::string>> name_values(const char* option, const std::vector<std::string>& texts) {
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
  ZooSpecialiseRequest request{.model = options.model, .model_class = options.model_class};
  request.output = options.output;
  if (!options.size.empty()) ASSAY_CHECK_OK(size_word().read("--size", {options.size}, request.size));
  ASSAY_TRY(const std::int64_t seed, integer_option("--seed", options.seed, 0, INT64_MAX));
  request.seed = static_cast<std::uint64_t>(seed);
  request.allow_random_weights = options.allow_random_weights;
  if (!options.batch.empty()) {
    ASSAY_TRY(request.batch, integer_option("--batch-size", options.batch, 1, kMost));
  }
  ASSAY_TRY(request.sequence, integer_option("--sequence-length", options.sequence, 1, kMost));
  for (const std::string& text : options.shapes) ASSAY_CHECK_OK(add_shapes(text, request.given.shapes));
  for (const std::string& text : options.dims) ASSAY_CHECK_OK(add_extents(text, request.given.extents));
  ASSAY_TRY(const auto extents, name_values("--extent", options.extents));
  for (const auto& [symbol, text] : extents) {
    ASSAY_TRY(request.extents[symbol], integer_option("--extent", text, 0, kMost));
  }
  ASSAY_TRY(request.constants, name_values("--constant", options.constants));
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
  ASSAY_CHECK_OK(with_context(check_file_writable(options.output), "while looking at --output"));
  ASSAY_TRY(const ZooSpecialiseRequest request, request_of(options));
  hub::Hub hub(hub::settings_from_environment(), {}, interrupted);
  ASSAY_TRY(const ZooSpecialised done, specialise_by_name(request, hub, interrupted));
  // The file is written and runs on engines with dynamic shapes, but it is not what the user requested.
  const ExitCode code = done.model.dynamic.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  if (context.json) return print_document(to_json(done)), code;
  std::printf("%s: %zu of %zu nodes remain; the others were computed in advance, which made %zu constant%s\n",
              done.model.path.c_str(), done.model.nodes, done.model.nodes_before, done.model.constants,
              done.model.constants == 1 ? "" : "s");
  for (const auto& [name, shape] : done.shapes)
    std::printf("input %s %s\n", one_line(name).c_str(), to_string(shape).c_str());
  for (const DynamicNode& node : done.model.dynamic)
    std::printf("not static: node '%s' (%s): its shape depends on data, or assay has no shape rule for its operator\n",
                node.name.c_str(), node.op_type.c_str());
  return code;
}

}  // namespace

void register_zoo_specialise(CLI::App& zoo, Commands& commands) {
  auto options = std::make_shared<SpecialiseOptions>();
  CLI::App* command =
      zoo.add_subcommand("specialise", "Write a model with static shapes; shape calculations are folded");
  add_model(*command, options->model, "A name, a Hugging Face id, a folder, or an .onnx file");
  show_as(command->add_option("--class", options->model_class, "Class to build, such as BertForMaskedLM"), kModel,
          "NAME")
      ->default_str("the class of the configuration");
  show_as(command->add_option("--size", options->size, "Size to build: a published one, such as tiny or reference"),
          kModel, "SIZE")
      ->default_str("the size of the given model");
  show_as(command->add_option("--seed", options->seed, "Seed of random weights"), kModel, "N")->default_str("0");
  show_as(command->add_flag("--allow-random-weights", options->allow_random_weights,
                            "Use random weights if the weights of a Hugging Face id cannot be fetched, which is an "
                            "error if there is a network"),
          kModel);
  show_as(command->add_option("--batch-sizes,--batch-size", options->batch, "Number of items in one inference"),
          kShapes, "N")
      ->default_str("the fixed batch of the file, or 1");
  show_as(
      command->add_option("--sequence-lengths,--sequence-length", options->sequence, "Number of tokens in one input"),
      kShapes, "N")
      ->default_str(options->sequence);
  show_as(command->add_option("--shape", options->shapes,
                              "Shape of an input by its name, such as x:1x3x48x320, may be repeated; B is the batch, S "
                              "the sequence length"),
          kShapes, "NAME:SHAPE")
      ->allow_extra_args(false);
  show_as(command->add_option("--dim", options->dims,
                              "Size of an open extent by its name in the file, such as width=320, may be repeated"),
          kShapes, "SYMBOL=N")
      ->allow_extra_args(false);
  show_as(command->add_option("--extent", options->extents,
                              "Like --dim, also for a part of a name, and for 0, such as past=0"),
          kShapes, "SYMBOL=N")
      ->allow_extra_args(false);
  show_as(command->add_option("--constant", options->constants,
                              "Make this input a constant; VALUES are integers joined by commas, or an .npy file"),
          kShapes, "NAME=VALUES")
      ->allow_extra_args(false);
  show_as(command->add_option("-o,--output", options->output, "ONNX file to write"), kOutput, "FILE")->required();
  add_output_format(*command, options->output_format);
  command->footer("Examples:\n  assay zoo specialise bert -o bert_1x128.onnx --sequence-length 128");
  commands.add(command, [options](Context& context) { return specialise(*options, context); });
}

}  // namespace assay::cli
