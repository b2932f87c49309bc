// SPDX-License-Identifier: Apache-2.0
#include "history/store/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "history/store/distribution_codec.hpp"
#include "history/store/history_point.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace {

using duckdb::Rows;

/// Names, each once, by which others are found.
class Indices {
 public:
  explicit Indices(std::vector<std::string>& names) : names_(names) {
    for (const std::string& name : names) places_.try_emplace(name, static_cast<std::uint32_t>(places_.size()));
  }
  std::uint32_t add(const std::string& name) {
    const auto [found, added] = places_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t> places_;
};

Json parameters_of(const Selection& selection) {
  Json parameters{{"models", selection.models},         {"families", selection.families},
                  {"categories", selection.categories}, {"architectures", selection.architectures},
                  {"hardware", selection.hardware},     {"engines", selection.engines},
                  {"precisions", selection.precisions}, {"runs", selection.runs},
                  {"machines", selection.machines},     {"most", selection.most_cells}};
  if (selection.batch_size) parameters["batch_size"] = *selection.batch_size;
  if (selection.sequence_length) parameters["sequence_length"] = *selection.sequence_length;
  if (selection.since) parameters["since"] = iso8601(*selection.since);
  if (selection.until) parameters["until"] = iso8601(*selection.until);
  return parameters;
}

std::string text(const Json& cell) { return cell.is_string() ? cell.get<std::string>() : std::string(); }
/// The document in a column of text; null if there is none.
Json document(const Json& cell) {
  Result<Json> read = parse_json(text(cell), "a column of the database");
  return read ? std::move(*read) : Json();
}

Status read_cells(Store& store, const Selection& selection, Dataset& data) {
  ASSAY_TRY(const Rows rows, store.ask("cells_latest", parameters_of(selection)));
  ASSAY_TRY(data.cells, rows.records());
  const std::size_t id = rows.column("result_id"), matching = rows.column("matching");
  for (const auto& row : rows.rows) data.ids.push_back(row[id].get<std::int64_t>());
  if (!rows.rows.empty()) data.left_out = rows.rows[0][matching].get<std::size_t>() - rows.rows.size();
  Indices series(data.series);
  for (const Record& cell : data.cells) series.add(cell.series_key);
  return {};
}

/// What came after the last of the cells does not belong to their history, if the selection names runs or an end.
double end_of_history(const Selection& selection, const Dataset& data) {
  double end = selection.runs.empty() && !selection.until ? std::numeric_limits<double>::infinity() : 0;
  for (const Record& cell : data.cells) end = std::max(end, history_point(cell).time_s);
  return end;
}

Status read_history(Store& store, const Selection& selection, Dataset& data, std::vector<std::string>& runs) {
  ASSAY_TRY(const Rows rows, store.ask("series_history", {{"series", data.series}}));
  ASSAY_TRY(const std::vector<Record> records, rows.records());
  const std::size_t id = rows.column("result_id");
  Indices series(data.series), versions(data.versions), run_places(runs);
  RefusalIndices refusals(data.refusals);
  const double end = end_of_history(selection, data);
  for (std::size_t i = 0; i < records.size(); ++i) {
    HistoryPoint point = history_point(records[i]);
    if (point.time_s > end) continue;
    point.series = series.add(records[i].series_key);
    point.result_id = rows.rows[i][id].get<std::int64_t>();
    point.run = run_places.add(records[i].run_id);
    point.version = versions.add(version_words(records[i]));
    point.refusal = refusals.add(records[i]);
    data.history.push_back(point);
  }
  std::ranges::stable_sort(data.history, {}, [](const HistoryPoint& p) { return std::pair(p.series, p.time_s); });
  return {};
}

/// `ids` are those that cells and points of the history name, in the order of the points' indices. The indices become
/// those of Dataset::runs.
Status read_runs(Store& store, Dataset& data, const std::vector<std::string>& ids) {
  ASSAY_TRY(const Rows rows, store.ask("runs", {{"runs", ids}}));
  std::map<std::string, std::uint32_t> places;
  const auto add = [&](RunFacts run) {
    places.try_emplace(run.run_id, static_cast<std::uint32_t>(data.runs.size()));
    data.runs.push_back(std::move(run));
  };
  for (const auto& row : rows.rows) {
    const auto at = [&](const char* name) -> const Json& { return row[rows.column(name)]; };
    if (ids.empty()) break;
    RunFacts run{text(at("run_id")),
                 text(at("started")),
                 text(at("command")),
                 text(at("host")),
                 text(at("hardware_id")),
                 text(at("tool_version")),
                 text(at("git_commit")),
                 document(at("environment")),
                 at("cells").get<std::int64_t>(),
                 {}};
    if (at("score").is_number_integer()) run.score = at("score").get<int>();
    add(std::move(run));
  }
  // Results whose run is not known, such as those without a run, have a run with nothing but its id.
  for (const std::string& id : ids)
    if (!places.contains(id)) {
      RunFacts unknown;
      unknown.run_id = id;
      add(std::move(unknown));
    }
  for (HistoryPoint& point : data.history) point.run = places.at(ids.at(point.run));
  return {};
}

Status read_peaks(Store& store, Dataset& data) {
  ASSAY_TRY(const Rows rows, store.ask("machine_peaks"));
  for (const auto& row : rows.rows) {
    const auto at = [&](const char* name) -> const Json& { return row[rows.column(name)]; };
    const auto number = [&](const char* name) { return at(name).is_number() ? at(name).get<double>() : 0.0; };
    data.peaks.push_back({text(at("hardware_id")), text(at("hardware")), text(at("device")), text(at("precision")),
                          text(at("engine")), text(at("engine_version")), number("flops_per_s"), number("bytes_per_s"),
                          static_cast<std::int64_t>(number("threads")), text(at("measured_at"))});
  }
  return {};
}

Status read_distributions(Store& store, Dataset& data) {
  Json results = Json::array();
  std::map<std::int64_t, std::vector<SampleDistribution>> distributions;
  for (const std::int64_t id : data.ids) results.push_back(std::to_string(id));
  if (results.empty()) return {};
  ASSAY_TRY(const Rows rows, store.ask("sample_distributions_of", {{"results", results}}));
  for (const auto& row : rows.rows) {
    const auto number = [&](const char* name) { return row[rows.column(name)].get<std::int64_t>(); };
    distributions[number("result_id")].push_back(
        {number("result_id"), number("launch_number"), static_cast<SampleKind>(number("kind")), number("samples"),
         number("steady"), number("low_ns"), number("high_ns"), number("window_ns"), number("first_steady_bin"),
         codes_of_hex(text(row[rows.column("quantiles")])), codes_of_hex(text(row[rows.column("bins")]))});
  }
  for (const std::int64_t id : data.ids) std::ranges::move(distributions[id], std::back_inserter(data.distributions));
  return {};
}

Status read_machines(Store& store, Dataset& data) {
  ASSAY_TRY(const Rows rows, store.ask("machines"));
  for (const auto& row : rows.rows) {
    const auto at = [&](const char* name) -> const Json& { return row[rows.column(name)]; };
    const std::string id = text(at("hardware_id"));
    if (std::ranges::find(data.cells, id, &Record::hardware_id) == data.cells.end()) continue;
    data.machines.push_back({id, text(at("host")), text(at("processor")), document(at("info")), text(at("first_seen")),
                             text(at("last_seen"))});
  }
  return {};
}

}  // namespace

std::string version_words(const Record& record) {
  return fmt::format("{} {}, assay {}", record.engine, record.engine_version.empty() ? "?" : record.engine_version,
                     record.tool_version.empty() ? "?" : record.tool_version);
}

Result<Dataset> read_dataset(Store& store, const Selection& selection) {
  Dataset data;
  data.source = store.path().filename().string();
  data.made_at = iso8601(wall_now());
  ASSAY_CHECK_OK(read_cells(store, selection, data));
  std::vector<std::string> runs;
  if (selection.history) ASSAY_CHECK_OK(read_history(store, selection, data, runs));
  Indices run_places(runs);
  for (const Record& cell : data.cells) run_places.add(cell.run_id);
  ASSAY_CHECK_OK(read_runs(store, data, runs));
  ASSAY_CHECK_OK(read_machines(store, data));
  ASSAY_CHECK_OK(read_peaks(store, data));
  if (selection.distributions) ASSAY_CHECK_OK(read_distributions(store, data));
  return data;
}

}  // namespace assay
