// SPDX-License-Identifier: Apache-2.0
#include "app/suite/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "core/traits/cell.hpp"
#include "show/report/format.hpp"

namespace assay::suite {
namespace {

struct Pair {
  const Record* before = nullptr;
  const Record* after = nullptr;

  [[nodiscard]] const Record& any() const { return after != nullptr ? *after : *before; }
};

std::string cell_words(const Record& row) {
  const std::string shape = shape_words(row);
  return fmt::format("{} on {}{}{}", row.model, target_key(row), shape.empty() ? "" : ", ", shape);
}

// Where a side has a cell several times, the newest counts.
void add_rows(const Side& side, const Record* Pair::*member, std::map<std::string, Pair>& pairs,
              std::vector<std::string>& order) {
  for (const exchange::ResultsFile& file : side.files) {
    for (const exchange::ReadRow& row : file.rows) {
      const std::string key =
          fmt::format("{}\n{}\n{}", row.record.model, target_key(row.record), shape_key(row.record));
      const auto [pair, added] = pairs.try_emplace(key);
      if (added) order.push_back(key);
      const Record*& held = pair->second.*member;
      if (held == nullptr || newness(*held) <= newness(row.record)) held = &row.record;
    }
  }
}

struct Measure {
  const char* what;
  double value;
};

// The guide's scripts give a mean and no median.
std::optional<Measure> time_of(const Record* row) {
  if (row == nullptr || row->status != CellStatus::kCompleted) return std::nullopt;
  if (row->latency_p50_ms && *row->latency_p50_ms > 0) return Measure{"median", *row->latency_p50_ms};
  if (row->latency_mean_ms && *row->latency_mean_ms > 0) return Measure{"mean", *row->latency_mean_ms};
  return std::nullopt;
}

TableValue verdict_of(const Record* row) { return row == nullptr ? TableValue() : TableValue(verdict_text(*row)); }

Table cells_table(const std::vector<Pair>& pairs) {
  Table table;
  table.columns = {{"model", "model", "", Better::kNeither},
                   {"hardware", "hardware", "", Better::kNeither},
                   {"shape", "shape", "", Better::kNeither},
                   {"verdict_before", "verdict before", "", Better::kNeither},
                   {"verdict_after", "verdict after", "", Better::kNeither},
                   {"latency_before_ms", "time before", "ms", Better::kLower, 4},
                   {"latency_after_ms", "time after", "ms", Better::kLower, 4},
                   {"time", "which time", "", Better::kNeither},
                   {"ratio", "after / before", "", Better::kLower},
                   {"difference", "difference", "", Better::kNeither}};
  for (const Pair& pair : pairs) {
    const std::optional<Measure> before = time_of(pair.before), after = time_of(pair.after);
    const bool same = before && after && std::string_view(before->what) == after->what;
    std::string difference;
    if (pair.before == nullptr)
      difference = "only after";
    else if (pair.after == nullptr)
      difference = "only before";
    else if (verdict_text(*pair.before) != verdict_text(*pair.after))
      difference = "another verdict";
    else
      difference = same ? "times not compared: different runs" : "none";
    table.rows.push_back({pair.any().model, target_key(pair.any()), shape_key(pair.any()), verdict_of(pair.before),
                          verdict_of(pair.after), before ? TableValue(before->value) : TableValue(),
                          after ? TableValue(after->value) : TableValue(),
                          same     ? TableValue(before->what)
                          : before ? TableValue(before->what)
                          : after  ? TableValue(after->what)
                                   : TableValue(),
                          same ? TableValue(after->value / before->value) : TableValue(), difference});
  }
  return table;
}

using Facts = std::map<std::string, std::string>;

void add_facts(const Json& value, const std::string& name, Facts& facts) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items())
      add_facts(inner, name.empty() ? key : fmt::format("{}.{}", name, key), facts);
    return;
  }
  if (!value.is_null()) facts[name] = value.is_string() ? value.get<std::string>() : json_text(value);
}

// Where a folder has several runs, each value stands once.
Facts environment_of(const Side& side) {
  std::map<std::string, std::set<std::string>> values;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) values[name].insert(value);
  };
  for (const exchange::ResultsFile& file : side.files) {
    add("host", file.run.host);
    add("assay", file.run.tool_version);
    add("git commit", file.run.git_commit);
    add("machine", file.run.hardware_fingerprint);
    Facts system;
    add_facts(file.run.system, "", system);
    for (const auto& [name, value] : system) add("system: " + name, value);
    for (const exchange::ReadRow& row : file.rows) add("version of " + row.record.engine, row.record.engine_version);
  }
  Facts facts;
  for (const auto& [name, each] : values) facts[name] = join({each.begin(), each.end()}, ", ");
  return facts;
}

Table environment_table(const Facts& before, const Facts& after) {
  Table table;
  table.columns = {{"what", "what", "", Better::kNeither},
                   {"before", "before", "", Better::kNeither},
                   {"after", "after", "", Better::kNeither}};
  std::set<std::string> names;
  for (const auto& [name, value] : before) names.insert(name);
  for (const auto& [name, value] : after) names.insert(name);
  const auto value_in = [](const Facts& facts, const std::string& name) {
    const auto found = facts.find(name);
    return found == facts.end() ? TableValue() : TableValue(found->second);
  };
  for (const std::string& name : names)
    if (value_in(before, name) != value_in(after, name))
      table.rows.push_back({name, value_in(before, name), value_in(after, name)});
  return table;
}

std::string because(const Record& row) { return row.message.empty() ? "" : ": " + message_text(row); }

}  // namespace

Document compare_folders(const Side& before, const Side& after, const std::string& made_at) {
  std::map<std::string, Pair> by_key;
  std::vector<std::string> order;
  add_rows(before, &Pair::before, by_key, order);
  add_rows(after, &Pair::after, by_key, order);
  std::vector<Pair> pairs;
  pairs.reserve(order.size());
  for (const std::string& key : order) pairs.push_back(by_key.at(key));

  Section changed{.heading = "What changed"}, only_before{.heading = fmt::format("Only in {}", before.name)},
      only_after{.heading = fmt::format("Only in {}", after.name)};
  std::size_t both = 0;
  for (const Pair& pair : pairs) {
    if (pair.before == nullptr) {
      only_after.points.push_back(fmt::format("{}: {}", cell_words(*pair.after), verdict_text(*pair.after)));
    } else if (pair.after == nullptr) {
      only_before.points.push_back(fmt::format("{}: {}", cell_words(*pair.before), verdict_text(*pair.before)));
    } else {
      ++both;
      const std::string was = verdict_text(*pair.before), is = verdict_text(*pair.after);
      if (was != is)
        changed.points.push_back(
            fmt::format("{}: {}, was {}{}", cell_words(*pair.after), is, was, because(*pair.after)));
    }
  }
  const std::size_t changes = changed.points.size();
  if (changes == 0) changed.paragraphs.emplace_back("No verdict and no status changed.");

  Section environments{.heading = "Differences of the environments",
                       .tables = {environment_table(environment_of(before), environment_of(after))}};
  if (environments.tables.front().rows.empty()) environments.paragraphs.emplace_back("The files name no difference.");

  Document document{
      .name = "comparison",
      .title = fmt::format("{} and {}", before.name, after.name),
      .answer = fmt::format(
          "{} of both folders: {} of verdict or status. Only before: {}; only after: {}. Times of different runs are "
          "shown with their ratio, and none is called different: only rounds of one run can show that (`assay run` "
          "with several --hardware or --engines).",
          counted(both, "cell"), counted(changes, "change"), only_before.points.size(), only_after.points.size()),
      .sections = {{.heading = "Cells", .tables = {cells_table(pairs)}},
                   std::move(changed),
                   std::move(only_before),
                   std::move(only_after),
                   std::move(environments)}};
  document.data = {{"source", fmt::format("{} and {}", before.name, after.name)},
                   {"made_at", made_at},
                   {"cells", pairs.size()},
                   {"before", before.name},
                   {"after", after.name},
                   {"changes", changes}};
  return document;
}

}  // namespace assay::suite
