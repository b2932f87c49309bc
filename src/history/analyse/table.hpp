// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/base/json.hpp"
#include "core/result/record.hpp"

namespace assay {

/// Which values of a column are good.
enum class Better { kNeither, kLower, kHigher };

/// A column of a table.
struct Column {
  std::string key;      ///< name for JSON and CSV: "latency_p50_ms"
  std::string heading;  ///< name for people: "median"
  std::string unit;     ///< "ms", "items/s", "MB"; "" if it has no unit
  Better better = Better::kNeither;
  int digits = 3;         ///< significant digits for people
  bool sentence = false;  ///< stands below its row on a terminal that is too narrow, instead of being omitted
};

/// A value of a table: absent, text, or a number.
using TableValue = std::variant<std::monostate, std::string, double>;

/// A table with names for its columns. Reports, charts and the terminal print the same tables; a chart shows no number
/// that is not in its table.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<TableValue>> rows;  ///< each row has one value for each column
};

/// A value that is absent if the number is.
[[nodiscard]] TableValue value_of(const Number& number);
[[nodiscard]] TableValue value_of(const Count& count);

/// "median (ms, lower is better)".
[[nodiscard]] std::string heading_of(const Column& column);

/// For people: "8.25", "–" for an absent value. Text is unchanged.
[[nodiscard]] std::string show(const TableValue& value, const Column& column);

/// A list with an object of each row, by the keys of the columns; absent values are null, whole numbers are integers.
[[nodiscard]] Json rows_json(const Table& table);

}  // namespace assay
