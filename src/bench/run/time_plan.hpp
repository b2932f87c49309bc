// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan/task.hpp"
#include "bench/rate/rate.hpp"
#include "bench/run/launch.hpp"
#include "core/base/clock.hpp"

namespace assay {

/// What the estimates use of a task.
struct TaskCost {
  double flops = 0, bytes = 0;  ///< amount for one run; 0: unknown
  double weight_bytes = 0;      ///< size of the weights in float32
  std::string inputs;           ///< tasks with the same have one reference
  double run_s = 0;             ///< measured before; 0: to be estimated
  std::size_t input_sets = 4;
  bool generates = false, verify = true, benchmark = true;
  SharedTime time;
  MeasurePlan measure;
};
/// The inputs of the task are complete.
[[nodiscard]] TaskCost task_cost(const Task& task);

/// One inference, or one generation. `rate`: of this machine; nullopt: a usual one.
[[nodiscard]] double expected_run_s(const TaskCost& task, const std::optional<MachineRate>& rate);

/// Starting a worker, and reading and preparing the model.
[[nodiscard]] double expected_load_s(const TaskCost& task);

/// How long the first launch of the task takes, and each later one, which compares less: a worker that starts and
/// loads, verification, warm-up and sampling. Estimated before it runs. `rate`: of this machine; nullopt: a usual one.
struct LaunchTimes {
  double first_s = 0, later_s = 0;
};
[[nodiscard]] LaunchTimes expected_launch_s(const TaskCost& task, const std::optional<MachineRate>& rate);

/// What --resume kept of a task.
struct KeptLaunches {
  std::size_t launches = 0;  ///< those included that did not end well
  std::int64_t missing = 0;  ///< launches that the task still needs
  double run_s = 0;          ///< duration of one inference or one generation; 0: unknown
};

/// The time of a run: what is left of it, and what fits into --budget. Estimates before, replaced by measured times as
/// launches end. Thread: one at a time.
class TimePlan {
 public:
  /// `began_ns`: the start of the run on `clock`. Lifetime: `clock` outlives the object.
  TimePlan(std::optional<std::chrono::nanoseconds> budget, const Clock& clock, std::int64_t began_ns,
           std::optional<MachineRate> rate)
      : budget_(budget), clock_(clock), began_ns_(began_ns), rate_(std::move(rate)) {}

  /// Adds the tasks of the next model. `kept`: what --resume kept of each of them; empty: of none. Only launches that
  /// are missing cost time; the others show how fast the machine is.
  void add(const std::vector<Task>& tasks, const std::vector<KeptLaunches>& kept = {});

  /// Gives up what does not fit into the budget, of the models from `first` on: sampling time, down to 1.5 s in each
  /// launch, but not so much that a cell has only one launch because of it; then launches, of the shapes whose launches
  /// take longest, first down to two each; when each cell has one, the largest default batches, except the smallest of
  /// each model and target. Changes the tasks (`tasks[i]`: those of model i). Sampling time and launches that were
  /// given up before come back if there is time for them. A cell that lacks launches after --resume gets one more at
  /// least; a complete one stays as it is. Nothing without a budget.
  void fit(const std::vector<std::vector<Task>*>& tasks, std::size_t first);

  struct Overrun {
    std::string warning;  ///< message before the measurement
    std::string note;     ///< afterwards
  };
  /// If what the newest fit() left does not fit into the budget: lines that say how long it takes.
  [[nodiscard]] std::optional<Overrun> overrun() const;

  /// What the newest fit() of each model gave up, and whether the budget was exceeded: a line each. `fewer`: how many
  /// cells have fewer launches than planned, if they have been measured; else it is what fit() expects.
  [[nodiscard]] std::vector<std::string> given_up(std::optional<std::int64_t> fewer = std::nullopt) const;

  /// Call when a model begins. `model`: its number in the order of add().
  void begin(std::size_t model);
  /// Call when the references and files of the present model are made.
  void prepared();
  /// Call for each launch of the present model, when it is over. `task`: its number in add(). `kept`: by --resume.
  void launched(std::size_t task, const Record& launch, bool kept);
  /// Call when the present model is over.
  void end();

  /// How much longer the run takes.
  [[nodiscard]] double left_s() const;
  [[nodiscard]] double elapsed_s() const;
  [[nodiscard]] std::size_t launches() const { return launches_done_ + remaining_launches(); }
  /// Whether there is time for a round of `seconds` more: always without a budget. `planned`: its launches were
  /// planned; else nothing may have been given up for it, and all later models come first.
  [[nodiscard]] bool has_time(double seconds, bool planned) const;

 private:
  struct Cell {
    TaskCost task;
    std::int64_t given_launches = 1;
    std::optional<double> given_share_s{};  ///< share of --max-time for one launch; nullopt: no limit
    /// The shorter share that the newest fit() gives it; nullopt: it has the whole share.
    std::optional<double> shorter_s{};
    LaunchTimes expected{};
    double measured_s = 0;  ///< total time of all launches that ran
    std::int64_t measured = 0;
    std::int64_t ended = 0;  ///< launches, those included that --resume kept
    std::int64_t left = 0;   ///< launches
    std::int64_t kept = 0;   ///< launches that count, by --resume
    std::size_t replay = 0;  ///< launches that --resume kept, which were not reported yet
    std::int64_t batch = 1;
    std::string group{};                                      ///< cells that differ only in their batch
    bool default_batch = false, runs = false, fewer = false;  ///< fewer: launches than planned
    bool complete = false;                                    ///< --resume kept all launches
  };
  /// What runs did in how much time. It begins with a short run at the rate that was known before.
  struct Rate {
    double amount = 0, seconds = 0;
    double with(double more, double in_seconds, double before);
  };
  struct Model {
    std::vector<Cell> cells;
    double prepare_s = 0;
    bool extends = false;  ///< several targets and launches: pairs may need further rounds
    double further_s = 0;  ///< time that further rounds took until now
  };
  [[nodiscard]] std::size_t remaining_launches() const;
  /// The seconds that so many further launches of the cell take.
  [[nodiscard]] double launches_s(const Cell& cell, std::int64_t launches) const;
  /// Estimates again what has not run, with the rate that the launches until now had.
  void learn(const TaskCost& task, double run_s);
  void estimate(Model& model) const;
  /// The tasks of the models from `first` on get back what was given up.
  void give_back(const std::vector<std::vector<Task>*>& tasks, std::size_t first);
  /// A launch of the task keeps the wanted time, or that of five runs if it is longer.
  [[nodiscard]] double least_share_s(const TaskCost& task, double wanted_s) const;
  /// Gives each of their launches at most this share of --max-time, or five runs.
  void limit_shares(const std::vector<std::vector<Task>*>& tasks, std::size_t first, double share_s);
  /// What is given up first, second, and last.
  void shorten(const std::vector<std::vector<Task>*>& tasks, std::size_t first);
  void drop_launches(const std::vector<std::vector<Task>*>& tasks, std::size_t first);
  void drop_batches(const std::vector<std::vector<Task>*>& tasks, std::size_t first);
  /// The largest share of --max-time that a launch would have without a budget.
  [[nodiscard]] double given_share_s(std::size_t first) const;
  [[nodiscard]] double budget_s() const;
  [[nodiscard]] bool fits(std::size_t first) const { return fit_at_s_ + planned_s(first, true) <= budget_s(); }
  /// Measured over expected, of the launches until now.
  [[nodiscard]] double factor() const;
  /// What is planned for the models from this one on; without further rounds.
  [[nodiscard]] double planned_s(std::size_t first_model, bool preparing) const;
  /// The same, if all of it is sampled as short as possible.
  [[nodiscard]] double shortest_s(std::size_t first_model) const;
  /// What further rounds probably take.
  [[nodiscard]] double further_s(std::size_t first_model) const;

  std::optional<std::chrono::nanoseconds> budget_;
  const Clock& clock_;
  std::int64_t began_ns_;
  std::optional<MachineRate> rate_;
  Rate flops_, bytes_;  ///< measured rates of the runs in launches
  std::vector<Model> models_;
  std::size_t model_ = 0;
  bool preparing_ = true, gave_up_ = false;
  std::int64_t last_ns_ = 0;
  /// Totals of the finished models in which pairs may need further rounds.
  double of_planned_s_ = 0, of_further_s_ = 0;
  double expected_s_ = 0, measured_s_ = 0;  ///< totals of the first launches that completed
  double expected_prepare_s_ = 0, measured_prepare_s_ = 0;
  std::size_t launches_done_ = 0;
  double fit_at_s_ = 0;  ///< elapsed when fit() began: what just fits does so until its end
  double fitted_s_ = 0;  ///< expected time of the plan after fit()
  std::vector<std::int64_t> dropped_batches_;
};

}  // namespace assay
