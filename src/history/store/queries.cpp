// SPDX-License-Identifier: Apache-2.0
#include "history/store/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "history/store/cells.hpp"

namespace assay::duckdb {
namespace {

constexpr QueryFile kQueries[] = {
#include "queries.inc"
};

/// The rest of the line that begins with `-- key:`.
std::string head_line(const QueryFile& file, std::string_view key) {
  const std::string start = fmt::format("\n-- {}:", key);
  const std::size_t at = file.sql.find(start);
  ASSAY_CHECK(at != std::string_view::npos, "a query without parameters, columns or budget in its head");
  const std::size_t from = at + start.size();
  return std::string(trim(file.sql.substr(from, file.sql.find('\n', from) - from)));
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string placeholder(const Query& query, std::string_view name) {
  if (name == "fields") return field_list();
  if (name == "imported") return imported_sql();
  if (name == "newest_first") return newest_first_sql("result_id");
  if (name == "clock_allowance") return fmt::format("INTERVAL {} HOUR", kClockAllowance.count());
  const auto found = std::ranges::find(query.parameters, name, &Query::Parameter::name);
  ASSAY_CHECK(found != query.parameters.end(), "a query uses a parameter that its head lacks");
  const auto place = found - query.parameters.begin() + 1;
  if (found->type.ends_with("[]")) return fmt::format("from_json(${}::JSON, '[\"VARCHAR\"]')", place);
  return fmt::format("${}::{}", place, found->type);
}

/// Without comments, in which a `$` may stand.
std::string with_places(const Query& query, std::string_view sql) {
  std::string text;
  for (std::size_t i = 0; i < sql.size(); ++i) {
    if (sql.substr(i).starts_with("--")) i = std::min(sql.find('\n', i), sql.size() - 1);
    // '$.doctor.score' is a path in JSON.
    if (sql[i] != '$' || i + 1 == sql.size() || !is_word(sql[i + 1])) {
      text += sql[i];
      continue;
    }
    std::size_t end = i + 1;
    while (end < sql.size() && is_word(sql[end])) ++end;
    text += placeholder(query, sql.substr(i + 1, end - i - 1));
    i = end - 1;
  }
  return text;
}

/// What Rows has a cell for, for a column of another type.
std::string cell_type(const std::string& type) {
  for (const char* kept : {"BOOLEAN", "INTEGER", "BIGINT", "DOUBLE", "VARCHAR"})
    if (type == kept) return type;
  for (const char* whole : {"TINYINT", "SMALLINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT"})
    if (type == whole) return "BIGINT";
  if (type == "FLOAT" || type.starts_with("DECIMAL")) return "DOUBLE";
  return "VARCHAR";
}

/// The answer may have this part of the memory: it is printed, for which there are some more copies of it.
constexpr std::uint64_t kPartOfAnswer = 4;

constexpr const char* kReads = "give one statement that only reads, such as SELECT, FROM, DESCRIBE, SUMMARIZE or SHOW";

/// In parentheses, so that every column can be cast; on lines of its own, so that DuckDB quotes no line but the user's.
std::string in_parentheses(std::string_view sql) { return fmt::format("(\n{}\n)", sql); }

/// The error of a statement that begins with a line of ours, then `sql`. DuckDB's words end in the number and the text
/// of a line, and a mark below its place.
Error in_lines_of(std::string_view sql, Error error) {
  constexpr std::string_view kLine = "\n\nLINE ";
  const std::size_t quote = error.message.rfind(kLine);
  if (quote == std::string::npos) return error;
  const std::size_t from = quote + kLine.size();
  const std::string number = error.message.substr(from, error.message.find(':', from) - from);
  const auto line = parse_number<std::int64_t>(number);
  if (!line || *line < 2 || *line > std::ranges::count(sql, '\n') + 2) {
    error.message.resize(quote);
    return error;
  }
  const std::string shown = std::to_string(*line - 1);
  error.message.replace(from, number.size(), shown);
  const std::size_t mark = error.message.rfind('\n');
  if (shown.size() < number.size() && mark > from) error.message.erase(mark + 1, 1);
  return error;
}

/// What went wrong with the user's statement `sql`, in words for the one who wrote it.
Error sql_error(std::string_view sql, const SqlLimits& limits, Error error) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  if (error.code == ErrorCode::kCancelled) return {ErrorCode::kCancelled, "the query was interrupted", {}, {}};
  if (error.code != ErrorCode::kOutOfMemory) return in_lines_of(sql, std::move(error));
  return {ErrorCode::kOutOfMemory,
          fmt::format("the query, or its answer, needs more memory than its limit of {} MB",
                      limits.memory_bytes / kMegabyte),
          {},
          "select fewer rows or columns, or give it more with --memory-limit"};
}

/// Interrupts the statements of a database while it lives, as soon as `cancelled` says so. A statement that begins
/// later is interrupted too.
class Interrupter {
 public:
  Interrupter(const Database& database, const Cancelled& cancelled) {
    if (!cancelled) return;
    watcher_ = std::jthread([&database, cancelled](const std::stop_token& stop) {
      constexpr std::chrono::milliseconds kPause(20);
      for (std::mutex mutex; !stop.stop_requested();) {
        if (cancelled()) database.interrupt();
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, kPause, [] { return false; });
      }
    });
  }

 private:
  std::jthread watcher_;
};

}  // namespace

std::size_t Rows::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  ASSAY_CHECK(found != columns.end(), "a query without the column that is read");
  return static_cast<std::size_t>(found - columns.begin());
}

Result<std::vector<Record>> Rows::records() const {
  std::vector<std::pair<const Field*, std::size_t>> fields;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const Field* field = find_field(columns[i]); field != nullptr) fields.emplace_back(field, i);
  std::vector<Record> records;
  records.reserve(rows.size());
  for (const auto& row : rows) {
    Record& record = records.emplace_back();
    for (const auto& [field, i] : fields) ASSAY_CHECK_OK(set_field(record, *field, row[i]));
  }
  return records;
}

std::string imported_sql() {
  return fmt::format("list_contains(string_split(coalesce(flags, ''), ','), '{}')", to_string(Flag::kImported));
}

std::string newest_first_sql(std::string_view id) {
  return fmt::format("{}, timestamp DESC, {} DESC", imported_sql(), id);
}

std::span<const QueryFile> query_files() { return kQueries; }

Query read_query(const QueryFile& file) {
  Query query;
  for (const std::string& each : split(head_line(file, "parameters"), ',')) {
    const std::string_view words = trim(each);
    if (words.empty()) continue;
    const std::size_t space = words.find(' ');
    query.parameters.push_back({std::string(words.substr(0, space)), std::string(trim(words.substr(space + 1)))});
  }
  for (const std::string& name : split(head_line(file, "columns"), ' ')) {
    if (name != "fields") {
      query.columns.push_back(name);
      continue;
    }
    for (const Field& field : result_fields()) query.columns.emplace_back(field.name);
  }
  query.sql = with_places(query, file.sql);
  return query;
}

Result<Rows> ask(Database& database, std::string_view name, const Json& parameters) {
  const auto* file = std::ranges::find(kQueries, name, &QueryFile::name);
  ASSAY_CHECK(file != std::end(kQueries), "a query that does not exist");
  const Query query = read_query(*file);
  for (const auto& given : parameters.items())
    ASSAY_CHECK(std::ranges::find(query.parameters, given.key(), &Query::Parameter::name) != query.parameters.end(),
                "a query got a parameter that it does not have");
  std::vector<Json> values;
  for (const Query::Parameter& parameter : query.parameters) {
    const auto given = parameters.find(parameter.name);
    const bool absent = given == parameters.end() || (given->is_array() && given->empty());
    values.push_back(absent ? Json() : given->is_array() ? Json(json_text(*given)) : *given);
  }
  return with_context(database.query(query.sql, values), fmt::format("while answering the query '{}'", name));
}

Result<Rows> ask_sql(Database& database, std::string_view sql, const SqlLimits& limits, const Cancelled& cancelled) {
  // Its beginning stays, for the lines and columns that errors name.
  std::string text(sql);
  while (!text.empty() && (text.back() == ';' || std::isspace(static_cast<unsigned char>(text.back())) != 0))
    text.pop_back();
  ASSAY_TRY(const std::size_t statements, database.count_statements(text));
  if (statements != 1)
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} statements of SQL, and one is expected", statements),
                kReads);
  const std::string describe = fmt::format("DESCRIBE SELECT * FROM {}", in_parentheses(text));
  if (!database.count_statements(describe))
    return fail(ErrorCode::kInvalidArgument, fmt::format("not a statement that only reads: {}", shown(trim(text))),
                kReads);
  ASSAY_CHECK_OK(database.restrict_statements(limits.memory_bytes));
  const Interrupter interrupter(database, cancelled);
  const auto asked = [&](const std::string& statement) {
    return database.query(statement, {}, limits.memory_bytes / kPartOfAnswer).map_error([&](Error error) {
      if (cancelled && cancelled()) error.code = ErrorCode::kCancelled;
      return sql_error(text, limits, std::move(error));
    });
  };
  ASSAY_TRY(const Rows columns, asked(describe));
  std::string names, cells;
  for (std::size_t i = 0; i < columns.rows.size(); ++i) {
    const auto name = columns.rows[i].at(0).get<std::string>(), type = columns.rows[i].at(1).get<std::string>();
    names += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
    cells += fmt::format("{}c{}::{} AS {}", i == 0 ? "" : ", ", i, cell_type(type), quoted_name(name));
  }
  return asked(
      fmt::format("FROM {} AS answer({}) SELECT {} LIMIT {}", in_parentheses(text), names, cells, limits.most_rows));
}

}  // namespace assay::duckdb
