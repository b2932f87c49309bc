// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <duckdb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "history/store/rows.hpp"

/// DuckDB through its C API, loaded with dlopen when first needed: `assay --help` never maps its 70 MB. Only this
/// module includes this header.
namespace assay::duckdb {

/// The functions that are used; each becomes a member of Api of the type that duckdb.h declares.
// clang-format off
#define ASSAY_DUCKDB_FUNCTIONS(X)                                                                                   \
  X(free)                                                                                                           \
  X(create_config) X(set_config) X(destroy_config) X(open_ext) X(close) X(connect) X(disconnect)                    \
  X(interrupt)                                                                                                      \
  X(query) X(destroy_result) X(result_error) X(result_error_type) X(fetch_chunk)                                    \
  X(column_count) X(column_name) X(column_type)                                                                     \
  X(extract_statements) X(extract_statements_error) X(destroy_extracted)                                            \
  X(prepare_extracted_statement) X(prepare_error) X(destroy_prepare) X(execute_prepared)                            \
  X(bind_varchar_length) X(bind_int64) X(bind_double) X(bind_boolean) X(bind_null)                                  \
  X(create_logical_type)                    X(destroy_logical_type)                                                \
  X(create_data_chunk) X(destroy_data_chunk) X(data_chunk_reset) X(data_chunk_get_size) X(data_chunk_set_size)      \
  X(data_chunk_get_vector) X(vector_size) X(vector_get_data) X(vector_get_validity)                                 \
  X(vector_ensure_validity_writable)                                                                                \
  X(appender_create) X(appender_add_column) X(appender_error) X(appender_close) X(appender_destroy)                 \
  X(appender_end_row) X(append_null) X(append_bool) X(append_int64) X(append_double) X(append_varchar_length)       \
  X(append_blob)                                                                                                    \
  X(append_data_chunk)
// clang-format on

struct Api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name
#define ASSAY_DUCKDB_MEMBER(name) decltype(&::duckdb_##name) name = nullptr;
  ASSAY_DUCKDB_FUNCTIONS(ASSAY_DUCKDB_MEMBER)
#undef ASSAY_DUCKDB_MEMBER
};

/// Loads libduckdb.so once per process, from the first of: $ASSAY_DUCKDB_LIB (then nowhere else), $ASSAY_DEPS_DIR or
/// the build's dependency folder, ../lib beside the program, the system's libraries. Thread: any.
/// From then on an exception that DuckDB throws where it ends the program (when its log cannot be truncated) is printed
/// as an error, and the program ends with status 1.
/// Errors: not_found (where it was looked for, how to get it), incompatible_plugin (a function is missing).
[[nodiscard]] Result<const Api*> api();

enum class Access { kReadWrite, kReadOnly };

/// One column of one piece of a query's answer.
class Column {
 public:
  Column(const Api& api, duckdb_vector vector, duckdb_type type);
  [[nodiscard]] bool is_null(std::size_t row) const {
    return validity_ != nullptr && ((validity_[row / 64] >> (row % 64)) & 1) == 0;
  }
  [[nodiscard]] duckdb_type type() const { return type_; }
  template <class T>
  [[nodiscard]] const T& at(std::size_t row) const {
    return static_cast<const T*>(data_)[row];
  }
  [[nodiscard]] std::string_view text(std::size_t row) const;

 private:
  const void* data_;
  const std::uint64_t* validity_;
  duckdb_type type_;
};

/// An open database and its one connection. Thread: one at a time, but for interrupt(). Not for two of one file in one
/// process (store.cpp has a lock): DuckDB itself does not notice that.
class Database {
 public:
  /// Extensions are never fetched nor loaded from disk, so that an offline machine never stalls.
  /// Errors: store_busy (another process has the file open: names it), not_found, invalid_argument (not a database),
  /// internal.
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& path, Access access);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  /// Runs one or more statements whose answers do not matter.
  /// Errors: invalid_argument (the statement is wrong), out_of_memory, cancelled (interrupt()), internal (disk full,
  /// …); all with DuckDB's words.
  [[nodiscard]] Status execute(const std::string& sql);
  /// One statement with its parameters ($1, …) and its whole answer.
  /// Errors: as execute(); unsupported for a column type that Rows has no cell for: cast it in the query; out_of_memory
  /// if the cells of the answer have more bytes than `most_bytes`.
  static constexpr std::uint64_t kAnyBytes = UINT64_MAX;
  [[nodiscard]] Result<Rows> query(const std::string& sql, std::span<const Json> parameters = {},
                                   std::uint64_t most_bytes = kAnyBytes);
  /// The same in pieces of up to 2,048 rows, for large answers.
  using Visitor = std::function<void(std::span<const Column> columns, std::size_t rows)>;
  [[nodiscard]] Status visit(const std::string& sql, std::span<const Json> parameters, const Visitor& visitor,
                             std::vector<std::string>* names = nullptr);

  /// How many statements a text of SQL has. Errors: invalid_argument with DuckDB's words.
  [[nodiscard]] Result<std::size_t> count_statements(const std::string& sql);
  /// From now on no statement can read or write another file than the open database, nor use more memory than this;
  /// what does not fit is not put on the disk. No statement can change that.
  [[nodiscard]] Status restrict_statements(std::uint64_t memory_bytes);
  /// Ends the statement that runs, which fails with `cancelled`; without one it does nothing. Thread: any.
  void interrupt() const { api_->interrupt(connection_); }

  [[nodiscard]] const Api& functions() const { return *api_; }
  [[nodiscard]] duckdb_connection connection() const { return connection_; }

 private:
  explicit Database(const Api& api) : api_(&api) {}
  const Api* api_;
  duckdb_database database_ = nullptr;
  duckdb_connection connection_ = nullptr;
};

/// Bulk insertion into the named columns of a table, within the connection's transaction. What was appended is there
/// after close() only.
class Appender {
 public:
  [[nodiscard]] static Result<Appender> create(Database& database, const std::string& table,
                                               std::span<const std::string> columns);
  Appender(Appender&& other) noexcept;
  Appender& operator=(Appender&& other) noexcept;
  ~Appender();

  /// One row, a cell for each column; a binary value is a BLOB. Slow and simple: for tables of one row per result.
  [[nodiscard]] Status append(std::span<const Json> cells);
  [[nodiscard]] Status append(duckdb_data_chunk chunk);
  [[nodiscard]] Status close();

 private:
  Appender(const Api& api, duckdb_appender appender) : api_(&api), appender_(appender) {}
  Status check(duckdb_state state);
  const Api* api_;
  duckdb_appender appender_ = nullptr;
};

/// `text` as a literal of SQL, quoted.
[[nodiscard]] std::string quoted(std::string_view text);
/// `name` as an identifier of SQL, quoted.
[[nodiscard]] std::string quoted_name(std::string_view name);

/// Whether the schema `main` has this table, in capital or small letters. Errors: those of Database::query.
[[nodiscard]] Result<bool> table_exists(Database& database, std::string_view name);

}  // namespace assay::duckdb
