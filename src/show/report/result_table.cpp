// SPDX-License-Identifier: Apache-2.0
#include "show/report/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "show/report/format.hpp"

namespace assay {
namespace {

const char* colour_of(const Record& row) {
  if (row.status == CellStatus::kWrong || row.status == CellStatus::kFailed) return "31";
  if (row.ranked()) return "32";
  if (row.status == CellStatus::kCompleted) return "33";
  return "2";
}

void drop_column(ResultTable& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.head.erase(table.head.begin() + at);
  for (auto& cells : table.cells) cells.erase(cells.begin() + at);
  if (column < table.first_number) --table.first_number;
}

std::vector<std::size_t> widths_of(const ResultTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    std::size_t most = columns_of(table.head[c]);
    for (const auto& cells : table.cells) most = std::max(most, columns_of(cells[c]));
    widths.push_back(most);
  }
  return widths;
}

std::size_t width_of(const ResultTable& table) {
  std::size_t sum = 2 * (table.head.size() - 1);
  for (const std::size_t width : widths_of(table)) sum += width;
  return sum;
}

// Removes optional columns until the table and its indent fit, and returns their names.
std::vector<std::string> drop_optional_columns(ResultTable& table, std::size_t width) {
  std::vector<std::string> dropped;
  for (const std::string& name : table.optional) {
    if (width_of(table) <= width) break;
    const auto column = std::ranges::find(table.head, name);
    if (column == table.head.end()) continue;
    drop_column(table, static_cast<std::size_t>(column - table.head.begin()));
    dropped.push_back(name);
  }
  return dropped;
}

}  // namespace

void ResultTable::drop_empty_columns(std::size_t from) {
  for (std::size_t column = head.size(); column-- > from;) {
    const auto empty = [&](const std::vector<std::string>& line) {
      return line[column].empty() || line[column] == "–" || line[column] == "none";
    };
    if (std::ranges::all_of(cells, empty)) drop_column(*this, column);
  }
}

bool ResultTable::fits(std::size_t width) const { return width_of(*this) <= width; }

std::string table_text(ResultTable table, std::span<const Record> rows, const Colours& colours, std::size_t width) {
  constexpr std::size_t kIndent = 2, kMessageIndent = 4;
  const bool grouped = width_of(table) > width;
  if (grouped) drop_column(table, 0);
  const std::vector<std::string> dropped =
      grouped ? drop_optional_columns(table, width - kIndent) : std::vector<std::string>();
  const std::vector<std::size_t> widths = widths_of(table);
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(grouped ? kIndent : 0, ' ');
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += (c > 0 ? "  " : "") + padded(cells[c], widths[c], c >= table.first_number);
    return text;
  };
  std::string out = colours("1", line(table.head)) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (grouped && (i == 0 || rows[i - 1].model != rows[i].model)) out += colours("1", rows[i].model) + "\n";
    out += colours(colour_of(rows[i]), line(table.cells[i])) + "\n";
    const std::string message = message_text(rows[i]);
    const bool repeated = i + 1 < rows.size() && rows[i + 1].message == rows[i].message &&
                          (!grouped || rows[i + 1].model == rows[i].model);
    if (!message.empty() && !rows[i].ranked() && !repeated)
      out += folded(std::string(kMessageIndent, ' '), message, kMessageIndent + 2, width);
  }
  if (!dropped.empty())
    out += folded("", fmt::format("Without room for: {}; the file of results has all columns.", join(dropped, ", ")), 2,
                  width);
  return out;
}

}  // namespace assay
