// SPDX-License-Identifier: Apache-2.0
#include "prepare/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.hpp"
#include "measure/environment.hpp"
#include "report/model_facts.hpp"
#include "worker/worker.hpp"

namespace assay {
namespace {

// A reference runs two input sets, each again with inputs and weights moved a little; a candidate runs the two.
constexpr double kVerifyingRuns = 4 + 2;
constexpr double kShareOfTimeout = 0.5;

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

// The smallest cell that was asked for.
InputAxes axes_of(const RunSettings& settings, const ModelInfo& info, std::int64_t beside, std::int64_t tokens) {
  InputAxes axes;
  axes.batch = *std::ranges::min_element(settings.batch_sizes);
  axes.sequence = *std::ranges::min_element(settings.sequence_lengths);
  if (info.max_sequence && settings.default_lengths)
    axes.sequence = std::max<std::int64_t>(1, std::min(axes.sequence, *info.max_sequence - beside - tokens));
  return axes;
}

double seconds(double flops, std::uint64_t weight_bytes, const MachineRate& rate) {
  return std::max(flops / rate.flops_per_s, static_cast<double>(weight_bytes) / rate.bytes_per_s);
}

void tell_time(Estimate& told, const RunCost& cost, std::uint64_t step_weights, const RunSettings& settings,
               const MachineRate& rate) {
  const double first = seconds(cost.first.flops, cost.first.weight_bytes, rate);
  const double step = seconds(cost.step.flops, step_weights, rate);
  const auto steps = static_cast<double>(cost.steps);
  told.run_s = first + steps * step;
  const MeasurePlan& plan = settings.measure;
  const auto warmup = static_cast<double>(plan.warmup_iterations.value_or(1));
  const auto samples = static_cast<double>(plan.iterations.value_or(plan.min_samples_at_time_limit));
  if (settings.benchmark) told.cell_s += (warmup + samples) * told.run_s;
  // Of a generation, the prompt and a few tokens.
  if (settings.verify)
    told.cell_s +=
        kVerifyingRuns * (first + step * static_cast<double>(cost.steps > 0 ? taught_tokens(cost.steps + 1) : 0));
  told.told = fmt::format("a run of {:.4g} GFLOP", cost.flops() / 1e9);
  if (cost.steps > 0) told.told += fmt::format(", {} a token,", gigabytes(static_cast<double>(step_weights)));
  told.told += fmt::format(" takes about {:.2g} s where {} multiplies at {:.0f} GFLOP/s and reads {:.1f} GB/s",
                           told.run_s, rate.engine, rate.flops_per_s / 1e9, rate.bytes_per_s / 1e9);
}

}  // namespace

zoo::BuildRequest build_request(const ZooSource& source, const RunSettings& settings) {
  zoo::BuildRequest request;
  request.config = source.config;
  request.model_class = source.model_class;
  request.weights = source.weights;
  request.seed = settings.seed;
  // "runtime" and "as_is" leave the graph in float32.
  if (dtype_from(settings.precision)) request.precision = settings.precision;
  return request;
}

Result<Estimate> estimate(const ZooSource& source, const RunSettings& settings, const MachineRate* rate) {
  ASSAY_TRY(const TemporaryDirectory folder, TemporaryDirectory::create("assay-estimate-"));
  zoo::BuildRequest request = build_request(source, settings);
  request.weights_left_out = true;
  std::filesystem::path file = folder.path() / "model.onnx";
  ASSAY_TRY(const zoo::BuiltModel whole, zoo::build(request, file));
  Estimate told;
  const std::uint64_t element = request.precision == "float32" ? 4 : 2;
  told.weight_bytes = element * static_cast<std::uint64_t>(whole.parameter_count);
  // Else its graph is looked into; not that of too many weights: one tensor alone may be more than a file's may be
  // here.
  if (rate == nullptr || told.weight_bytes > free_memory()) return told;
  std::optional<GenerationGraphs> generation;
  const std::int64_t tokens = *std::ranges::min_element(settings.output_tokens);
  if (tokens > 0 && settings.data.empty()) {
    ASSAY_TRY(generation, build_generation(request, folder.path()));
  }
  if (generation) file = generation->prompt.path;
  ASSAY_TRY(const ModelInfo info, inspect_graph(file));
  const bool both = generation && generation->step;
  const std::uint64_t step_weights = generation ? generation->step_info.weight_bytes : 0;
  told.weight_bytes = info.weight_bytes + (both ? step_weights : 0);
  const bool in_states = generation && generation->prompt_in_states;
  InputAxes axes =
      axes_of(settings, info, in_states ? generation->prompt_tokens(info, 0) : 0, in_states ? tokens - 1 : 0);
  axes.cache = folder.path();
  const Result<ModelInputs> inputs = generation ? prompt_inputs(info, axes) : make_inputs(info, axes);
  if (!inputs) return told;  // the cell's own row says what is wrong
  GraphCosts costs;
  const Result<RunCost> cost =
      costs.run(file, inputs->recipes, axes, generation ? &*generation : nullptr,
                generation ? generation->prompt_tokens(info, axes.sequence) : 0, generation ? tokens : 0);
  if (!cost) return told;
  told.activation_bytes = cost->activation_bytes();
  tell_time(told, *cost, step_weights, settings, *rate);
  return told;
}

std::optional<std::string> lack_of_memory(std::uint64_t weight_bytes, std::uint64_t activation_bytes,
                                          std::uint64_t available) {
  const auto weights = static_cast<double>(weight_bytes), activations = static_cast<double>(activation_bytes);
  StaticCost cost;
  cost.weight_bytes = weight_bytes;
  cost.peak_activation_bytes = activation_bytes;
  const auto needed = static_cast<double>(memory_to_run(cost));
  if (needed <= static_cast<double>(available)) return std::nullopt;
  const std::string beside =
      activation_bytes > 0 ? fmt::format(" and activations of {}", gigabytes(activations)) : std::string();
  return fmt::format("weights of {}{} need about {} to run, {} are free", gigabytes(weights), beside, gigabytes(needed),
                     gigabytes(static_cast<double>(available)));
}

std::optional<std::string> lack_of_time(const Estimate& estimate, const RunSettings& settings) {
  const double given = std::chrono::duration<double>(settings.timeout).count();
  if (estimate.cell_s <= kShareOfTimeout * given) return std::nullopt;
  return fmt::format("a cell takes about {:.0f} s at least, and --timeout gives {:.0f} s: {}", estimate.cell_s, given,
                     estimate.told);
}

}  // namespace assay
