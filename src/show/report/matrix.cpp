// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/result/newest.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "show/report/format.hpp"
#include "show/report/report.hpp"

namespace assay {
namespace {

std::string milliseconds(const std::string& iso) {
  // "…:56.789012Z" → "…:56.789Z"
  const std::size_t dot = iso.find('.');
  return dot == std::string::npos || iso.size() < dot + 5 ? iso : iso.substr(0, dot + 4) + "Z";
}

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// The name that the user gave, and the model that it stands for: `bert` of two sets is two models.
using Model = std::pair<std::string, std::string>;
Model model_of(const Record& row) { return {row.model, row.model_id}; }

// In order of first appearance.
std::vector<Model> distinct_models(std::span<const Record> rows) {
  std::vector<Model> models;
  for (const Record& row : rows)
    if (std::ranges::find(models, model_of(row)) == models.end()) models.push_back(model_of(row));
  return models;
}

// If a model's files changed, older rows with other files are left out. Its precision and its KV cache are other files,
// too, but of the same model: rows are compared with those that have the same.
std::vector<Record> of_newest_models(std::span<const Record> history) {
  const auto files_of = [](const Record& row) { return std::tuple(model_of(row), row.precision, row.kv_cache); };
  std::map<decltype(files_of(history[0])), const Record*> newest;
  for (const Record& row : history) {
    if (model_identity(row).empty()) continue;
    const Record*& kept = newest[files_of(row)];
    if (kept == nullptr || newness(*kept) <= newness(row)) kept = &row;
  }
  std::vector<Record> rows;
  std::copy_if(history.begin(), history.end(), std::back_inserter(rows), [&](const Record& row) {
    const auto found = newest.find(files_of(row));
    const std::string identity = model_identity(row);
    return identity.empty() || found == newest.end() || identity == model_identity(*found->second);
  });
  return rows;
}

// The newest row of each cell. One that was only verified keeps the times of the newest that was measured.
std::vector<Record> latest(std::span<const Record> all) {
  const std::vector<Record> history = of_newest_models(all);
  using Cell = std::tuple<Model, std::string, std::string>;
  const auto cell_of = [](const Record& row) {
    return Cell{model_of(row), target_key(row), row.batch_size ? shape_key(row) : ""};
  };
  struct Newest {
    const Record* row = nullptr;
    const Record* measured = nullptr;
  };
  std::map<Cell, Newest> newest;
  for (const Record& row : history) {
    Newest& kept = newest[cell_of(row)];
    const auto take = [&](const Record*& slot) {
      if (slot == nullptr || newness(*slot) <= newness(row)) slot = &row;
    };
    take(kept.row);
    if (row.latency_mean_ms) take(kept.measured);
  }
  std::vector<Record> rows;
  for (const Record& row : history) {
    const Newest& kept = newest[cell_of(row)];
    if (kept.row != &row) continue;
    if (row.latency_mean_ms || row.status != CellStatus::kCompleted || kept.measured == nullptr) {
      rows.push_back(row);
      continue;
    }
    // Times keep their flags, interval and launches: they decide whether the cell is ranked, and what it is compared
    // with.
    Record& both = rows.emplace_back(*kept.measured);
    both.status = row.status;
    both.verification = row.verification;
    both.reason_code = row.reason_code;
    both.message = row.message;
    both.timestamp = row.timestamp;
  }
  return rows;
}

// false: a cell computed wrong numbers, or none ran and some failed or were refused; true: a cell's numbers are
// verified; null: it is unknown, or the reference proves nothing.
Json compatible(const std::vector<const Record*>& rows) {
  bool verified = false, tried = false;
  for (const Record* row : rows) {
    if (row->status == CellStatus::kWrong) return false;
    verified |= row->status == CellStatus::kCompleted && row->verification == Verification::kVerified;
    tried |= row->status == CellStatus::kFailed ||
             (row->status == CellStatus::kUnsupported && row->reason_code != Reason::kFixedShape);
  }
  return verified ? Json(true) : tried ? Json(false) : Json(nullptr);
}

bool has_means(const Record& row) { return row.ranked() && row.latency_mean_ms && row.throughput_ips; }

// Without options that a user sets to try something.
bool plain(const Record& row) {
  const bool usual_precision = row.precision.empty() || row.precision == "float32" || row.precision == "as_is";
  const bool usual_spin = row.spin.value_or(Spin::kRuntime) == Spin::kRuntime;
  return row.engine_options.empty() && unusual_shapes(row).empty() && row.streams.value_or(1) == 1 &&
         row.threads.value_or(0) == 0 && usual_spin && row.kv_cache.value_or(KvCache::kGrowing) == KvCache::kGrowing &&
         usual_precision;
}

// By model, the cells that every hardware with numbers has: a mean over them can be compared. Those with the default
// options, if there are any.
std::map<Model, std::vector<std::string>> cells_of_all_hardware(const std::vector<Record>& rows) {
  std::map<Model, std::vector<std::string>> common;
  for (const Model& model : distinct_models(rows)) {
    const auto counts = [&](const Record& row) { return model_of(row) == model && has_means(row); };
    const bool any_plain = std::ranges::any_of(rows, [&](const Record& row) { return counts(row) && plain(row); });
    std::map<std::string, std::set<std::string>> targets_of_cell;
    std::set<std::string> targets;
    for (const Record& row : rows) {
      if (!counts(row) || (any_plain && !plain(row))) continue;
      targets.insert(target_key(row));
      targets_of_cell[cell_key(row)].insert(target_key(row));
    }
    std::vector<std::string>& cells = common[model];
    for (const auto& [cell, having] : targets_of_cell)
      if (having.size() == targets.size()) cells.push_back(cell);
  }
  return common;
}

}  // namespace

std::string matrix_word(const std::string& target) {
  return target.starts_with("qnn") ? "qualcomm" + target.substr(3) : target;
}

Json compatibility_matrix(std::span<const Record> history, const RunInfo& run, const std::string& made_at) {
  const std::vector<Record> rows = latest(history);
  Json words = Json::array();
  for (const std::string& word : hardware_words()) words.push_back(matrix_word(word));
  Json families = Json::object();
  for (const std::string& family : families_of(rows)) {
    std::vector<Record> of_family;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_family),
                 [&](const Record& r) { return r.family == family; });
    const std::map<Model, std::vector<std::string>> common_cells = cells_of_all_hardware(of_family);
    Json hardware = Json::object();
    for (const std::string& target : targets_of(of_family)) {
      std::vector<const Record*> cells;
      for (const Record& row : of_family)
        if (target_key(row) == target) cells.push_back(&row);
      const auto rating = performance_rating(of_family, target);
      Json entry{{"compatible", compatible(cells)},
                 {"performance_rating", rating ? or_null(rating->rating) : Json(nullptr)},
                 {"performance_rating_words", rating ? Json(rating_words(*rating)) : Json(nullptr)},
                 {"times_slower", rating && rating->interval ? Json{{"estimate", rating->slower},
                                                                    {"low", rating->interval->low},
                                                                    {"high", rating->interval->high}}
                                                             : Json(nullptr)}};
      Json results = Json::array();
      for (const Model& model : distinct_models(of_family)) {
        Json statuses = Json::object();
        const std::vector<std::string>& common = common_cells.at(model);
        double latency = 0, throughput = 0;
        std::size_t n = 0;
        const Record* newest = nullptr;
        bool all_foreign = true;
        const auto newer = [&](const Record& row) {
          return newest == nullptr ||
                 std::tuple(plain(*newest), newness(*newest)) <= std::tuple(plain(row), newness(row));
        };
        for (const Record* row : cells) {
          if (model_of(*row) != model) continue;
          if (newer(*row)) newest = row;
          all_foreign = all_foreign && is_foreign(*row);
          statuses[row->batch_size ? shape_key(*row) : "model"] =
              row->status == CellStatus::kCompleted ? to_string(row->verification) : to_string(row->status);
          if (has_means(*row) && std::ranges::find(common, cell_key(*row)) != common.end()) {
            latency += *row->latency_mean_ms / 1e3;
            throughput += *row->throughput_ips;
            ++n;
          }
        }
        if (newest == nullptr) continue;
        const auto mean = [n](double sum) { return n == 0 ? Json(nullptr) : Json(sum / static_cast<double>(n)); };
        results.push_back({{"timestamp", milliseconds(newest->timestamp)},
                           {"model_name", model.first},
                           {"mean_latency", mean(latency)},
                           {"mean_throughput", mean(throughput)},
                           {"mean_of_cells", n},
                           {"model_id", or_null(newest->model_id)},
                           {"engine", newest->engine},
                           {"of_another_program", all_foreign},
                           {"engine_version", or_null(newest->engine_version)},
                           {"shapes", std::move(statuses)},
                           {"message", or_null(newest->message)},
                           {"flags", or_null(newest->flags.text())}});
      }
      entry["benchmark_results"] = std::move(results);
      hardware[matrix_word(target)] = std::move(entry);
    }
    families[family] = {{"hardware_compatibility", std::move(hardware)}};
  }
  return {{"schema_version", kReportSchema},
          {"timestamp", milliseconds(made_at)},
          {"host", run.host},
          {"hardware_id", or_null(run.hardware_fingerprint)},
          {"hardware_types", std::move(words)},
          {"units", {{"mean_latency", "s"}, {"mean_throughput", "items/s"}}},
          {"model_families", std::move(families)}};
}

}  // namespace assay
