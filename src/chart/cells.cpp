// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyse/analyse.hpp"
#include "chart/charts.hpp"
#include "store/dataset.hpp"

namespace assay::chart {
namespace {

// What all rows say, or "".
template <class Get>
std::string common(std::span<const Record* const> rows, Get get) {
  std::string value;
  for (const Record* row : rows) {
    const std::string own = get(*row);
    if (own.empty()) continue;
    if (value.empty()) value = own;
    if (value != own) return "";
  }
  return value;
}

}  // namespace

Cells cells_of(const Input& input) {
  Cells cells;
  cells.rows = with_distinct_names(input.data->cells);
  if (!input.model.empty())
    std::erase_if(cells.rows,
                  [&](const Record& row) { return row.model != input.model && row.model_id != input.model; });
  // Times of different machines are never in one picture: that of the newest cell stays.
  std::map<std::string, std::size_t> others;
  if (!cells.rows.empty()) {
    const Record& newest = *std::ranges::max_element(cells.rows, {}, &Record::timestamp);
    const std::string kept = newest.hardware_id;
    cells.machine = newest.host;
    std::erase_if(cells.rows, [&](const Record& row) {
      if (row.hardware_id == kept) return false;
      ++others[row.host];
      return true;
    });
  }
  for (const auto& [host, count] : others)
    cells.notes.push_back(fmt::format("Not shown: {} cells of the machine {}.", count, host));
  if (input.data->left_out > 0)
    cells.notes.push_back(
        fmt::format("Not shown: {} older cells; a filter such as --model selects fewer.", input.data->left_out));
  cells.models = models_of(cells.rows);
  return cells;
}

std::string common_words(std::span<const Record* const> rows) {
  std::string words;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) words += (words.empty() ? "" : " · ") + part;
  };
  const std::string batch =
      common(rows, [](const Record& row) { return row.batch_size ? fmt::format("batch {}", *row.batch_size) : ""; });
  add(batch);
  add(common(rows, [](const Record& row) {
    return row.sequence_length ? fmt::format("{} tokens", *row.sequence_length) : "";
  }));
  add(common(rows, [](const Record& row) { return row.precision; }));
  add(common(rows, [](const Record& row) { return row.host; }));
  std::int64_t most = 0;
  std::string newest;
  for (const Record* row : rows) {
    most = std::max(most, row->launches.value_or(0));
    newest = std::max(newest, row->timestamp.substr(0, 10));
  }
  if (most > 0) add(fmt::format("{} {}", most, most == 1 ? "launch" : "launches"));
  add(newest);
  return words;
}

}  // namespace assay::chart
