// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/groups.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/picture.hpp"
#include "show/dashboard/analysis_json.hpp"
#include "show/dashboard/columns.hpp"
#include "show/dashboard/history.hpp"
#include "show/dashboard/pack.hpp"
#include "show/dashboard/reproduce.hpp"

namespace assay::dashboard {
namespace {

// In full precision; intervals and everything else are shown with three or four digits.
constexpr std::array<std::string_view, 6> kPrecise{"latency_p50_ms", "throughput_ips", "ttft_p50_ms",
                                                   "tpot_p50_ms",    "flops",          "bytes"};

template <class Value, class Row, class Get>
std::vector<Value> collect(const std::vector<Row>& rows, Get get) {
  std::vector<Value> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(get(row));
  return values;
}

Json field_column(Columns& columns, const Field& field, const std::vector<Record>& rows) {
  return std::visit(
      [&](auto member) -> Json {
        using Member = std::remove_cvref_t<decltype(rows.front().*member)>;
        if constexpr (std::is_same_v<Member, Number>) {
          const auto values = collect<Number>(rows, [&](const Record& row) { return row.*member; });
          return std::ranges::find(kPrecise, field.name) != kPrecise.end() ? columns.f64(field.name, values)
                                                                           : columns.f32(field.name, values);
        } else if constexpr (std::is_same_v<Member, Count>) {
          return columns.integers(field.name, collect<Count>(rows, [&](const Record& row) { return row.*member; }));
        } else if constexpr (std::is_same_v<Member, Text>) {
          return columns.texts(field.name, collect<Text>(rows, [&](const Record& row) { return row.*member; }));
        } else {
          return columns.texts(field.name, collect<Text>(rows, [&](const Record& row) {
                                 const Json value = field_value(row, field);
                                 return value.is_string() ? value.get<Text>() : Text();
                               }));
        }
      },
      field.member);
}

template <class Key>
std::vector<Count> numbered(const std::vector<Record>& rows, Numbers& numbers, Key key) {
  return collect<Count>(rows, [&](const Record& row) { return numbers.of(key(row)); });
}

// Which rows are comparable, and which may be called the best. `all`: also those that the document leaves out.
void add_identity(Json& list, Columns& columns, const std::vector<Record>& all, const std::vector<Record>& rows,
                  Numbers& comparable) {
  const std::map<std::string, std::string> machines = machine_names(all);
  const std::vector<bool> usable = usable_rows(all);
  std::vector<Count> may_be_best(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) may_be_best[i] = usable[i] ? 1 : 0;
  Numbers alike;
  list.push_back(columns.integers("comparable", numbered(rows, comparable, cell_key)));
  list.push_back(columns.integers("alike", numbered(rows, alike, cell_key_but_choices)));
  list.push_back(columns.integers("usable", may_be_best));
  list.push_back(columns.integers(
      "shown", collect<Count>(rows, [](const Record& row) { return chart::shows_values(row) ? 1 : 0; })));
  list.push_back(
      columns.texts("machine", collect<Text>(rows, [&](const Record& row) { return machines.at(row.hardware_id); })));
}

Json cells_json(Columns& columns, const Dataset& data, const std::vector<Record>& all, const std::vector<Record>& rows,
                Numbers& comparable) {
  Json list = Json::array();
  for (const Field& field : result_fields()) list.push_back(field_column(columns, field, rows));
  std::vector<Count> ids(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ids[i] = i < data.ids.size() ? data.ids[i] : 0;
  const auto text = [&](std::string_view name, auto get) {
    list.push_back(columns.texts(name, collect<Text>(rows, get)));
  };
  list.push_back(columns.integers("result_id", ids));
  list.push_back(columns.integers(
      "ranked", collect<Count>(rows, [](const Record& row) { return static_cast<std::int64_t>(row.ranked()); })));
  text("target", target_key);
  text("shape", shape_key);
  const auto why_not = collect<Text>(rows, [&](const Record& row) { return why_not_repeatable(row, data); });
  std::vector<Text> commands;
  commands.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    commands.push_back(why_not[i].empty() ? reproduce_command(rows[i]) : "");
  list.push_back(columns.texts("reproduce", commands));
  list.push_back(columns.texts("not_repeatable", why_not));
  add_identity(list, columns, all, rows, comparable);
  return {{"n", rows.size()}, {"columns", std::move(list)}};
}

using Codes = std::vector<std::uint16_t>;

struct Bin {
  std::uint16_t least, median, greatest;
};

Codes fewer_quantiles(const Codes& all, std::size_t most) {
  if (all.size() <= most || most < 2) return most < 2 ? Codes() : all;
  Codes few;
  for (std::size_t i = 0; i < most; ++i) few.push_back(all[(i * (all.size() - 1) + (most - 1) / 2) / (most - 1)]);
  return few;
}

std::vector<Bin> fewer_bins(const Codes& all, std::size_t most) {
  const std::size_t n = all.size() / 3, count = std::min(n, most);
  std::vector<Bin> bins;
  for (std::size_t bin = 0; bin < count; ++bin) {
    Bin joined{0xFFFF, 0, 0};
    Codes medians;
    for (std::size_t i = bin * n / count; i < (bin + 1) * n / count; ++i) {
      if (all[3 * i] > all[3 * i + 2]) continue;  // empty
      joined.least = std::min(joined.least, all[3 * i]);
      joined.greatest = std::max(joined.greatest, all[3 * i + 2]);
      medians.push_back(all[3 * i + 1]);
    }
    std::ranges::sort(medians);
    if (!medians.empty()) joined.median = medians[(medians.size() - 1) / 2];
    bins.push_back(joined);
  }
  return bins;
}

// Appends the differences between neighbours.
template <class Values, class Get>
void append_differences(Codes& codes, const Values& values, Get get) {
  std::uint16_t last = 0;
  for (const auto& value : values) {
    const std::uint16_t code = get(value);
    codes.push_back(static_cast<std::uint16_t>(code - last));
    last = code;
  }
}

void add_shapes(Json& header, Columns& columns, const Dataset& data, const std::vector<Record>& rows,
                const Detail& detail) {
  std::map<std::int64_t, std::size_t> cell_of;
  for (std::size_t i = 0; i < rows.size() && i < data.ids.size(); ++i) cell_of[data.ids[i]] = i;
  constexpr std::array<std::string_view, 11> kNames{"cell",   "launch",  "kind",      "samples",          "steady",
                                                    "low_ns", "high_ns", "window_ns", "first_steady_bin", "quantiles",
                                                    "bins"};
  std::array<std::vector<Count>, kNames.size()> values;
  Codes quantiles, bins;
  std::size_t n = 0;
  for (const SampleDistribution& distribution : data.distributions) {
    const auto cell = cell_of.find(distribution.result_id);
    if (detail.quantiles == 0 || cell == cell_of.end()) continue;
    if (detail.shapes_of_ranked_only && !rows[cell->second].ranked()) continue;
    const Codes few = fewer_quantiles(distribution.quantiles, detail.quantiles);
    const std::vector<Bin> coarse = fewer_bins(distribution.bins, detail.bins);
    const std::size_t all_bins = std::max<std::size_t>(1, distribution.bins.size() / 3);
    const std::int64_t first_steady =
        distribution.first_steady_bin * static_cast<std::int64_t>(coarse.size()) / static_cast<std::int64_t>(all_bins);
    const std::array<std::int64_t, kNames.size()> row{static_cast<std::int64_t>(cell->second),
                                                      distribution.launch_number,
                                                      static_cast<std::int64_t>(distribution.kind),
                                                      distribution.samples,
                                                      distribution.steady,
                                                      distribution.low_ns,
                                                      distribution.high_ns,
                                                      distribution.window_ns,
                                                      first_steady,
                                                      static_cast<std::int64_t>(few.size()),
                                                      static_cast<std::int64_t>(coarse.size())};
    for (std::size_t i = 0; i < row.size(); ++i) values[i].emplace_back(row[i]);
    append_differences(quantiles, few, [](std::uint16_t code) { return code; });
    append_differences(bins, coarse, [](const Bin& bin) { return bin.least; });
    append_differences(bins, coarse, [](const Bin& bin) { return bin.median; });
    append_differences(bins, coarse, [](const Bin& bin) { return bin.greatest; });
    ++n;
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < kNames.size(); ++i) list.push_back(columns.integers(kNames[i], values[i]));
  header["distributions"] = {{"n", n}, {"columns", std::move(list)}};
  header["quantiles"] = columns.codes(quantiles);
  header["bins"] = columns.codes(bins);
}

Json runs_json(const Dataset& data) {
  Json list = Json::array();
  for (const RunFacts& run : data.runs)
    list.push_back({{"run_id", run.run_id},
                    {"started", run.started},
                    {"command", run.command},
                    {"host", run.host},
                    {"machine", run.machine},
                    {"tool_version", run.tool_version},
                    {"git_commit", run.git_commit},
                    {"environment", run.environment},
                    {"cells", run.cells},
                    {"score", run.score ? Json(*run.score) : Json()}});
  return list;
}

Json machines_json(const Dataset& data) {
  Json list = Json::array();
  for (const MachineFacts& machine : data.machines)
    list.push_back({{"hardware_id", machine.hardware_id},
                    {"host", machine.host},
                    {"processor", machine.processor},
                    {"info", machine.info},
                    {"first_seen", machine.first_seen},
                    {"last_seen", machine.last_seen}});
  return list;
}

Json peaks_json(const Dataset& data) {
  Json list = Json::array();
  for (const MachinePeak& peak : data.peaks)
    list.push_back({{"hardware_id", peak.hardware_id},
                    {"hardware", peak.hardware},
                    {"device", peak.device},
                    {"precision", peak.precision},
                    {"engine", peak.engine},
                    {"engine_version", peak.engine_version},
                    {"flops_per_s", peak.flops_per_s},
                    {"bytes_per_s", peak.bytes_per_s},
                    {"threads", peak.threads},
                    {"measured_at", peak.measured_at}});
  return list;
}

// In the order of the charts: the page keeps it everywhere.
Json targets_json(const std::vector<Record>& rows) {
  Json list = Json::array();
  for (const chart::Look& look : chart::looks_of(rows)) {
    const auto row = std::ranges::find(rows, look.name, target_key);
    list.push_back({{"key", look.name}, {"hardware", row->hardware}, {"engine", row->engine}, {"marker", look.marker}});
  }
  return list;
}

Json fields_json() {
  Json list = Json::array();
  for (const Field& field : result_fields())
    list.push_back({{"name", field.name}, {"unit", field.unit}, {"meaning", field.meaning}});
  return list;
}

}  // namespace

std::string detail_words(const Detail& detail) {
  const Detail full;
  std::vector<std::string> words;
  if (detail.quantiles == 0)
    words.emplace_back("no distributions of samples");
  else if (detail.quantiles < full.quantiles)
    words.push_back(std::to_string(detail.quantiles) + " quantiles and " + std::to_string(detail.bins) +
                    " bins of each launch" + (detail.shapes_of_ranked_only ? " of ranked cells" : ""));
  if (detail.history_points != full.history_points)
    words.push_back("the last " + std::to_string(detail.history_points) + " results of each series");
  if (!detail.charts) words.emplace_back("no charts of models");
  if (detail.cells != full.cells) words.push_back("the newest " + std::to_string(detail.cells) + " cells");
  std::string text;
  for (const std::string& part : words) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "full" : text;
}

std::string document(const Dataset& data, const Analysis& analysis, std::span<const PageChart> charts,
                     const Detail& detail) {
  // The names that the analysis uses.
  const std::vector<Record> all = with_names_of_models(data.cells);
  const std::vector<Record> rows(all.begin(),
                                 all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), detail.cells)));
  Columns columns;
  Numbers comparable;
  Json cells = cells_json(columns, data, all, rows, comparable);
  Json history = history_json(columns, data, all, comparable, detail.history_points);
  Json header{{"schema", "assay-dashboard 1"},
              {"made_at", data.made_at},
              {"source", data.source},
              {"tool", "assay " ASSAY_VERSION},
              {"detail", detail_words(detail)},
              {"left_out", data.left_out + data.cells.size() - rows.size()},
              {"fields", fields_json()},
              {"cells", std::move(cells)},
              {"history", std::move(history)},
              {"series", data.series},
              {"runs", runs_json(data)},
              {"machines", machines_json(data)},
              {"peaks", peaks_json(data)},
              {"targets", targets_json(rows)},
              {"analysis", analysis_json(data, analysis, rows.size())}};
  add_shapes(header, columns, data, rows, detail);
  Json pictures = Json::object(), missing = Json::object();
  std::size_t dropped = 0;
  for (const PageChart& one : charts) {
    if (one.chart.contains("missing"))
      missing[one.name] = one.chart;
    else if (detail.charts || one.chart["option"]["dataset"]["source"].size() < 2)
      pictures[one.name] = one.chart;
    else
      ++dropped;
  }
  header["charts"] = std::move(pictures);
  header["missing_charts"] = std::move(missing);
  header["charts_left_out"] = dropped;
  header["themes"] = themes_json();
  return columns.finish(std::move(header));
}

}  // namespace assay::dashboard
