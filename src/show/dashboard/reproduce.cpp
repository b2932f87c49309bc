// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "core/samples/launches.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/engine_entry.hpp"
#include "history/store/dataset.hpp"

namespace assay::dashboard {
namespace {

class Command {
 public:
  void add(std::string_view option, const std::string& value) {
    if (!value.empty()) text_ += " " + std::string(option) + " " + shell_quoted(value);
  }
  void add(std::string_view option, Count value) {
    if (value) add(option, std::to_string(*value));
  }
  void add(std::string_view flag) { text_ += " " + std::string(flag); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_ = "assay bench";
};

void add_model(Command& command, const Record& row) {
  constexpr std::string_view kOfZoo = "zoo:";
  if (row.model_id.empty() || row.model_id.starts_with(kOfZoo)) {
    command.add("--model", row.model);
    command.add("--size", row.size);
    return;
  }
  command.add("--model-id", row.model_id);
  if (row.weights == Weights::kSeeded) command.add("--allow-random-weights");
}

// `measure_plan` is "warmup=10 iterations=50" or "adaptive". `bench` counts inferences: what adapted is repeated with
// as many as each launch had.
void add_plan(Command& command, const Record& row) {
  constexpr std::string_view kWarmup = "warmup=", kIterations = "iterations=";
  for (const std::string& part : split(row.measure_plan, ' ')) {
    if (part.starts_with(kWarmup)) command.add("--warmup", part.substr(kWarmup.size()));
    if (part.starts_with(kIterations)) command.add("--iterations", part.substr(kIterations.size()));
    if (part == "adaptive" && row.iterations.value_or(0) > 0)
      command.add("--iterations", std::max<std::int64_t>(1, *row.iterations / row.launches.value_or(1)));
  }
}

// What `assay db import` says of the file that a run is of.
std::string imported(const RunFacts& run, const char* what) {
  if (!run.environment.is_object()) return {};
  const auto from = run.environment.find("imported_from");
  if (from == run.environment.end() || !from->is_object()) return {};
  return from->value(what, std::string());
}

}  // namespace

std::string why_not_repeatable(const Record& row, const Dataset& data) {
  const auto found = std::ranges::find(data.runs, row.run_id, &RunFacts::run_id);
  const RunFacts unknown;
  const RunFacts& run = found == data.runs.end() ? unknown : *found;
  const std::string file = imported(run, "file"), format = imported(run, "format");
  if (!format.empty() && !is_any(format, {"assay", "csv", "guide"}))
    return fmt::format("It was imported from {}, a file of {}: assay cannot repeat it.", file, format);
  if (own_engine(row.engine) != nullptr) return {};
  if (row.flags.has(Flag::kImported) || run.command.empty())
    return fmt::format("It was measured with {}, which is not an engine of assay: assay cannot repeat it.",
                       row.engine.empty() ? "an unknown runtime" : row.engine);
  return {};
}

std::string reproduce_command(const Record& row) {
  Command command;
  add_model(command, row);
  command.add("--device", row.hardware);
  command.add("--engine", row.engine);
  if (row.precision != "as_is") command.add("--precision", row.precision);
  command.add("--batch-sizes", row.batch_size);
  command.add("--sequence-lengths", row.sequence_length);
  command.add("--output-tokens", row.output_tokens);
  if (!row.given_shapes.empty()) command.add("--shape", row.given_shapes);
  if (row.kv_cache != KvCache::kGrowing) command.add("--kv-cache", std::string(to_string(row.kv_cache)));
  if (row.streams != 1) command.add("--streams", row.streams);
  command.add("--threads", row.threads);
  if (row.spin != Spin::kRuntime) command.add("--spin", std::string(to_string(row.spin)));
  if (const std::string_view form = unusual_shapes(row); !form.empty()) command.add(fmt::format("--{}-shapes", form));
  for (const std::string& option : split(row.engine_options, ',')) command.add("--engine-option", option);
  if (row.data_source != "synthetic") command.add("--data", row.data_source);
  if (row.seed != 0) command.add("--seed", row.seed);
  add_plan(command, row);
  if (row.planned_launches != 1) command.add("--launches", row.planned_launches);
  return command.text();
}

}  // namespace assay::dashboard
