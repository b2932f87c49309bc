// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"
#include "history/analyse/analyse.hpp"
#include "show/report/format.hpp"
#include "show/report/interruption.hpp"
#include "show/report/report.hpp"

namespace assay {
namespace {

Json seconds(const Number& milliseconds) { return milliseconds ? Json(*milliseconds / 1e3) : Json(nullptr); }
Json value(const Number& number) { return number ? Json(*number) : Json(nullptr); }

// One shape: the guide's two numbers first, then every field of the row.
Json shape_entry(const ReportInput& input, const Record& row) {
  Json entry{{"status", to_string(row.status)},
             {"avg_latency", seconds(row.latency_mean_ms)},
             {"throughput", value(row.throughput_ips)}};
  for (const Field& field : result_fields())
    if (!entry.contains(field.name)) entry[std::string(field.name)] = field_value(row, field);
  entry["ranked"] = row.ranked();
  entry["kept_from"] = input.kept.contains(row.attempt_id) ? Json(row.timestamp) : Json(nullptr);
  return entry;
}

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::size_t n = 0;
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
    sum += x;
    ++n;
  }
  [[nodiscard]] Json json() const {
    if (n == 0) return {{"min", nullptr}, {"max", nullptr}, {"mean", nullptr}};
    return {{"min", low}, {"max", high}, {"mean", sum / static_cast<double>(n)}};
  }
};

// A target's status over its shapes: wrong if one is, else completed if one is, else the status of the first row.
Json target_entry(const ReportInput& input, const std::vector<const Record*>& rows) {
  const auto first_of = [&](CellStatus status) -> const Record* {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Record* r) { return r->status == status; });
    return found == rows.end() ? nullptr : *found;
  };
  const Record* wrong = first_of(CellStatus::kWrong);
  const Record* completed = first_of(CellStatus::kCompleted);
  const Record& head = wrong != nullptr ? *wrong : completed != nullptr ? *completed : *rows.front();
  Json entry{{"status", to_string(head.status)}, {"model_load_time", value(head.model_load_time)}};
  for (const std::string_view name : kTargetFields) entry[name] = field_value(head, *find_field(name));
  Json shapes = Json::object();
  Extent latency, throughput;
  for (const Record* row : rows) {
    if (row->batch_size) shapes[shape_key(*row)] = shape_entry(input, *row);
    if (row->status != CellStatus::kCompleted || row->flags.has(Flag::kPartial)) continue;
    if (row->latency_mean_ms) latency.add(*row->latency_mean_ms / 1e3);
    if (row->throughput_ips) throughput.add(*row->throughput_ips);
  }
  entry["benchmark_results"] = std::move(shapes);
  entry["performance_summary"] = {{"latency", latency.json()}, {"throughput", throughput.json()}};
  return entry;
}

Json run_entry(const RunInfo& run) {
  return {{"run_id", run.run_id},
          {"command", run.command},
          {"started", run.started},
          {"host", run.host},
          {"tool_version", run.tool_version},
          {"git_commit", run.git_commit},
          {"hardware_id", run.hardware_fingerprint}};
}

// The machine and the software that the numbers belong to, for a person who reads the file.
Json environment_entry(const ReportInput& input) {
  const Json& system = input.run.system;
  Json entry = Json::object();
  for (const char* name :
       {"os", "platform", "processor", "cpu_cores", "cpu_threads", "memory_gb", "cuda_version", "python_version"})
    entry[name] = system.value(name, Json());
  std::vector<std::string> gpus;
  for (const Json& gpu : system.value("gpus", Json::array()))
    gpus.push_back(fmt::format("{} ({} GB)", gpu.value("name", "unknown"), json_text(gpu.value("memory_gb", Json()))));
  entry["gpus"] = gpus.empty() ? Json(nullptr) : Json(join(gpus, ", "));
  entry["host"] = input.run.host;
  entry["assay"] = input.run.tool_version;
  Json runtimes = Json::object();
  for (const Record& row : input.rows)
    if (!row.engine_version.empty()) runtimes[row.engine] = row.engine_version;
  entry["runtimes"] = std::move(runtimes);
  return entry;
}

Json interval_of(const std::optional<stats::Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json(nullptr);
}

Json comparison_entry(const CellComparison& comparison) {
  return {{"interval_95", interval_of(comparison.interval)},
          {"rounds", comparison.rounds},
          {"smallest_detectable", value(comparison.smallest_detectable)},
          {"words", no_claim_words(comparison)}};
}

// Without common rounds there is no factor: medians of one process each are not compared.
Json speedup_entry(const Speedup& speedup) {
  const CellComparison& found = speedup.comparison;
  Json entry{{"factor", found.interval ? Json(found.ratio) : Json(nullptr)},
             {"difference_shown", found.claimed()},
             {"cells_compared", found.interval ? speedup.pairs : 0},
             {"cells_of_one_process", speedup.left_out}};
  entry.update(comparison_entry(found));
  return entry;
}

Json how_sure_entry(const ReportInput& input, const std::vector<Record>& rows) {
  const HowSure sure = how_sure(rows);
  Json open = Json::array();
  for (const HowSure::Open& each : sure.open) {
    const auto& settles = each.comparison.rounds_to_settle;
    Json entry{{"model", each.model},
               {"shape", each.shape},
               {"best", each.best},
               {"runner_up", each.runner_up},
               {"ratio", each.comparison.ratio},
               {"launches_to_settle", settles ? Json(*settles) : Json(nullptr)}};
    entry.update(comparison_entry(each.comparison));
    open.push_back(std::move(entry));
  }
  Json inconsistent = Json::array();
  for (const Inconsistency& pair : inconsistent_cells(rows))
    inconsistent.push_back({{"model", rows[pair.smaller].model},
                            {"hardware", target_key(rows[pair.smaller])},
                            {"smaller", shape_key(rows[pair.smaller])},
                            {"larger", shape_key(rows[pair.larger])}});
  const std::optional<MachineScore> machine = machine_score_of(input.run.doctor);
  return {{"machine_score", machine ? Json(machine->score) : Json(nullptr)},
          {"machine_disturbances", machine ? Json(machine->disturbances) : Json::array()},
          {"cells", sure.cells},
          {"cells_at_precision", sure.precise},
          {"relative_half_width_median", value(sure.half_width)},
          {"relative_half_width_worst", value(sure.worst_half_width)},
          {"cells_of_one_process", sure.one_process},
          {"cells_too_disturbed_to_rank", sure.unranked},
          {"pairs", sure.pairs},
          {"pairs_called_different", sure.claimed},
          {"smallest_detectable_median", value(sure.detectable)},
          {"smallest_detectable_worst", value(sure.worst_detectable)},
          {"undecided", std::move(open)},
          {"inconsistent", std::move(inconsistent)},
          {"lines", how_sure_lines(rows, machine)}};
}

}  // namespace

Json guide_json(const ReportInput& input) {
  Json json{{"schema_version", kReportSchema},
            {"timestamp", guide_timestamp(input.run)},
            {"run", run_entry(input.run)},
            {"environment", environment_entry(input)},
            {"interrupted", interruption_json(input)},
            {"system_info", input.run.system},
            {"available_hardware", input.run.hardware}};
  Json benchmarks = Json::object();
  const std::vector<Record> named = with_distinct_names(input.rows);
  for (const std::string& model : models_of(named))
    for (const std::string& target : targets_of(named)) {
      std::vector<const Record*> rows;
      for (std::size_t i = 0; i < named.size(); ++i)
        if (named[i].model == model && target_key(named[i]) == target) rows.push_back(&input.rows[i]);
      if (rows.empty()) continue;
      const std::string family = rows.front()->family.empty() ? "other" : rows.front()->family;
      benchmarks[family][model][target] = target_entry(input, rows);
    }
  json["benchmarks"] = std::move(benchmarks);
  Json speedups = Json::object();
  for (const Speedup& each : speedups_against_cpu(named)) speedups[each.target] = speedup_entry(each);
  json["relative_performance"] = {{"baseline", "cpu"}, {"speedup", std::move(speedups)}};
  json["recommendations"] = recommendations(named);
  json["next_steps"] = next_steps(named, input.files);
  json["how_sure"] = how_sure_entry(input, named);
  if (input.spent.total() > 0) json["time_s"] = to_json(input.spent);
  json["notes"] = input.notes;
  return json;
}

Json results_json(const ReportInput& input) {
  Json results = Json::array();
  Json kept = Json::object();
  for (const Record& row : input.rows) {
    results.push_back(to_json(row));
    if (input.kept.contains(row.attempt_id)) kept[row.attempt_id] = row.timestamp;
  }
  return {{"schema_version", kReportSchema},
          {"run", run_entry(input.run)},
          {"environment", environment_entry(input)},
          {"interrupted", interruption_json(input)},
          {"kept", std::move(kept)},
          {"notes", input.notes},
          {"results", std::move(results)}};
}

}  // namespace assay
