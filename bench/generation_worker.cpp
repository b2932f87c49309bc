// SPDX-License-Identifier: Apache-2.0
// assay's worker as a process of a pair of generation.py: for each line of its input it measures one generation and
// prints the times of its tokens, as that script's bare loops do. At the end of its input it prints the medians that
// summarise() makes of all generations but the first: those are tpot_p50_ms and ttft_p50_ms of a row of one launch.
//
// It loads the graph that the bare loop loads. Not in it: warm-up, stop rule and steady part of a measurement, several
// launches, and the model file that `assay bench` prepares.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "bench/hardware/hardware.hpp"
#include "bench/plan/plan.hpp"
#include "bench/plan/targets.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/run/complete.hpp"
#include "bench/run/run_info.hpp"
#include "bench/worker/probe.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/files.hpp"
#include "core/samples/samples_file.hpp"
#include "core/samples/summary.hpp"
#include "models/hub/hub.hpp"

namespace assay {
namespace {
namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::minutes(10);

struct Arguments {
  fs::path folder;  ///< model folder made by generation.py: the checkpoint, and the graphs of generation_graphs
  std::string engine;
  std::int64_t prompt = 32, tokens = 32, threads = 2;
};

Result<Task> plan(const Arguments& arguments, const EngineRegistry& registry, const fs::path& scratch) {
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.sequence_lengths = {arguments.prompt};
  settings.output_tokens = {arguments.tokens};
  settings.threads = {arguments.threads};
  settings.default_batches = settings.default_lengths = settings.verify = false;
  settings.kv_cache = KvCache::kRuntime;
  hub::Settings offline;
  offline.cache = scratch / "hub";
  offline.offline = true;
  hub::Hub hub(offline);
  Preparing with{.cache = scratch / "models", .inputs = scratch / "inputs"};
  with.hub = &hub;
  with.registry = &registry;
  with.engines = {arguments.engine};
  ModelChoice choice;
  choice.name = choice.reference = (arguments.folder / "checkpoint").string();
  ASSAY_TRY(const PreparedModel model, prepare_model(choice, settings, with));
  const Hardware machine = detect_hardware(Host(), registry.entries());
  TargetRequest wanted;
  wanted.hardware = {"cpu"};
  wanted.engines = {arguments.engine};
  const auto look = [&](const std::string& engine) { return probe_engine(registry, engine); };
  ASSAY_TRY(const std::vector<Target> targets, resolve_targets(wanted, registry, machine, look));
  std::vector<Task> tasks = plan_tasks(model, targets, settings, make_run_info("", machine, registry));
  if (tasks.size() != 1) return fail(ErrorCode::kInternal, fmt::format("{} cells instead of one", tasks.size()));
  TaskCompleter(model, {.cache = with.inputs}).complete(tasks[0]);
  if (tasks[0].runs() && tasks[0].variant) return std::move(tasks[0]);
  return fail(ErrorCode::kUnsupported, fmt::format("no cache of its own: {}", tasks[0].row.message));
}

Result<std::unique_ptr<Worker>> start(const Arguments& arguments, const EngineRegistry& registry,
                                      const fs::path& scratch) {
  ASSAY_TRY(const Task task, plan(arguments, registry, scratch));
  ASSAY_TRY(const EngineLocation location, registry.locate(arguments.engine));
  Worker::StartOptions options;
  options.executable = registry.places().worker;
  options.log = scratch / "log";  // whose last lines are in the error of a worker that died
  ASSAY_TRY(std::unique_ptr<Worker> worker, Worker::start(location, std::move(options)));
  LoadRequest load = task.load;
  load.precision = "float32";
  const bool converted = !task.artefact.converter.empty();
  load.model = arguments.folder / (converted ? "openvino/model.xml" : "runtime/model.onnx");
  ASSAY_TRY([[maybe_unused]] const LoadReply loaded, worker->load(load, kPatience));
  const BindRequest bind{task.variant->inputs, task.seed, 1, 1, task.variant->generation};
  ASSAY_TRY([[maybe_unused]] const BindReply bound, worker->bind(bind, kPatience));
  return worker;
}

void append(const Samples& more, Samples& all) {
  all.kind.insert(all.kind.end(), more.kind.begin(), more.kind.end());
  all.stream.insert(all.stream.end(), more.stream.begin(), more.stream.end());
  all.start_ns.insert(all.start_ns.end(), more.start_ns.begin(), more.start_ns.end());
  all.duration_ns.insert(all.duration_ns.end(), more.duration_ns.begin(), more.duration_ns.end());
}

// {"times": the first token's, then those of the others}
Status print_times(const Samples& samples) {
  std::vector<std::int64_t> first, further;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto kind = static_cast<SampleKind>(samples.kind[i]);
    if (kind == SampleKind::kFirstToken) first.push_back(samples.duration_ns[i]);
    if (kind == SampleKind::kToken) further.push_back(samples.duration_ns[i]);
  }
  if (first.size() != 1) return fail(ErrorCode::kInternal, fmt::format("{} first tokens", first.size()));
  first.insert(first.end(), further.begin(), further.end());
  fmt::print("{{\"times\": [{}]}}\n", fmt::join(first, ", "));
  std::fflush(stdout);
  return {};
}

Status print_medians(const Samples& samples) {
  Record row;
  summarise(Measurement{}, samples, 1, row);
  if (!row.tpot_p50_ms || !row.ttft_p50_ms) return fail(ErrorCode::kInternal, "no generation after the first one");
  fmt::print("{{\"tpot_p50_ms\": {}, \"ttft_p50_ms\": {}}}\n", *row.tpot_p50_ms, *row.ttft_p50_ms);
  return {};
}

Status serve(const Arguments& arguments) {
  const EngineRegistry registry(EngineRegistry::default_places());
  ASSAY_TRY(const TemporaryDirectory scratch, TemporaryDirectory::create("assay-generation-"));
  ASSAY_TRY(const std::unique_ptr<Worker> worker, start(arguments, registry, scratch.path()));
  MeasurePlan plan;
  plan.warmup_iterations = 0;
  plan.iterations = 1;
  const fs::path file = scratch.path() / "samples";
  Samples all;
  bool warm = false;
  for (std::string line; std::getline(std::cin, line); warm = true) {
    ASSAY_TRY([[maybe_unused]] const MeasureReply reply, worker->measure({plan, file}, kPatience));
    ASSAY_TRY(const SamplesFile measured, read_samples(file));
    ASSAY_CHECK_OK(print_times(measured.samples));
    if (warm) append(measured.samples, all);
  }
  return print_medians(all);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  assay::Arguments arguments;
  CLI::App app("Measures one generation for each line of its input");
  app.add_option("FOLDER", arguments.folder, "A model's folder that generation.py made")->required();
  app.add_option("ENGINE", arguments.engine)->required();
  app.add_option("--prompt", arguments.prompt)->capture_default_str();
  app.add_option("--tokens", arguments.tokens)->capture_default_str();
  app.add_option("--threads", arguments.threads)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::serve(arguments);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
