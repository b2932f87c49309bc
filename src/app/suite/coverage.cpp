// SPDX-License-Identifier: Apache-2.0
#include "app/suite/coverage.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "history/store/store.hpp"
#include "models/model/classify.hpp"
#include "models/zoo/catalogue/architecture.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

std::string reference_of(const zoo::Architecture& architecture, const std::string& size) {
  if (size == "tiny") return "zoo:" + architecture.name;
  if (zoo::find_known(architecture.name)) return "zoo:" + architecture.name;
  const std::vector<zoo::KnownModel> published = zoo::published(architecture.name);
  return published.empty() ? "zoo:" + architecture.name : published.front().id;
}

std::string text(const Json& cell) { return cell.is_string() ? cell.get<std::string>() : ""; }

/// `refused_by`: the version of assay that refused the cell, or that it failed with; empty for one that has a result.
std::string name_of(const std::string& series, const std::string& version, const std::string& refused_by) {
  return join({series, version, refused_by}, "\n");
}

bool listed(const std::vector<std::string>& words, const std::string& word) {
  return words.empty() || std::ranges::find(words, word) != words.end();
}

}  // namespace

Result<std::vector<ModelChoice>> coverage_models(const std::vector<std::string>& categories,
                                                 const std::vector<std::string>& models, const std::string& size) {
  const std::vector<std::string>& known = model_categories();
  for (const std::string& category : categories)
    if (std::ranges::find(known, category) == known.end())
      return unknown_word("--benchmark-category: unknown category", category, known);
  std::vector<ModelChoice> chosen;
  std::vector<std::string> names;
  for (const zoo::Architecture& architecture : zoo::architectures()) {
    names.push_back(architecture.name);
    if (!listed(categories, architecture.category) || !listed(models, architecture.name)) continue;
    ModelChoice choice;
    choice.name = architecture.name;
    choice.reference = reference_of(architecture, size);
    choice.family = architecture.family;
    choice.category = architecture.category;
    choice.from_set = true;
    chosen.push_back(std::move(choice));
  }
  for (const std::string& model : models)
    if (std::ranges::find(names, model) == names.end())
      return unknown_word("--model: unknown architecture", model, names);
  if (chosen.empty())
    return fail(ErrorCode::kInvalidArgument, "no architecture that is built belongs to these categories and models",
                "`assay zoo list` shows them");
  return chosen;
}

bool is_architecture(const std::string& name) {
  const auto& all = zoo::architectures();
  return std::ranges::find(all, name, &zoo::Architecture::name) != all.end();
}

std::size_t architectures_not_built() { return zoo::catalogue().planned.size(); }

Status Covered::read_series(Store& store, const std::string& machine) {
  ASSAY_TRY(const duckdb::Rows rows, store.ask("coverage_done", {{"machine", machine}}));
  const std::size_t series = rows.column("series_key"), version = rows.column("engine_version"),
                    failed = rows.column("failed"), refused_by = rows.column("refused_by");
  for (const auto& row : rows.rows) {
    if (!row.at(series).is_string()) continue;
    const std::string name = name_of(text(row.at(series)), text(row.at(version)), text(row.at(refused_by)));
    if (row.at(failed).is_boolean() && row.at(failed).get<bool>()) {
      failed_.insert(name);
    } else {
      results_.insert(name);
      series_.insert(text(row.at(series)));
    }
  }
  return {};
}

Result<Covered> Covered::read(const fs::path& database, const std::string& machine) {
  Covered covered;
  if (is_empty_or_absent(database)) return covered;
  ASSAY_TRY(Store store, Store::open(database, Store::Mode::kRead));
  ASSAY_CHECK_OK(covered.read_series(store, machine));
  return covered;
}

Result<Covered> Covered::older_than(const fs::path& database, const std::string& machine, double days) {
  Covered covered;
  covered.by_version_ = false;
  if (is_empty_or_absent(database)) return covered;
  const auto age =
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double, std::ratio<86400>>(days));
  ASSAY_TRY(Store store, Store::open(database, Store::Mode::kRead));
  ASSAY_CHECK_OK(covered.read_series(store, machine));
  ASSAY_TRY(const duckdb::Rows rows,
            store.ask("coverage_stale", {{"machine", machine}, {"before", iso8601(wall_now() - age)}}));
  ASSAY_TRY(const std::vector<Record> records, rows.records());
  for (const Record& record : records) covered.old_.insert(record.series_key);
  return covered;
}

bool Covered::has_result(const Record& row) const {
  return results_.contains(name_of(row.series_key, row.engine_version, "")) ||
         results_.contains(name_of(row.series_key, row.engine_version, row.tool_version));
}

bool Covered::has_failed(const Record& row) const {
  return !has_result(row) && failed_.contains(name_of(row.series_key, row.engine_version, row.tool_version));
}

bool Covered::has(const Record& row) const {
  return by_version_ ? has_result(row) || has_failed(row) : old_.contains(row.series_key);
}

}  // namespace assay::suite
