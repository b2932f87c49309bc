// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "plan/task.hpp"
#include "prepare/rate.hpp"
#include "run/launch.hpp"

namespace assay {

/// What the estimates use of a task.
struct TaskCost {
  double flops = 0, bytes = 0;  ///< of one run; 0: unknown
  double weight_bytes = 0;      ///< in float32
  std::string inputs;           ///< tasks with the same have one reference
  bool generates = false, verify = true, benchmark = true;
  SharedTime time;
  MeasurePlan measure;
};
/// The inputs of the task are complete.
[[nodiscard]] TaskCost task_cost(const Task& task);

/// Starting a worker, and reading and preparing the model.
[[nodiscard]] double expected_load_s(const TaskCost& task);

/// How long one launch of the task takes, estimated before it runs: a worker that starts and loads, verification,
/// warm-up and sampling. `rate`: of this machine; nullopt: a usual one.
[[nodiscard]] double expected_launch_s(const TaskCost& task, const std::optional<MachineRate>& rate);

/// The time of a run: what is left of it, and what fits into --budget. Estimates before, replaced by measured times as
/// launches end. Thread: one at a time.
class TimePlan {
 public:
  /// `began_ns`: the start of the run on `clock`. Lifetime: `clock` outlives the object.
  TimePlan(std::optional<std::chrono::nanoseconds> budget, const Clock& clock, std::int64_t began_ns,
           std::optional<MachineRate> rate)
      : budget_(budget), clock_(clock), began_ns_(began_ns), rate_(std::move(rate)) {}

  /// Adds the tasks of the next model.
  void add(const std::vector<Task>& tasks);

  /// Gives up what does not fit into the budget, of the models from `first` on: launches, first from all cells with the
  /// most; when each cell has one, the largest default batches, except the smallest of each model and target. Changes
  /// the tasks (`tasks[i]`: those of model i) and says what was given up, a line each. Nothing without a budget.
  [[nodiscard]] std::vector<std::string> fit(const std::vector<std::vector<Task>*>& tasks, std::size_t first);

  /// What happens: the model with this number begins, its references and files are made, a launch of a task is over,
  /// the model is over.
  void begin(std::size_t model);
  void prepared();
  void launched(std::size_t task, const Record& launch, bool kept);
  void end();

  /// How much longer the run takes.
  [[nodiscard]] double left_s() const;
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::size_t launches() const { return launches_done_ + remaining_launches(); }
  /// Whether there is time for `seconds` more: always without a budget. Planned launches of later models come first.
  [[nodiscard]] bool has_time(double seconds) const;

 private:
  struct Cell {
    TaskCost task;
    double expected_s = 0;  ///< of one launch
    double measured_s = 0;  ///< of all launches that ran
    std::int64_t measured = 0;
    std::int64_t ended = 0;  ///< launches, those included that --resume kept
    std::int64_t left = 0;   ///< launches
    std::int64_t batch = 1;
    std::string group{};  ///< cells that differ only in their batch
    bool default_batch = false, runs = false;
  };
  struct Mean {
    double sum = 0, count = 0;
    double with(double value) {
      sum += value;
      return sum / ++count;
    }
  };
  struct Model {
    std::vector<Cell> cells;
    double prepare_s = 0;
    bool extends = false;  ///< several targets and launches: pairs may need further rounds
    double further_s = 0;  ///< that they took until now
  };
  [[nodiscard]] std::size_t remaining_launches() const;
  [[nodiscard]] double launch_s(const Cell& cell) const;
  /// Estimates again what has not run, with the rate that the launches until now had.
  void learn(const TaskCost& task, const Record& launch);
  void estimate(Model& model) const;
  /// Measured over expected, of the launches until now.
  [[nodiscard]] double factor() const;
  /// What is planned for the models from this one on; without further rounds.
  [[nodiscard]] double planned_s(std::size_t first_model, bool preparing) const;
  /// What further rounds probably take.
  [[nodiscard]] double further_s(std::size_t first_model) const;

  std::optional<std::chrono::nanoseconds> budget_;
  const Clock& clock_;
  std::int64_t began_ns_;
  std::optional<MachineRate> rate_;
  Mean flop_rates_, byte_rates_;  ///< of launches
  std::vector<Model> models_;
  std::size_t model_ = 0;
  bool preparing_ = true, overrun_said_ = false;
  std::int64_t last_ns_ = 0;
  double of_planned_s_ = 0, of_further_s_ = 0;  ///< of models that are over, in which pairs may need further rounds
  double expected_s_ = 0, measured_s_ = 0;      ///< of launches that are over
  double expected_prepare_s_ = 0, measured_prepare_s_ = 0;
  std::size_t launches_done_ = 0;
};

/// "--budget 5 min 0 s", for messages.
[[nodiscard]] std::string budget_text(std::chrono::nanoseconds budget);
/// "5 min 10 s", "40 s".
[[nodiscard]] std::string time_words(double seconds);

}  // namespace assay
