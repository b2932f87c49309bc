// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "app/cli/help.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/model_options.hpp"

namespace assay::cli {
namespace {

MeasuringDefaults verify_defaults() {
  MeasuringDefaults defaults;
  defaults.settings.batch_sizes = {1};
  defaults.settings.benchmark = false;
  return defaults;
}

struct VerifyOptions {
  MeasuringOptions measuring{verify_defaults()};
  std::vector<std::string> models;
  bool save = false;
};

Result<ExitCode> verify(const VerifyOptions& options, Context& context) {
  options.measuring.apply();
  ASSAY_TRY(SessionRequest request, make_request(options.measuring, context));
  ASSAY_TRY(request.models, named_models(model_names(options.models)));
  request.save = options.save;
  if (options.measuring.plan) return show_plan(std::move(request), options.measuring, context);
  ASSAY_TRY(SessionResult session, run_with_progress(request, options.measuring, context));
  const ReportInput input = report_input(session);
  Output output;
  output.document = [&] { return results_json(input); };
  output.text = [&](const std::string&) {
    return verification_table(input, isatty(STDOUT_FILENO) == 1, output_width());
  };
  output.verifies = true;
  return finish(output, options.measuring, request, session);
}

}  // namespace

void register_verify(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      app.add_subcommand("verify", "Check that models load, run and compute the right numbers")->group(kFirstCommands);
  add_models(*command, options->models)->required();
  show_as(command->add_flag("--save", options->save, "Save the verdicts in the database"), kStorage);
  options->measuring.add_to(*command);
  command->footer(
      "Exit status: 0 verified, 1 a model is not supported or failed, 2 wrong usage,\n"
      "3 wrong numbers, 4 no verdict is possible.\n\n"
      "Examples:\n"
      "  assay verify model.onnx\n"
      "  assay verify bert resnet50 --hardware cpu");
  commands.add(command, [options](Context& context) { return verify(*options, context); });
}

}  // namespace assay::cli
