// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "prepare/artefact.hpp"
#include "run/local_executor.hpp"
#include "run/reference.hpp"
#include "store/bundle.hpp"
#include "worker/pool.hpp"

// Shared by the local executor's files: local_executor.cpp runs the cells of a model, local_attempt.cpp one execution
// of a cell.
namespace assay {

/// A task while it runs on this machine.
struct LocalTask {
  Task task;
  std::optional<Artefact> artefact{};

  // Identifies the model whatever its name: tasks of several models may be in one call.
  [[nodiscard]] std::string model_key() const {
    const Task::Reference& reference = task.reference;
    return fmt::format("{} {} {}", reference.graph_hash, reference.weights_hash, reference.given_outputs.string());
  }

  // Equal inputs and arithmetic of one model have one reference; an engine that computes no model is its own.
  [[nodiscard]] std::string reference_key(const EngineRegistry& registry) const {
    const EngineEntry* engine = registry.entry(task.engine);
    const bool own = engine != nullptr && !engine->needs_model;
    return fmt::format("{} {} {}{} {}", model_key(), task.row.input_hash, to_string(task.arithmetic),
                       own ? " " + engine->name : "",
                       task.generation ? teacher_forced_tokens(task.generation->output_tokens) : -1);
  }
};

/// The end of the time that a cell has.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds budget) : end_(std::chrono::steady_clock::now() + budget) {}
  [[nodiscard]] std::chrono::nanoseconds left() const {
    return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(end_ - std::chrono::steady_clock::now()));
  }
  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

struct LocalExecutor::State {
  ExecutorServices services;
  std::uint64_t memory_limit;  ///< of one worker; the same for all, so that a warm worker can be reused
  ArtefactStore artefacts;
  ReferenceMaker references;
  WorkerPool pool;
  TemporaryDirectory scratch;
  RunContext context;
  int workers = 0;                            ///< number of workers started, for the names of their logs
  std::map<int, std::filesystem::path> logs;  ///< by the worker's process id: a warm one keeps its first log
  std::map<std::string, Result<EngineLocation>> locations;  ///< by engine
  std::map<std::string, Reference> made;                    ///< of this call's tasks, by LocalTask::reference_key()
  std::map<std::string, DType> chosen;  ///< the precision that a runtime chose, by model_key() and target_key()
  std::map<std::string, std::pair<std::int64_t, double>> measured;  ///< by work_key(): the batch and its mean in ms

  State(const RunInfo& run, ExecutorServices given, TemporaryDirectory folder);

  [[nodiscard]] Result<WorkerPool::Lease> acquire(const LocalTask& local, const std::string& precision,
                                                  std::chrono::nanoseconds timeout);
  void make_artefacts(std::vector<LocalTask>& tasks);
  [[nodiscard]] Status find_arithmetic(LocalTask& local);
  void make_references(std::vector<LocalTask>& tasks);
  [[nodiscard]] Reference& reference_of(const LocalTask& local) {
    return made[local.reference_key(*services.registry)];
  }
  [[nodiscard]] std::optional<Error> invalid_file(const LocalTask& local);
  [[nodiscard]] Result<Record> finish_unrun(Record row);
  [[nodiscard]] Result<Record> execute(LocalTask& local);
  [[nodiscard]] Status attempt(Record& row, const LocalTask& local, const std::filesystem::path& samples,
                               Json& environment, Json& outputs, std::filesystem::path& log);
  [[nodiscard]] Status work(Record& row, WorkerPool::Lease& leased, const LocalTask& local,
                            const std::filesystem::path& samples, const Deadline& deadline, Json& environment,
                            Json& outputs);
  [[nodiscard]] Status check(Record& row, Worker& worker, const LocalTask& local, const Deadline& deadline,
                             Json& outputs);
  void name_row(Record& row) const;
  [[nodiscard]] double estimated_ms(const LocalTask& local) const;
  void take_stored_verdict(Record& row) const;
};

}  // namespace assay
