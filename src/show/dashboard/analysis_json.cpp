// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/analysis_json.hpp"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/dataset.hpp"

namespace assay::dashboard {
namespace {

class Rows {
 public:
  Rows(const Dataset& data, std::size_t cells) : first_(data.cells.data()), count_(cells) {}
  /// null for a row that the document does not have.
  [[nodiscard]] Json index(const Record* row) const {
    const std::less<> before;
    if (row == nullptr || before(row, first_) || !before(row, first_ + count_)) return nullptr;
    return row - first_;
  }

 private:
  const Record* first_;
  std::size_t count_;
};

Json number_json(const Number& value) { return value ? Json(*value) : Json(); }

void add_comparison(Json& json, const CellComparison& comparison) {
  json["claimed"] = comparison.baseline_ahead();
  json["ratio"] = comparison.ratio;
  json["low"] = comparison.interval ? Json(comparison.interval->low) : Json();
  json["high"] = comparison.interval ? Json(comparison.interval->high) : Json();
}

// The rows by what they say too: the document may not have them.
Json best_json(const std::optional<Best>& best, const Rows& rows) {
  if (!best) return nullptr;
  Json json{{"cell", rows.index(best->row)},
            {"target", target_key(*best->row)},
            {"p50_ms", number_json(best->row->latency_p50_ms)},
            {"throughput_ips", number_json(best->row->throughput_ips)},
            {"shape", shape_words(*best->row)},
            {"runner_up", rows.index(best->runner_up)},
            {"runner_up_target", best->runner_up == nullptr ? "" : target_key(*best->runner_up)}};
  add_comparison(json, best->ahead);
  json["words"] = best->words;
  json["of"] = best->of;
  return json;
}

Json states_json(const StateCounts& counts) {
  return {{"verified", counts.verified}, {"unverified", counts.unverified},   {"wrong", counts.wrong},
          {"failed", counts.failed},     {"unsupported", counts.unsupported}, {"unavailable", counts.unavailable},
          {"skipped", counts.skipped}};
}

Json models_json(const Analysis& analysis, const Rows& rows) {
  Json list = Json::array();
  for (const ModelLine& line : analysis.models) {
    const Record* memory = line.least_memory;
    list.push_back({{"model", line.model},
                    {"machine", line.machine},
                    {"hardware_id", line.hardware_id},
                    {"model_id", line.model_id},
                    {"size", line.size},
                    {"family", line.family},
                    {"category", line.category},
                    {"architecture", line.architecture},
                    {"latency", best_json(line.latency, rows)},
                    {"throughput", best_json(line.throughput, rows)},
                    {"least_memory", rows.index(memory)},
                    {"least_memory_target", memory == nullptr ? "" : target_key(*memory)},
                    {"least_memory_mb", memory == nullptr ? Json() : number_json(memory->memory_mb)},
                    {"why_none", line.why_none},
                    {"states", states_json(line.states)}});
  }
  return list;
}

Json failures_json(const Analysis& analysis, const Rows& rows) {
  Json list = Json::array();
  for (const Failure& failure : analysis.failures) {
    Json cells = Json::array();
    for (const Record* cell : failure.cells)
      if (Json index = rows.index(cell); !index.is_null()) cells.push_back(std::move(index));
    list.push_back({{"status", to_string(failure.status)},
                    {"reason_code", to_string(failure.reason_code)},
                    {"cause", failure.cause},
                    {"hint", failure.hint},
                    {"cells", std::move(cells)},
                    {"where", failure.where}});
  }
  return list;
}

Json changes_json(const std::vector<Change>& changes, const Rows& rows) {
  Json list = Json::array();
  for (const Change& change : changes)
    list.push_back({{"what", to_string(change.what)},
                    {"series", change.series},
                    {"cell", rows.index(change.row)},
                    {"cells", change.rows.size()},
                    {"words", change.words},
                    {"quantity", change.quantity},
                    {"unit", change.unit},
                    {"before", number_json(change.before)},
                    {"after", number_json(change.after)},
                    {"ratio", number_json(change.ratio)},
                    {"beyond_spread", change.beyond_spread}});
  return list;
}

Json choices_json(const Analysis& analysis) {
  Json list = Json::array();
  for (const Choice& choice : analysis.choices) {
    Json json{{"architecture", choice.architecture}, {"category", choice.category},
              {"machine", choice.machine},           {"best", choice.best},
              {"runner_up", choice.runner_up},       {"value", number_json(choice.value)}};
    add_comparison(json, choice.ahead);
    json["cells"] = choice.cells;
    json["words"] = choice.words;
    json["how_sure"] = choice.how_sure;
    json["left_out"] = choice.left_out;
    list.push_back(std::move(json));
  }
  return list;
}

Json opportunities_json(const Analysis& analysis, const Rows& rows) {
  Json list = Json::array();
  for (const Opportunity& one : analysis.opportunities)
    list.push_back({{"kind", to_string(one.kind)},
                    {"cell", rows.index(one.cell)},
                    {"better", rows.index(one.better)},
                    {"factor", one.factor},
                    {"low", one.interval ? Json(one.interval->low) : Json()},
                    {"high", one.interval ? Json(one.interval->high) : Json()},
                    {"claimed", one.claimed},
                    {"machine", one.machine},
                    {"words", one.words}});
  return list;
}

Json efficiency_json(const Analysis& analysis) {
  Json list = Json::array();
  for (const Efficiency& one : analysis.efficiency)
    list.push_back({{"machine", one.machine},
                    {"target", one.target},
                    {"category", one.category},
                    {"precision", one.precision},
                    {"share", one.share},
                    {"cells", one.cells},
                    {"counted_whole", one.counted_whole},
                    {"peak_of", one.peak_of}});
  return list;
}

}  // namespace

Json analysis_json(const Dataset& data, const Analysis& analysis, std::size_t cells) {
  const Rows rows(data, cells);
  return {{"models", models_json(analysis, rows)},
          {"failures", failures_json(analysis, rows)},
          {"states", states_json(analysis.states)},
          {"changes",
           {{"last_run", changes_json(analysis.since_last_run, rows)},
            {"week", changes_json(analysis.since_a_week, rows)},
            {"month", changes_json(analysis.since_a_month, rows)}}},
          {"choices", choices_json(analysis)},
          {"opportunities", opportunities_json(analysis, rows)},
          {"no_opportunity", analysis.no_opportunity},
          {"efficiency", efficiency_json(analysis)},
          {"efficiency_missing", analysis.efficiency_missing},
          {"sure", how_sure_lines(data.cells, machine_score(data))}};
}

}  // namespace assay::dashboard
