// SPDX-License-Identifier: Apache-2.0
#include "bench/prepare/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "bench/worker/worker.hpp"
#include "models/graph/static_graph.hpp"
#include "models/inputs/fixed_extents.hpp"

namespace assay {
namespace {

// The reference runs four input sets, a candidate the same before and after sampling. Honest runs are of one item.
constexpr double kVerifyingRuns = 4 + 4 + 4;
constexpr double kShareOfTimeout = 0.5;

std::string gigabytes(double bytes) { return fmt::format("{:.1f} GB", bytes / 1e9); }

// The smallest requested cell.
InputAxes smallest_axes(const RunSettings& settings, const ModelInfo& info, std::int64_t beside, std::int64_t tokens) {
  InputAxes axes;
  axes.input_shape = settings.input_shape;
  axes.given = {settings.shapes, settings.extents};
  axes.batch = *std::ranges::min_element(settings.batch_sizes);
  axes.sequence = *std::ranges::min_element(settings.sequence_lengths);
  if (info.max_sequence && settings.default_lengths)
    axes.sequence = std::max<std::int64_t>(1, std::min(axes.sequence, *info.max_sequence - beside - tokens));
  if (const auto fixed = fix_extents(info, axes.given); fixed && fixed->batch) axes.batch = *fixed->batch;
  return axes;
}

double seconds(double flops, std::uint64_t weight_bytes, const MachineRate& rate) {
  return std::max(flops / rate.flops_per_s, static_cast<double>(weight_bytes) / rate.bytes_per_s);
}

}  // namespace

Result<Estimate> estimate(const ZooDescription& model, const RunSettings& settings) {
  Estimate needs;
  needs.weight_bytes = model.weight_bytes;
  const GenerationGraphs* graphs = model.generation ? &*model.generation : nullptr;
  if (graphs != nullptr) needs.step_weight_bytes = graphs->step_info.weight_bytes;
  const std::int64_t tokens = graphs != nullptr ? *std::ranges::min_element(settings.output_tokens) : 0;
  const bool in_states = graphs != nullptr && graphs->prompt_in_states;
  InputAxes axes = smallest_axes(settings, model.info, in_states ? graphs->prompt_tokens(model.info, 0) : 0,
                                 in_states ? tokens - 1 : 0);
  axes.cache = model.folder->path();
  const Result<ModelInputs> inputs =
      graphs != nullptr ? prompt_inputs(model.info, axes) : make_inputs(model.info, axes);
  if (!inputs) return needs;  // the cell's own row says what is wrong
  GraphCosts costs;
  const Result<RunCost> cost =
      costs.run(model.info.path, inputs->recipes, axes, graphs,
                graphs != nullptr ? graphs->prompt_tokens(model.info, axes.sequence) : 0, tokens);
  if (!cost) return needs;
  needs.activation_bytes = cost->activation_bytes();
  needs.cost = *cost;
  return needs;
}

CellTime time_of(const Estimate& estimate, const RunSettings& settings, const MachineRate& rate) {
  CellTime time;
  if (!estimate.cost) return time;
  const RunCost& cost = *estimate.cost;
  const double first = seconds(cost.first.flops, cost.first.weight_bytes, rate);
  const double step = seconds(cost.step.flops, estimate.step_weight_bytes, rate);
  const auto steps = static_cast<double>(cost.steps);
  time.run_s = first + steps * step;
  const MeasurePlan& plan = settings.measure;
  const auto warmup = static_cast<double>(plan.warmup_iterations.value_or(1));
  const auto samples = static_cast<double>(plan.iterations.value_or(plan.min_samples_at_time_limit));
  if (settings.benchmark) time.cell_s += (warmup + samples) * time.run_s;
  if (settings.verify) time.cell_s += kVerifyingRuns * time.run_s;
  time.figures = fmt::format("a run of {:.4g} GFLOP", cost.flops() / 1e9);
  if (cost.steps > 0)
    time.figures += fmt::format(", {} a token,", gigabytes(static_cast<double>(estimate.step_weight_bytes)));
  time.figures += fmt::format(" takes about {:.2g} s where {} multiplies at {:.0f} GFLOP/s and reads {:.1f} GB/s",
                              time.run_s, rate.engine, rate.flops_per_s / 1e9, rate.bytes_per_s / 1e9);
  return time;
}

std::optional<std::string> memory_shortfall(std::uint64_t weight_bytes, std::uint64_t activation_bytes,
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

DiskUse disk_use(std::uint64_t weight_bytes, const RunSettings& settings, const std::vector<EngineEntry>& engines,
                 bool generates) {
  DiskUse use;
  const auto add = [&](const char* file, std::uint64_t bytes) {
    use.bytes += bytes;
    use.files += fmt::format("{}{} {}", use.files.empty() ? "" : ", ", file, gigabytes(static_cast<double>(bytes)));
  };
  add("the model", weight_bytes);
  const auto is_specialised = [](const EngineEntry& engine) {
    return engine.static_shapes && engine.lowered_to.empty();
  };
  const auto is_converted = [](const EngineEntry& engine) {
    return engine.runtime_cache && !engine.runtime_cache->converter.empty();
  };
  if (generates && settings.kv_cache == KvCache::kRuntime && std::ranges::any_of(engines, is_converted))
    add("its conversion", weight_bytes);
  if (settings.verify && std::ranges::any_of(engines, &EngineEntry::needs_model)) {
    // The reference computes in float32, with the weights of the other precision.
    const DType precision = dtype_from(settings.precision).value_or(DType::kFloat32);
    const std::uint64_t wide = bit_width(precision) < 32 ? 2 * weight_bytes : weight_bytes;
    if (wide > weight_bytes || settings.precision == "runtime") add("its reference", wide);
    add("the reference with perturbed weights", wide);
  } else if (std::ranges::any_of(engines, is_specialised)) {
    add("a copy with fixed shapes", weight_bytes);  // one at a time, when the reference is done
  }
  return use;
}

std::optional<std::string> disk_shortfall(const DiskUse& use, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(place, error) && place != place.parent_path()) place = place.parent_path();
  const std::filesystem::space_info space = std::filesystem::space(place, error);
  if (error || space.available >= use.bytes) return std::nullopt;
  return fmt::format("its files need {} at the same time ({}), '{}' has {} free",
                     gigabytes(static_cast<double>(use.bytes)), use.files, place.string(),
                     gigabytes(static_cast<double>(space.available)));
}

std::optional<std::string> time_shortfall(const CellTime& time, const RunSettings& settings) {
  const double given = std::chrono::duration<double>(settings.timeout).count();
  if (time.cell_s <= kShareOfTimeout * given) return std::nullopt;
  return fmt::format("a cell takes about {:.0f} s at least, and --timeout gives {:.0f} s: {}", time.cell_s, given,
                     time.figures);
}

}  // namespace assay
