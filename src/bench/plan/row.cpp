// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/row.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "core/result/keys.hpp"
#include "core/tensor/random.hpp"

namespace assay {
namespace {

std::string options_text(std::vector<std::pair<std::string, std::string>> options) {
  std::sort(options.begin(), options.end());
  std::vector<std::string> parts;
  parts.reserve(options.size());
  for (const auto& [key, value] : options) parts.push_back(fmt::format("{}={}", key, value));
  return join(parts, ",");
}

std::string plan_text(const MeasurePlan& plan) {
  std::string text = plan.iterations ? fmt::format("iterations={}", *plan.iterations) : "adaptive";
  return plan.warmup_iterations ? fmt::format("warmup={} {}", *plan.warmup_iterations, text) : text;
}

Number megabytes(std::uint64_t bytes) { return bytes == 0 ? Number() : Number(static_cast<double>(bytes) / 1e6); }

}  // namespace

std::string input_shape_text(const std::vector<InputRecipe>& recipes) {
  const auto tuple = [](const Shape& shape) {
    std::vector<std::string> extents;
    for (const std::int64_t extent : shape) extents.push_back(std::to_string(extent));
    return "(" + join(extents, ", ") + (shape.size() == 1 ? ",)" : ")");
  };
  if (recipes.size() == 1) return tuple(recipes.front().shape);
  std::vector<std::string> parts;
  parts.reserve(recipes.size());
  for (const InputRecipe& recipe : recipes) parts.push_back(recipe.name + "=" + tuple(recipe.shape));
  return join(parts, ", ");
}

std::string precision_of(const RunSettings& settings, const PreparedModel& model) {
  return model.identity.weights == Weights::kGiven && !settings.precision_asked ? "as_is" : settings.precision;
}

Record begin_row(const RunInfo& run, const RunSettings& settings, const PreparedModel& model, const Target& target) {
  Record row = model.identity;
  if (const Result<CacheVariant>* variant = model.variant_for(target.engine)) {
    row.kv_cache = *variant ? (*variant)->kv_cache : settings.kv_cache;
    row.config_hash = *variant ? (*variant)->config_hash : std::string();
    row.graph_hash = *variant ? (*variant)->graph_hash : std::string();
  }
  row.run_id = run.run_id;
  row.host = run.host;
  row.tool_version = run.tool_version;
  row.method_version = kMethodVersion;
  row.git_commit = run.git_commit;
  row.hardware_id = run.hardware_fingerprint;
  row.attempt_number = 1;
  row.launch_number = 1;
  row.framework = target.found.entry.framework;
  row.engine = target.engine.substr(0, target.engine.find('@'));
  row.engine_version = target.found.version;
  row.engine_options = options_text(settings.engine_options);
  row.spin = settings.spin;
  row.hardware = target.hardware;
  row.device = target.device.id.empty() ? target.hardware : target.device.id;
  row.device_type = target.hardware;
  row.device_name = target.device.name;
  row.precision = precision_of(settings, model);
  row.dtype = row.precision;
  row.contract = Contract::kHost;
  row.seed = static_cast<std::int64_t>(settings.seed);
  row.data_source = settings.data.empty() ? "synthetic" : settings.data.string();
  row.measure_plan = plan_text(settings.measure);
  row.reference = "none";
  if (target.device.simulated) row.flags.add(Flag::kSimulated);
  if (target.device.software) row.flags.add(Flag::kSoftware);
  return row;
}

void set_shape(Record& row, const CellShape& shape, bool uses_sequence) {
  row.batch_size = shape.batch;
  if (uses_sequence) row.sequence_length = shape.sequence;
  if (shape.output_tokens > 0) row.output_tokens = shape.output_tokens;
  row.streams = shape.streams;
  if (shape.threads > 0) row.threads = shape.threads;
}

void set_inputs(Record& row, const std::vector<InputRecipe>& inputs, const std::string& input_hash) {
  row.input_shape = input_shape_text(inputs);
  row.input_hash = input_hash;
  if (row.seed_scheme.empty()) row.seed_scheme = std::string(seed_scheme());
}

void set_failure(Record& row, const Error& error) {
  const bool refuses = error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kFixedShape;
  row.status = refuses ? CellStatus::kUnsupported : CellStatus::kFailed;
  row.reason_code = reason_of(error.code);
  row.message = error.message;
  for (const std::string& line : error.context) row.message += "; " + line;
  row.hint = error.hint;
}

void set_failure(Record& row, const Task& task, const Error& error) {
  set_failure(row, error);
  // Runtimes have several codes for shapes that contradict each other in the graph, but all of them name shapes.
  const std::string words = lower(error.message);
  const bool of_shapes = task.contradiction || words.find("shape") != std::string::npos ||
                         words.find("dimension") != std::string::npos || words.find("broadcast") != std::string::npos;
  const bool may_be = error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kMismatch ||
                      error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kInternal;
  if (!task.shape_hint.empty() && of_shapes && may_be) row.message += "; " + task.shape_hint;
}

void set_refusal(Record& row, const Refusal& refusal) {
  row.status = refusal.status;
  row.reason_code = refusal.reason_code;
  row.message = refusal.message;
  row.hint = refusal.hint;
}

void set_load(Record& row, const LoadReply& loaded) {
  row.runtime_load_ms = loaded.runtime_load_ms;
  row.model_load_time = loaded.model_load_s;
  set_effective(row, loaded.effective);
  row.memory_load_mb = megabytes(loaded.peak_load_bytes);
}

void set_effective(Record& row, const EngineOptions& effective) {
  row.effective_options = options_text(effective);
  row.effective_spin = EffectiveSpin::kUnknown;
  row.denormals = Denormals::kUnknown;
  for (const auto& [key, value] : effective) {
    if (key == "precision") row.effective_precision = value;
    if (key == "spin") row.effective_spin = from_word<EffectiveSpin>(value).value_or(EffectiveSpin::kUnknown);
    if (key == "denormals") row.denormals = from_word<Denormals>(value).value_or(Denormals::kUnknown);
    if (key == "threads") row.effective_threads = parse_number<std::int64_t>(value);
  }
}

void set_memory(Record& row, const MeasureReply& measured, const LoadReply& loaded, bool warm) {
  row.memory_mb = megabytes(measured.peak_rss_bytes);
  row.memory_avg_mb = megabytes(measured.mean_rss_bytes);
  if (measured.peak_rss_bytes > loaded.rss_before_model_bytes && loaded.rss_before_model_bytes > 0)
    row.memory_model_mb = megabytes(measured.peak_rss_bytes - loaded.rss_before_model_bytes);
  row.memory_source = warm ? MemorySource::kWarmProcess : MemorySource::kProcess;
}

}  // namespace assay
