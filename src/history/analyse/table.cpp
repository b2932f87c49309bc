// SPDX-License-Identifier: Apache-2.0
#include "history/analyse/table.hpp"

#include <fmt/format.h>

#include <cmath>

#include "history/analyse/analyse.hpp"

namespace assay {
namespace {

Json json_of(const TableValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr || !std::isfinite(*number)) return nullptr;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (*number == std::floor(*number) && std::abs(*number) < kExact) return static_cast<std::int64_t>(*number);
  return *number;
}

}  // namespace

TableValue value_of(const Number& number) {
  return number && std::isfinite(*number) ? TableValue(*number) : TableValue();
}
TableValue value_of(const Count& count) { return count ? TableValue(static_cast<double>(*count)) : TableValue(); }

std::string heading_of(const Column& column) {
  std::string in_brackets = column.unit;
  if (column.better != Better::kNeither)
    in_brackets += fmt::format("{}{} is better", in_brackets.empty() ? "" : ", ",
                               column.better == Better::kLower ? "lower" : "higher");
  return in_brackets.empty() ? column.heading : fmt::format("{} ({})", column.heading, in_brackets);
}

std::string show(const TableValue& value, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&value)) return text->empty() ? "–" : *text;
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? "–" : in_words(*number, column.digits);
}

Json rows_json(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<TableValue>& row : table.rows) {
    Json object = Json::object();
    for (std::size_t c = 0; c < table.columns.size(); ++c) object[table.columns[c].key] = json_of(row.at(c));
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace assay
