// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "measure/environment.hpp"
#include "plan/row.hpp"
#include "prepare/cost.hpp"
#include "result/keys.hpp"
#include "run/executor.hpp"
#include "run/reference.hpp"
#include "store/bundle.hpp"
#include "worker/pool.hpp"

// What the executor's files share: executor.cpp runs the cells of a model, executor_plan.cpp tells which these are,
// executor_attempt.cpp is one execution of one.
namespace assay {

/// Inputs and outputs that came with the model.
struct Given {
  std::optional<GivenData> data{};
  std::string note{};  ///< why they cannot be used at all
};

/// A prompt and how to go on from it.
struct Timed {
  std::vector<InputRecipe> recipes;
  Generation generation;
};

/// A cell that is about to run: everything that its row says before.
struct Planned {
  const Target* target;
  CellShape shape;
  ModelInputs inputs;
  Record row;
  std::optional<Generation> generation{};  ///< with this cell's lengths
  std::filesystem::path given_outputs{};   ///< what the model should compute on these inputs, where it came with that
  std::string given_note{};                ///< why outputs that came with the model are not this cell's reference
  std::optional<Error> contradiction{};    ///< in the file, as the static graph tells it for these inputs
  DType arithmetic = DType::kFloat32;      ///< what the candidate computes in: its reference is made for that
  std::optional<Timed> formed{};           ///< what the candidate gets where it has another form than the reference

  // Equal inputs and arithmetic of one model have one reference; the null engine's is its own.
  [[nodiscard]] std::string reference_key() const {
    return fmt::format("{} {}{} {}", row.input_hash, to_string(arithmetic),
                       target->found.entry.needs_model ? "" : " " + row.engine,
                       generation ? taught_tokens(generation->output_tokens) : -1);
  }
};

/// When the time that a cell has is over.
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
  RunInfo run;
  RunSettings settings;
  ExecutorServices services;
  ReferenceMaker references;
  WorkerPool pool;
  TemporaryDirectory scratch;
  RunContext context;
  int workers = 0;                            ///< started so far, to name their logs
  std::map<int, std::filesystem::path> logs;  ///< by the worker's process id: a warm one keeps its first log
  std::uint64_t memory_limit;                 ///< of one worker; the same for all, or none would ever be found warm
  std::map<std::string, Reference> made;      ///< of the model that runs, by Planned::reference_key()
  GraphCosts costs;                           ///< of the model that runs
  std::map<std::string, DType> chosen;        ///< the precision that a runtime chose for the model, by target_key()
  std::map<std::string, std::pair<std::int64_t, double>> measured;  ///< by work_key(): the batch and its mean in ms

  State(const RunInfo& r, const RunSettings& s, ExecutorServices v, TemporaryDirectory folder)
      : run(r),
        settings(s),
        services(std::move(v)),
        references(*services.registry, services.cache / "references", services.cancelled),
        pool(pool_limits(settings)),
        scratch(std::move(folder)) {
    memory_limit = settings.memory_limit_bytes.value_or(free_memory() / 10 * 9);
    references.limit_memory(memory_limit);
    context.started = run.started;
    context.command = run.command;
    context.environment = {{"system_info", run.system}, {"available_hardware", run.hardware}};
    context.hardware = run.system;
    const auto column = [&](const char* name, const char* from, double scale) {
      if (run.system.contains(from) && run.system.at(from).is_number())
        context.hardware[name] = run.system.at(from).get<double>() * scale;
    };
    column("physical_cores", "cpu_cores", 1);
    column("logical_cores", "cpu_threads", 1);
    column("memory_mb", "memory_gb", 1e3);
  }

  [[nodiscard]] static WorkerPool::Limits pool_limits(const RunSettings& settings);
  [[nodiscard]] Result<WorkerPool::Lease> acquire(const PreparedModel& model, const Target& target,
                                                  const CellShape& shape, const std::string& precision,
                                                  std::chrono::nanoseconds timeout);
  [[nodiscard]] Result<ModelInfo> signature(const PreparedModel& model, const Target& target);
  [[nodiscard]] Result<Planned> plan(const PreparedModel& model, const ModelInfo& info, const Target& target,
                                     const CellShape& shape, const Given& given);
  [[nodiscard]] Result<std::vector<Planned>> plan_all(const PreparedModel& model, const std::vector<Target>& targets);
  void set_cost(Planned& cell, const PreparedModel& model);
  [[nodiscard]] Status tell_arithmetic(const PreparedModel& model, Planned& cell);
  void make_references(const PreparedModel& model, std::vector<Planned>& cells);
  [[nodiscard]] std::optional<Error> file_at_fault(const Planned& cell) const;
  [[nodiscard]] Result<Record> finish_unrun(Record row);
  [[nodiscard]] Result<Record> execute(const PreparedModel& model, Planned& cell);
  [[nodiscard]] Status attempt(Record& row, const PreparedModel& model, const Planned& cell,
                               const std::filesystem::path& samples, Json& environment, Json& outputs,
                               std::filesystem::path& log);
  [[nodiscard]] Status work(Record& row, WorkerPool::Lease& leased, const Planned& cell,
                            const std::filesystem::path& samples, const Deadline& deadline, Json& environment,
                            Json& outputs);
  [[nodiscard]] Status check(Record& row, Worker& worker, const Planned& cell, const Deadline& deadline, Json& outputs);
  [[nodiscard]] InputAxes axes_of(const CellShape& shape) const {
    return {shape.batch, shape.sequence, settings.data, services.cache / "inputs"};
  }
  // The keys of a row that has everything they hash, and which attempt at that task this is.
  void name_row(Record& row) const {
    row.task_key = task_key(row);
    row.series_key = series_key(row);
    const auto before = services.attempts.find(row.task_key);
    row.attempt_number = before == services.attempts.end() ? 1 : before->second + 1;
  }
  [[nodiscard]] double estimated_ms(const Record& row) const;
  void take_stored_verdict(Record& row) const;
};

}  // namespace assay
