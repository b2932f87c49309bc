// SPDX-License-Identifier: Apache-2.0
#include "bench/run/time_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "bench/plan/schedule.hpp"
#include "bench/run/launch.hpp"

namespace assay {
namespace {

constexpr double kNs = 1e9;
/// A worker that starts or prepares another shape, a bundle: about 0.3 s; and reading and preparing each byte of the
/// model.
constexpr double kStartS = 0.3;
constexpr double kLoadBytesPerS = 0.7e9;
/// Above this time of a run fewer sets are compared after sampling and in later launches (OutputChecks).
constexpr double kSlowRunS = 0.1;
/// Sampling ends between its least and its largest time: mostly nearer to the largest.
constexpr double kOfTheLargest = 0.75;
constexpr double kWarmupS = 0.15;
/// Further rounds take about this part of the time of the planned ones, before it is known.
constexpr double kUsualFurther = 0.15;
constexpr double kUsualFurtherOfS = 30;
constexpr double kUsualFlopsPerS = 110e9, kUsualBytesPerS = 30e9;
/// A run of a reference, which is not optimised, in runs of a candidate; with the first shape its perturbed copies run.
constexpr double kReferenceRun = 1.6, kPerturbedRuns = 4;
/// The reference of a generation computes the logits of forced tokens, and generates, too.
constexpr double kGenerationRuns = 1.5;
/// Writing and loading the model, and its perturbed copies.
constexpr double kModelCopies = 6;
/// The weight of the first estimates, in seconds: of launches, of references, and of the rate of runs.
constexpr double kPriorS = 10, kPriorOfPreparingS = 20, kKnownRunS = 0.1;

double sampling_s(const TaskCost& task, double run) {
  MeasurePlan plan = task.measure;
  const auto run_ns = std::chrono::nanoseconds(std::llround(run * kNs));
  next_limits(task.time, {}).apply_to(plan, run_ns);
  const double most = static_cast<double>(plan.max_time_ns + plan.max_warmup_ns) / kNs;
  if (plan.iterations) {
    const double all = run * static_cast<double>(*plan.iterations + plan.warmup_iterations.value_or(0));
    return plan.time_limits_iterations ? std::min(all, most) : all;
  }
  const double warmup = std::min(static_cast<double>(plan.max_warmup_ns) / kNs, std::max(kWarmupS, 10 * run));
  const double largest = static_cast<double>(plan.max_time_ns) / kNs;
  const double least = std::min(
      largest, std::max(static_cast<double>(plan.min_time_ns) / kNs, static_cast<double>(plan.min_samples) * run));
  // The last run of the warm-up and that of the window end after their time.
  return std::max(warmup + least + (largest - least) * kOfTheLargest, kRunsAtLeast * run) + run;
}

bool has_one_launch(const TaskCost& task, const std::optional<MachineRate>& rate) {
  return fills_its_time(task.time, std::chrono::nanoseconds(std::llround(expected_run_s(task, rate) * kNs)));
}

}  // namespace

TaskCost task_cost(const Task& task) {
  constexpr double kBytesOfFloat = 4;
  const Record& row = task.row;
  return {.flops = row.flops.value_or(0),
          .bytes = row.bytes.value_or(0),
          .weight_bytes = kBytesOfFloat * static_cast<double>(row.parameter_count.value_or(0)),
          .inputs = row.input_hash,
          .input_sets = set_count(task.inputs, task.input_sets),
          .generates = task.generation.has_value(),
          .verify = task.verify,
          .benchmark = task.benchmark,
          .time = shared_time(task),
          .measure = task.measure};
}

double expected_run_s(const TaskCost& task, const std::optional<MachineRate>& rate) {
  if (task.run_s > 0) return task.run_s;
  const double flops_per_s = rate && rate->flops_per_s > 0 ? rate->flops_per_s : kUsualFlopsPerS;
  const double bytes_per_s = rate && rate->bytes_per_s > 0 ? rate->bytes_per_s : kUsualBytesPerS;
  const double computing = task.flops / flops_per_s;
  // Each token reads the weights; in a single pass the operators' tensors stay in the processor's caches.
  return task.generates ? std::max(computing, task.bytes / bytes_per_s) : computing;
}

double expected_load_s(const TaskCost& task) { return kStartS + task.weight_bytes / kLoadBytesPerS; }

LaunchTimes expected_launch_s(const TaskCost& task, const std::optional<MachineRate>& rate) {
  const double run = expected_run_s(task, rate);
  const double always = expected_load_s(task) + (task.benchmark ? sampling_s(task, run) : 0);
  if (!task.verify) return {always + run, always + run};
  const auto sets = static_cast<double>(task.input_sets);
  const bool slow = task.generates || run > kSlowRunS;
  const double after = !task.benchmark ? 0 : slow ? 1 : sets;
  return {always + (sets + after) * run, always + (slow ? 1 + after : sets + after) * run};
}

void TimePlan::add(const std::vector<Task>& tasks, const std::vector<KeptLaunches>& kept) {
  Model model;
  std::set<std::string> groups;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Task& task = tasks[t];
    Cell cell;
    cell.runs = task.runs();
    cell.task = task_cost(task);
    cell.given_launches = task.launches;
    if (t < kept.size() && kept[t].launches > 0) {
      cell.kept = std::max<std::int64_t>(0, task.launches - kept[t].missing);
      cell.replay = kept[t].launches;
      cell.complete = kept[t].missing == 0;
      cell.task.run_s = kept[t].run_s;
    }
    if (task.max_time)
      cell.given_share_s = static_cast<double>(task.max_time->count()) / kNs / static_cast<double>(task.launches);
    cell.left = cell.complete ? 0 : 1;
    cell.batch = task.shape.batch;
    cell.default_batch = task.default_batch;
    if (cell.runs) groups.insert(worker_group(task));
    model.extends = model.extends || (cell.runs && task.launches > 1);
    cell.group = fmt::format("{}\n{}\n{}", worker_group(task), task.shape.sequence, task.shape.output_tokens);
    model.cells.push_back(std::move(cell));
  }
  model.extends = model.extends && groups.size() > 1;
  estimate(model);
  for (const Cell& cell : models_.emplace_back(std::move(model)).cells) learn(cell.task, cell.task.run_s);
}

void TimePlan::estimate(Model& model) const {
  model.prepare_s = 0;
  std::set<std::string> references;
  for (Cell& cell : model.cells) {
    if (!cell.runs) continue;
    if (cell.measured == 0) cell.expected = expected_launch_s(cell.task, rate_);
    if (cell.complete) continue;
    if (cell.ended == 0)
      cell.left = cell.kept == 0 && has_one_launch(cell.task, rate_) ? 1 : cell.task.time.launches - cell.kept;
    if (!cell.task.verify || !references.insert(cell.task.inputs).second) continue;
    const bool first = references.size() == 1;
    const double runs = static_cast<double>(cell.task.input_sets) + (first ? kPerturbedRuns : 0);
    model.prepare_s +=
        runs * kReferenceRun * (cell.task.generates ? kGenerationRuns : 1) * expected_run_s(cell.task, rate_);
    if (first) model.prepare_s += kStartS + kModelCopies * cell.task.weight_bytes / kLoadBytesPerS;
  }
}

double TimePlan::Rate::with(double more, double in_seconds, double before) {
  if (seconds == 0) {
    seconds = kKnownRunS;
    amount = before * kKnownRunS;
  }
  amount += more;
  seconds += in_seconds;
  return amount / seconds;
}

// A generation is bound by memory, mostly; other runs by their FLOPs.
void TimePlan::learn(const TaskCost& task, double run_s) {
  if (run_s <= 0 || task.flops <= 0) return;
  if (!rate_) rate_ = MachineRate{};
  if (task.generates)
    rate_->bytes_per_s = bytes_.with(task.bytes, run_s, rate_->bytes_per_s > 0 ? rate_->bytes_per_s : kUsualBytesPerS);
  else
    rate_->flops_per_s = flops_.with(task.flops, run_s, rate_->flops_per_s > 0 ? rate_->flops_per_s : kUsualFlopsPerS);
  for (std::size_t m = model_; m < models_.size(); ++m) estimate(models_[m]);
}

void TimePlan::begin(std::size_t model) {
  model_ = model;
  preparing_ = true;
  last_ns_ = clock_.now_ns();
}

void TimePlan::prepared() {
  const std::int64_t now = clock_.now_ns();
  measured_prepare_s_ += static_cast<double>(now - std::exchange(last_ns_, now)) / kNs;
  expected_prepare_s_ += models_[model_].prepare_s;
  preparing_ = false;
}

void TimePlan::launched(std::size_t task, const Record& launch, bool kept) {
  const std::int64_t now = clock_.now_ns();
  Cell& cell = models_[model_].cells[task];
  const double took = static_cast<double>(now - std::exchange(last_ns_, now)) / kNs;
  ++launches_done_;
  if (kept && cell.replay > 0) {
    --cell.replay;
    return;
  }
  const bool further = cell.left == 0;
  ++cell.ended;
  cell.left = std::max<std::int64_t>(0, cell.left - 1);
  if (kept || !cell.runs) return;
  // A launch that was refused or failed is over early, which says nothing about the others.
  if (cell.measured == 0 && launch.status == CellStatus::kCompleted) {
    expected_s_ += cell.expected.first_s;
    measured_s_ += took;
  }
  cell.measured_s += took;
  ++cell.measured;
  if (further) models_[model_].further_s += took;
  if (fills_its_time(cell.task.time, run_time(launch)) || launch.status != CellStatus::kCompleted) cell.left = 0;
  learn(cell.task, launch.latency_p50_ms.value_or(0) / 1e3);
}

void TimePlan::end() {
  Model& model = models_[model_];
  double all_s = 0;
  for (Cell& cell : model.cells) {
    cell.left = 0;
    cell.replay = 0;
    all_s += cell.measured_s;
  }
  if (model.extends) {
    of_planned_s_ += all_s - model.further_s;
    of_further_s_ += model.further_s;
  }
  ++model_;
  preparing_ = true;
}

double TimePlan::launches_s(const Cell& cell, std::int64_t launches) const {
  if (launches == 0) return 0;
  const auto [first, later] = cell.expected;
  const auto measured = static_cast<double>(cell.measured), more = static_cast<double>(launches);
  if (cell.measured > 0) return cell.measured_s / (first + (measured - 1) * later) * later * more;
  return (first + (more - 1) * later) * factor();
}

double TimePlan::factor() const { return (measured_s_ + kPriorS) / (expected_s_ + kPriorS); }

double TimePlan::planned_s(std::size_t first_model, bool preparing) const {
  double seconds = 0;
  const double factor_of_preparing =
      (measured_prepare_s_ + kPriorOfPreparingS) / (expected_prepare_s_ + kPriorOfPreparingS);
  for (std::size_t m = first_model; m < models_.size(); ++m) {
    if (m > first_model || preparing) seconds += models_[m].prepare_s * factor_of_preparing;
    for (const Cell& cell : models_[m].cells)
      if (cell.runs) seconds += launches_s(cell, cell.left);
  }
  return seconds;
}

double TimePlan::further_s(std::size_t first_model) const {
  const double share = (of_further_s_ + kUsualFurther * kUsualFurtherOfS) / (of_planned_s_ + kUsualFurtherOfS);
  double seconds = 0;
  for (std::size_t m = first_model; m < models_.size(); ++m) {
    if (!models_[m].extends) continue;
    double all_s = 0;
    for (const Cell& cell : models_[m].cells)
      if (cell.runs) all_s += cell.measured_s + launches_s(cell, cell.left);
    seconds += std::max(0.0, share * (all_s - models_[m].further_s) - models_[m].further_s);
  }
  return seconds;
}

double TimePlan::left_s() const {
  const double planned = planned_s(model_, preparing_);
  if (gave_up_) return planned;  // has_time() allows no further rounds
  const double further = further_s(model_);
  return planned + (budget_ ? std::clamp(budget_s() - elapsed_s() - planned, 0.0, further) : further);
}

double TimePlan::elapsed_s() const { return static_cast<double>(clock_.now_ns() - began_ns_) / kNs; }

std::size_t TimePlan::remaining_launches() const {
  std::size_t launches = 0;
  for (std::size_t m = model_; m < models_.size(); ++m)
    for (const Cell& cell : models_[m].cells) launches += static_cast<std::size_t>(cell.left) + cell.replay;
  return launches;
}

}  // namespace assay
