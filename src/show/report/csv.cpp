// SPDX-License-Identifier: Apache-2.0
#include "show/report/csv_cell.hpp"
#include "show/report/report.hpp"

namespace assay {

std::string csv_cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return json_text(value);
  std::string text = value.get<std::string>();
  if (!text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string csv_table(std::span<const Record> rows) {
  std::string text;
  for (const Field& field : result_fields()) text += (text.empty() ? "" : ",") + std::string(field.name);
  text += '\n';
  for (const Record& row : rows) {
    bool first = true;
    for (const Field& field : result_fields()) {
      if (!first) text += ',';
      first = false;
      text += csv_cell(field_value(row, field));
    }
    text += '\n';
  }
  return text;
}

}  // namespace assay
