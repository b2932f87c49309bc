// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "history/exchange/readers.hpp"

namespace assay::exchange {
namespace {

/// RFC 4180, one record after the other.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] int line() const { return line_; }  ///< The first line of the record that was read last.
  /// nullopt: a quote is not closed.
  [[nodiscard]] std::optional<std::vector<std::string>> next() {
    line_ = next_line_;
    std::vector<std::string> values;
    while (true) {
      std::optional<std::string> value = cell();
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
      if (at_end()) return values;
      const char separator = text_[at_++];
      if (separator == ',') continue;
      if (separator == '\r' && !at_end() && text_[at_] == '\n') ++at_;
      ++next_line_;
      return values;
    }
  }

 private:
  std::optional<std::string> cell() {
    std::string value;
    if (at_end() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      value = text_.substr(at_, end - at_);
      at_ = end;
      return value;
    }
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (at_end() || text_[at_] != '"') return value;
      }
      if (text_[at_] == '\n') ++next_line_;
      value += text_[at_];
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, next_line_ = 1;
};

/// An apostrophe before = + - @ keeps spreadsheets from running text as a formula (show/report/csv.cpp).
std::string without_apostrophe(std::string text) {
  constexpr std::string_view kGuarded = "=+-@\t";
  if (text.size() > 1 && text.front() == '\'' && kGuarded.find(text[1]) != std::string_view::npos) text.erase(0, 1);
  return text;
}

std::optional<Json> csv_value(const Field& field, const std::string& text) {
  if (text.empty()) return Json();
  if (field.sql_type == "VARCHAR") return Json(without_apostrophe(text));
  const auto number = parse_number<double>(text);
  if (!number) return std::nullopt;
  if (field.sql_type == "DOUBLE") return Json(*number);
  const auto integer = parse_number<std::int64_t>(text);
  return integer ? std::optional(Json(*integer)) : std::nullopt;
}

}  // namespace

Result<ResultsFile> read_csv(const Source& source) {
  CsvReader reader(source.text);
  const auto heading = reader.next();
  if (!heading) return bad_file(source, "line 1: a quote is not closed");
  std::vector<const Field*> fields;
  fields.reserve(heading->size());
  for (const std::string& name : *heading) fields.push_back(find_field(trim(name)));
  const bool ours = std::ranges::find(fields, find_field("verification")) != fields.end();
  ResultsFile file;
  while (!reader.at_end()) {
    const auto values = reader.next();
    if (!values) return bad_file(source, fmt::format("line {}: a quote is not closed", reader.line()));
    if (values->size() == 1 && values->front().empty()) continue;
    if (values->size() != fields.size())
      return bad_file(source, fmt::format("line {} has {} values, and the heading has {}", reader.line(),
                                          values->size(), fields.size()));
    Record row = ours ? Record{} : foreign_row("");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i] == nullptr) continue;
      const std::optional<Json> value = csv_value(*fields[i], (*values)[i]);
      if (!value)
        return bad_file(source, fmt::format("line {}: {} is not a number, and {} is one", reader.line(),
                                            shown((*values)[i]), fields[i]->name));
      if (value->is_null() && !ours) continue;
      ASSAY_CHECK_OK(with_context(set_field(row, *fields[i], *value),
                                  fmt::format("while reading line {} of '{}'", reader.line(), source.path.string())));
    }
    if (!ours) {
      const Record named = foreign_row(row.model);
      row.model_id = named.model_id;
      row.weights_hash = named.weights_hash;
      row.engine = row.framework;
      row.hardware = canonical_hardware(row.device_type);
      row.precision = row.dtype;
      row.timestamp = iso_time(row.timestamp);
    }
    file.rows.push_back({std::move(row), {}, fmt::format("line {}", reader.line())});
  }
  if (file.rows.empty()) return bad_file(source, "it has a heading and no results");
  if (!file.rows.front().record.run_id.empty()) {
    const Record& first = file.rows.front().record;
    file.run.run_id = first.run_id;
    file.run.host = first.host;
    file.run.tool_version = first.tool_version;
    file.run.git_commit = first.git_commit;
    file.run.hardware_fingerprint = first.hardware_id;
  }
  return file;
}

}  // namespace assay::exchange
