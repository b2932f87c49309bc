// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/engine/registry.hpp"
#include "bench/plan/plan_testing.hpp"
#include "bench/run/complete.hpp"
#include "bench/run/local_executor.hpp"
#include "core/base/files.hpp"

// The null engine of this build, and a machine that does not change, for tests of what runs it.
namespace assay::testing {

inline EngineRegistry::Places build_places() {
  EngineRegistry::Places places;
  places.plugins = std::filesystem::path(ASSAY_BINARY_DIR) / "lib/assay/engines";
  places.worker = std::filesystem::path(ASSAY_BINARY_DIR) / "bin/assay-worker";
  return places;
}

inline Target null_target(const EngineRegistry& registry) {
  Target target;
  target.hardware = "cpu";
  target.engine = "null";
  target.found.available = true;
  target.found.entry = *registry.entry("null");
  target.found.location = registry.locate("null").value();
  target.found.version = "1.0";
  target.device.id = "cpu";
  target.device.hardware = "cpu";
  target.device.name = "nothing";
  return target;
}

inline RunInfo test_run() {
  RunInfo run = run_info();
  run.command = "test";
  run.started = "2026-03-02T12:34:56Z";
  return run;
}

/// Few runs, each of them counted.
inline RunSettings quick_settings() {
  RunSettings settings;
  settings.batch_sizes = {1};
  settings.sequence_lengths = {16};
  settings.default_lengths = false;
  settings.output_tokens = {3};
  settings.measure.warmup_iterations = 1;
  settings.measure.iterations = 5;
  return settings;
}

inline ExecutorServices services_in(const std::filesystem::path& folder, const EngineRegistry& registry) {
  ExecutorServices services;
  services.registry = &registry;
  services.spool = folder / "spool";
  services.cache = folder / "cache";
  return services;
}

/// A model of the zoo, prepared for the null engine.
inline PreparedModel zoo_model(const std::string& name, const RunSettings& settings, const EngineRegistry& registry,
                               const std::filesystem::path& folder) {
  hub::Settings nowhere;
  nowhere.cache = folder / "hub";
  nowhere.offline = true;
  hub::Hub hub(nowhere);
  Preparing with{.cache = folder / "cache/models", .inputs = folder / "cache/inputs"};
  with.hub = &hub;
  with.registry = &registry;
  with.engines = {"null"};
  ModelChoice choice;
  choice.name = choice.reference = name;
  return prepare_model(choice, settings, with).value();
}

/// The tasks of a model on the null engine, with their inputs. `static_shapes`: as if it required fixed extents.
inline std::vector<Task> complete_tasks(const PreparedModel& model, const RunSettings& settings,
                                        const EngineRegistry& registry, const std::filesystem::path& folder,
                                        bool static_shapes = false) {
  Target target = null_target(registry);
  target.found.entry.static_shapes = static_shapes;
  std::vector<Task> tasks = plan_tasks(model, {target}, settings, test_run());
  TaskCompleter completer(model, input_axes(settings_of(model.choice, settings), folder / "cache/inputs"));
  for (Task& task : tasks) completer.complete(task);
  return tasks;
}

/// The rows of an executor of its own, on the machine of `run`.
inline std::vector<Record> run_tasks(std::vector<Task> tasks, ExecutorServices services,
                                     const RunInfo& run = test_run()) {
  std::vector<Record> rows;
  const auto executor = LocalExecutor::create(run, std::move(services)).value();
  const Status done =
      executor->run(std::move(tasks), {.finished = [&](std::size_t, const Record& row) { rows.push_back(row); }});
  if (!done) throw std::runtime_error(to_string(done.error()));
  return rows;
}

}  // namespace assay::testing
