// SPDX-License-Identifier: Apache-2.0
#include "run/time_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plan/row.hpp"
#include "plan/schedule.hpp"
#include "result/launch_medians.hpp"
#include "run/launch.hpp"

namespace assay {
namespace {

constexpr double kNs = 1e9;
/// A worker that starts, its runtime, a bundle: about 0.3 s; and reading and preparing each byte of the model.
constexpr double kStartS = 0.3;
constexpr double kLoadBytesPerS = 0.7e9;
/// Runs that verify, and the first one.
constexpr double kVerifyRuns = 7;
/// Sampling ends between its least and its largest time: mostly nearer to the largest.
constexpr double kOfTheLargest = 0.75;
constexpr double kWarmupS = 0.15;
/// Further rounds take about this part of the time of the planned ones, before it is known.
constexpr double kUsualFurther = 0.15;
constexpr double kUsualFurtherOfS = 30;
constexpr double kUsualFlopsPerS = 110e9, kUsualBytesPerS = 30e9;
/// Runs of a reference: its input sets, without optimisation; for the first shape also its perturbed copies.
constexpr double kReferenceRuns = 8, kFirstReferenceRuns = 24;
/// The reference of a generation generates, too, and computes all logits.
constexpr double kGenerationRuns = 2;
/// Writing and loading the model, and its perturbed copies.
constexpr double kModelCopies = 6;
/// The weight of the first estimate, in launches' seconds.
constexpr double kPriorS = 3;

double run_s(const TaskCost& task, const std::optional<MachineRate>& rate) {
  const double flops_per_s = rate && rate->flops_per_s > 0 ? rate->flops_per_s : kUsualFlopsPerS;
  const double bytes_per_s = rate && rate->bytes_per_s > 0 ? rate->bytes_per_s : kUsualBytesPerS;
  const double computing = task.flops / flops_per_s;
  // Each token reads the weights; in a single pass the operators' tensors stay in the processor's caches.
  return task.generates ? std::max(computing, task.bytes / bytes_per_s) : computing;
}

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
  const double least = static_cast<double>(plan.min_time_ns) / kNs;
  const double largest = static_cast<double>(plan.max_time_ns) / kNs;
  return std::max(warmup + least + (largest - least) * kOfTheLargest, 4 * run);
}

bool has_one_launch(const TaskCost& task, const std::optional<MachineRate>& rate) {
  return fills_its_time(task.time, std::chrono::nanoseconds(std::llround(run_s(task, rate) * kNs)));
}

}  // namespace

std::string budget_text(std::chrono::nanoseconds budget) {
  return "--budget " + time_words(std::chrono::duration<double>(budget).count());
}

std::string time_words(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

TaskCost task_cost(const Task& task) {
  constexpr double kBytesOfFloat = 4;
  const Record& row = task.row;
  return {.flops = row.flops.value_or(0),
          .bytes = row.bytes.value_or(0),
          .weight_bytes = kBytesOfFloat * static_cast<double>(row.parameter_count.value_or(0)),
          .inputs = row.input_hash,
          .generates = task.generation.has_value(),
          .verify = task.verify,
          .benchmark = task.benchmark,
          .time = shared_time(task),
          .measure = task.measure};
}

double expected_load_s(const TaskCost& task) { return kStartS + task.weight_bytes / kLoadBytesPerS; }

double expected_launch_s(const TaskCost& task, const std::optional<MachineRate>& rate) {
  const double run = run_s(task, rate);
  double seconds = expected_load_s(task) + (task.verify ? kVerifyRuns : 1) * run;
  if (task.benchmark) seconds += sampling_s(task, run);
  return seconds;
}

void TimePlan::add(const std::vector<Task>& tasks) {
  Model model;
  std::set<std::string> groups;
  for (const Task& task : tasks) {
    Cell cell;
    cell.runs = task.runs();
    cell.task = task_cost(task);
    cell.left = 1;
    cell.batch = task.shape.batch;
    cell.default_batch = task.default_batch;
    if (cell.runs) groups.insert(worker_group(task));
    model.extends = model.extends || (cell.runs && task.launches > 1);
    cell.group = fmt::format("{}\n{}\n{}", worker_group(task), task.shape.sequence, task.shape.output_tokens);
    model.cells.push_back(std::move(cell));
  }
  model.extends = model.extends && groups.size() > 1;
  estimate(model);
  models_.push_back(std::move(model));
}

void TimePlan::estimate(Model& model) const {
  model.prepare_s = 0;
  std::set<std::string> references;
  for (Cell& cell : model.cells) {
    if (!cell.runs) continue;
    if (cell.measured == 0) cell.expected_s = expected_launch_s(cell.task, rate_);
    if (cell.ended == 0) cell.left = has_one_launch(cell.task, rate_) ? 1 : cell.task.time.launches;
    if (!cell.task.verify || !references.insert(cell.task.inputs).second) continue;
    const bool first = references.size() == 1;
    model.prepare_s += (first ? kFirstReferenceRuns : kReferenceRuns) * (cell.task.generates ? kGenerationRuns : 1) *
                       run_s(cell.task, rate_);
    if (first) model.prepare_s += kStartS + kModelCopies * cell.task.weight_bytes / kLoadBytesPerS;
  }
}

// A generation is bound by memory, mostly; other runs by their FLOPs.
void TimePlan::learn(const TaskCost& task, const Record& launch) {
  const double seconds = launch.latency_p50_ms.value_or(0) / 1e3;
  if (seconds <= 0 || task.flops <= 0) return;
  if (!rate_) rate_ = MachineRate{};
  if (task.generates)
    rate_->bytes_per_s = byte_rates_.with(task.bytes / seconds);
  else
    rate_->flops_per_s = flop_rates_.with(task.flops / seconds);
  for (std::size_t m = model_; m < models_.size(); ++m) estimate(models_[m]);
}

std::vector<std::string> TimePlan::fit(const std::vector<std::vector<Task>*>& tasks, std::size_t first) {
  std::vector<std::string> notes;
  if (!budget_) return notes;
  const double given = static_cast<double>(budget_->count()) / kNs;
  const auto fits = [&] { return elapsed_s() + planned_s(first, true) <= given; };
  std::int64_t most = 1;
  const auto each = [&](const auto& visit) {
    for (std::size_t m = first; m < models_.size(); ++m)
      for (std::size_t t = 0; t < models_[m].cells.size(); ++t) visit(models_[m].cells[t], (*tasks[m])[t]);
  };
  each([&](const Cell& cell, const Task&) { most = std::max(most, cell.runs ? cell.left : 1); });
  const std::int64_t before = most;
  for (; most > 1 && !fits(); --most)
    each([&](Cell& cell, Task& task) {
      if (!cell.runs || cell.left < most) return;
      if (task.max_time) task.max_time = *task.max_time * (most - 1) / most;  // a launch keeps its share
      cell.left = task.launches = most - 1;
      cell.task.time = shared_time(task);
    });
  if (most < before) {
    each([&](const Cell& cell, Task& task) {
      if (!cell.runs || task.launches >= task.row.planned_launches) return;
      std::erase_if(task.notes, [](const std::string& note) { return parse_launches_note(note).has_value(); });
      task.notes.push_back(launches_note(task.launches, *task.row.planned_launches, budget_text(*budget_)));
    });
    notes.push_back(fmt::format("{}: {} {} of each further cell instead of {}", budget_text(*budget_), most,
                                most == 1 ? "launch" : "launches", before));
  }
  std::map<std::string, std::int64_t> smallest;
  each([&](const Cell& cell, const Task&) {
    if (const auto known = smallest.find(cell.group); known == smallest.end() || cell.batch < known->second)
      smallest[cell.group] = cell.batch;
  });
  while (!fits()) {
    std::int64_t largest = 0;
    each([&](const Cell& cell, const Task&) {
      if (cell.runs && cell.default_batch && cell.batch > smallest[cell.group]) largest = std::max(largest, cell.batch);
    });
    if (largest == 0) break;
    each([&](Cell& cell, Task& task) {
      if (!cell.runs || !cell.default_batch || cell.batch != largest || cell.batch <= smallest[cell.group]) return;
      cell.runs = false;
      cell.left = 1;
      cell.expected_s = 0;
      set_refusal(task.row, {CellStatus::kSkipped, std::string(reason::kNoTime),
                             fmt::format("{} leaves no time for this default batch", budget_text(*budget_)),
                             fmt::format("--batch-sizes {} measures it", largest)});
    });
    notes.push_back(fmt::format("{}: batch {} is not measured", budget_text(*budget_), largest));
  }
  if (!fits() && !std::exchange(overrun_said_, true))
    notes.push_back(fmt::format("{}: what is left takes about {}: it is measured anyway", budget_text(*budget_),
                                time_words(planned_s(first, true))));
  return notes;
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
  const bool further = cell.left == 0;
  ++cell.ended;
  cell.left = std::max<std::int64_t>(0, cell.left - 1);
  if (kept || !cell.runs) return;
  if (cell.measured == 0) expected_s_ += cell.expected_s;
  measured_s_ += cell.measured == 0 ? took : 0;
  cell.measured_s += took;
  ++cell.measured;
  if (further) models_[model_].further_s += took;
  if (fills_its_time(cell.task.time, run_time(launch)) || launch.status != CellStatus::kCompleted) cell.left = 0;
  learn(cell.task, launch);
}

void TimePlan::end() {
  Model& model = models_[model_];
  double all_s = 0;
  for (Cell& cell : model.cells) {
    cell.left = 0;
    all_s += cell.measured_s;
  }
  if (model.extends) {
    of_planned_s_ += all_s - model.further_s;
    of_further_s_ += model.further_s;
  }
  ++model_;
  preparing_ = true;
}

double TimePlan::launch_s(const Cell& cell) const {
  if (cell.measured > 0) return cell.measured_s / static_cast<double>(cell.measured);
  return cell.expected_s * factor();
}

double TimePlan::factor() const { return (measured_s_ + kPriorS) / (expected_s_ + kPriorS); }

double TimePlan::planned_s(std::size_t first_model, bool preparing) const {
  double seconds = 0;
  const double factor_of_preparing = (measured_prepare_s_ + kPriorS) / (expected_prepare_s_ + kPriorS);
  for (std::size_t m = first_model; m < models_.size(); ++m) {
    if (m > first_model || preparing) seconds += models_[m].prepare_s * factor_of_preparing;
    for (const Cell& cell : models_[m].cells)
      if (cell.runs) seconds += static_cast<double>(cell.left) * launch_s(cell);
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
      if (cell.runs) all_s += cell.measured_s + static_cast<double>(cell.left) * launch_s(cell);
    seconds += std::max(0.0, share * (all_s - models_[m].further_s) - models_[m].further_s);
  }
  return seconds;
}

double TimePlan::left_s() const { return planned_s(model_, preparing_) + further_s(model_); }

double TimePlan::elapsed_s() const { return static_cast<double>(clock_.now_ns() - began_ns_) / kNs; }

std::size_t TimePlan::remaining_launches() const {
  std::size_t launches = 0;
  for (std::size_t m = model_; m < models_.size(); ++m)
    for (const Cell& cell : models_[m].cells) launches += static_cast<std::size_t>(cell.left);
  return launches;
}

bool TimePlan::has_time(double seconds) const {
  if (!budget_) return true;
  const double later = planned_s(model_ + 1, true);
  return elapsed_s() + later + seconds <= static_cast<double>(budget_->count()) / kNs;
}

}  // namespace assay
