// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "report/report.hpp"

namespace assay {
namespace {

// RFC 4180: quoted when it holds a separator, a quote or a line break. A leading = + - @ would be run as a formula by
// spreadsheets, so text that starts so is quoted behind an apostrophe; numbers are left alone.
std::string csv_cell(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_string()) return value.dump();
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

struct CsvLine {
  std::vector<std::string> cells;
  std::size_t number = 0;  ///< of the file's line it begins on
};

Result<std::vector<CsvLine>> parse_csv(std::string_view text, const std::string& name) {
  std::vector<CsvLine> lines;
  CsvLine line;
  std::string cell;
  std::size_t number = 1;
  bool quoted = false, any = false;
  line.number = number;
  const auto end_cell = [&] {
    line.cells.push_back(std::move(cell));
    cell.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++number;
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"')
        cell += text[++i];
      else if (c == '"')
        quoted = false;
      else
        cell += c;
    } else if (c == '"' && cell.empty()) {
      quoted = any = true;
    } else if (c == ',') {
      end_cell();
      any = true;
    } else if (c == '\n') {
      if (any || !cell.empty()) {
        end_cell();
        lines.push_back(std::move(line));
      }
      line = {};
      line.number = number;
      any = false;
    } else if (c != '\r') {
      cell += c;
      any = true;
    }
  }
  if (quoted)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: line {}: a quote is never closed", name, line.number));
  if (any || !cell.empty()) {
    end_cell();
    lines.push_back(std::move(line));
  }
  return lines;
}

// What a cell of text means for a field: numbers where the field is one.
Json csv_value(const Field& field, const std::string& text) {
  if (text.empty()) return nullptr;
  if (field.sql_type == "BIGINT") {
    if (const auto number = parse_number<std::int64_t>(text)) return *number;
  } else if (field.sql_type == "DOUBLE") {
    if (const auto number = parse_number<double>(text)) return *number;
  } else if (text.size() > 1 && text[0] == '\'' && std::string_view("=+-@\t").find(text[1]) != std::string_view::npos) {
    return text.substr(1);
  }
  return text;
}

}  // namespace

std::string csv_table(std::span<const Record> rows) {
  std::string text;
  for (const Field& field : result_fields()) text += (text.empty() ? "" : ",") + std::string(field.name);
  text += "\n";
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

Result<std::vector<Record>> read_csv(const std::filesystem::path& path) {
  ASSAY_TRY(const std::string text, read_file(path));
  ASSAY_TRY(const std::vector<CsvLine> lines, parse_csv(text, path.string()));
  if (lines.empty())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: empty: a heading was expected", path.string()));
  std::vector<const Field*> fields;
  for (const std::string& name : lines.front().cells) fields.push_back(find_field(name));
  std::vector<Record> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const CsvLine& line = lines[i];
    if (line.cells.size() != fields.size())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: line {} has {} cells, the heading has {}", path.string(), line.number,
                              line.cells.size(), fields.size()));
    Record row;
    for (std::size_t c = 0; c < fields.size(); ++c) {
      if (fields[c] == nullptr) continue;
      ASSAY_CHECK_OK(with_context(set_field(row, *fields[c], csv_value(*fields[c], line.cells[c])),
                                  fmt::format("while reading line {} of {}", line.number, path.string())));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace assay
