// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "app/cli/beside.hpp"
#include "app/cli/conformity.hpp"
#include "app/cli/context.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/progress.hpp"
#include "bench/measure/environment.hpp"
#include "bench/services/conform.hpp"
#include "bench/services/zoo_check.hpp"
#include "core/base/log.hpp"

namespace assay::cli {
namespace {

constexpr std::size_t kLineEvery = 100;  ///< tests for each line of progress, if there is no terminal

struct ConformOptions {
  std::string folder;
  std::vector<std::string> engines{kReferenceEngine};
  bool specialise = false;
  double timeout = 60;
  std::string output_format = "text";
};

struct OpenTest {
  NodeTest test;
  Status opened;
};

ConformSubject subject_of(const EngineRegistry& registry, const std::string& engine, const ConformOptions& options) {
  ConformSubject subject;
  subject.entry = *registry.entry(engine);
  subject.specialise = options.specialise;
  subject.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(options.timeout * 1e9));
  subject.start = [&registry, engine]() -> Result<std::unique_ptr<Worker>> {
    ASSAY_TRY(const EngineLocation location, registry.locate(engine));
    Worker::StartOptions start;
    start.executable = registry.places().worker;
    start.memory_limit_bytes = free_memory() / 10 * 9;
    start.cancelled = interrupted;
    return Worker::start(location, std::move(start));
  };
  return subject;
}

// Runs all tests on one engine.
Result<ConformityReport::Engine> run_engine(const EngineRegistry& registry, const std::string& engine,
                                            const std::vector<OpenTest>& tests, const ConformOptions& options,
                                            const Context& context, Progress& progress) {
  ASSAY_TRY(ConformanceRun run, ConformanceRun::create(subject_of(registry, engine, options)));
  ConformityReport::Engine report{engine, "", {}};
  for (const auto& [test, opened] : tests) {
    progress.set_step(fmt::format("{}: {}", engine, test.name));
    ConformityResult result;
    if (opened) {
      ASSAY_TRY(result, run.run(test));
    } else {
      result = conformity_of(opened.error());
    }
    report.results.push_back(std::move(result));
    const std::size_t done = report.results.size();
    if (context.terminal || done % kLineEvery == 0 || done == tests.size())
      progress.finished(fmt::format("{}: {} of {} tests", engine, done, tests.size()), false);
  }
  report.version = run.version();
  return report;
}

ExitCode exit_code(const ConformityReport& report) {
  const auto any = [&](Conformity status) {
    return std::ranges::any_of(report.engines, [&](const ConformityReport::Engine& engine) {
      return std::ranges::find(engine.results, status, &ConformityResult::status) != engine.results.end();
    });
  };
  if (any(Conformity::kFailed)) return ExitCode::kFailure;
  return any(Conformity::kWrong) ? ExitCode::kFinding : ExitCode::kSuccess;
}

// The engines that are here; nullopt: none is, and why was printed.
Result<std::optional<std::vector<std::string>>> engines_here(const ConformOptions& options, const Context& context,
                                                             ExitCode& code) {
  ASSAY_TRY(const ZooCheckEngines engines, zoo_check_engines(options.engines));
  std::vector<Failure> missing;
  for (const std::string& engine : engines.not_built)
    missing.push_back({std::string(to_string(Reason::kNotBuilt)),
                       fmt::format("the engine '{}' is not part of this version of assay", engine), ""});
  for (const Error& error : engines.unavailable)
    missing.push_back({std::string(to_string(Reason::kNoRuntime)), error.message, error.hint});
  if (!engines.usable.empty()) {
    for (const Failure& failure : missing) log_warning("{}", failure.message);
    return engines.usable;
  }
  for (const Failure& failure : missing) print_failure(failure, context.json && &failure == &missing.front());
  code = engines.unavailable.empty() ? ExitCode::kUsage : ExitCode::kCannotTell;
  return std::nullopt;
}

Result<ExitCode> conform(const ConformOptions& options, const Context& context) {
  if (!(options.timeout > 0) || options.timeout > 1e6)
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--timeout: {} is not valid; give seconds, more than 0 and at most 1000000", options.timeout));
  ASSAY_TRY([[maybe_unused]] const MachineMark beside, begin_beside_others(context.command_line, {}));
  ExitCode none = ExitCode::kSuccess;
  ASSAY_TRY(const auto engines, engines_here(options, context, none));
  if (!engines) return none;
  ASSAY_TRY(const std::vector<std::filesystem::path> folders, find_node_tests(options.folder));
  std::vector<OpenTest> tests;
  ConformityReport report;
  for (const std::filesystem::path& folder : folders) {
    Result<NodeTest> opened = open_node_test(folder);
    OpenTest test{opened ? *opened : NodeTest{.name = folder.filename().string()},
                  opened ? Status() : tl::unexpected<Error>(opened.error())};
    report.tests.push_back({test.test.name, test.test.kind, test.test.operators});
    tests.push_back(std::move(test));
  }
  const EngineRegistry& registry = engine_registry();
  Progress progress(context.terminal, false);
  progress.set_total(engines->size() *
                     (context.terminal ? tests.size() : (tests.size() + kLineEvery - 1) / kLineEvery));
  for (const std::string& engine : *engines) {
    ASSAY_TRY(ConformityReport::Engine done, run_engine(registry, engine, tests, options, context, progress));
    report.engines.push_back(std::move(done));
  }
  progress.clear();
  if (context.json)
    print_document(conformity_json(report));
  else
    std::fputs((options.output_format == "md" ? conformity_markdown(report) : conformity_text(report)).c_str(), stdout);
  return exit_code(report);
}

}  // namespace

void register_conform(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<ConformOptions>();
  CLI::App* command = app.add_subcommand("conform", "Run ONNX's operator tests on engines and count what passes")
                          ->group(kModelCommands);
  show_as(command->add_option("DIR", options->folder, "Folder of operator tests, or one test"), kModel, "DIR")
      ->required();
  show_as(command->add_option("--engine,--engines", options->engines, "Engines to run on"), kMeasuring, "NAME[,NAME…]")
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows is DIR
      ->default_str(kReferenceEngine);
  show_as(command->add_flag("--static", options->specialise,
                            "Specialise each model to the shapes of the test before it runs"),
          kMeasuring);
  show_as(command->add_option("--timeout", options->timeout, "Time limit of each step of a test"), kMeasuring,
          "SECONDS")
      ->default_str("60");
  add_output_format(*command, options->output_format, {"text", "json", "md"});
  command->footer(
      "A test is a folder with model.onnx and test_data_set_0/*.pb, as the Python package\n"
      "onnx has them (docs/conformance.md). `./setup/fetch dev` writes them to\n.deps/onnx-node-tests.\n\n"
      "Examples:\n  assay conform .deps/onnx-node-tests\n"
      "  assay conform --output-format json .deps/onnx-node-tests");
  commands.add(command, [options](Context& context) { return conform(*options, context); });
}

}  // namespace assay::cli
