// SPDX-License-Identifier: Apache-2.0
#include "history/store/duckdb.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <typeinfo>
#include <utility>

#include "core/base/text.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> library_candidates() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (std::string chosen = variable("ASSAY_DUCKDB_LIB"); !chosen.empty()) return {std::move(chosen)};
  std::vector<std::string> candidates;
  if (const std::string deps = variable("ASSAY_DEPS_DIR"); !deps.empty())
    candidates.push_back(deps + "/duckdb/lib/libduckdb.so");
  std::error_code error;
  if (const fs::path program = fs::read_symlink("/proc/self/exe", error); !error)
    for (const char* folder : {"lib", "lib/assay"})
      candidates.push_back((program.parent_path().parent_path() / folder / "libduckdb.so").string());
  candidates.emplace_back(ASSAY_BUILD_DEPS_DIR "/duckdb/lib/libduckdb.so");
  candidates.emplace_back("libduckdb.so");  // as the system finds it
  return candidates;
}

std::terminate_handler other_terminate_handler = nullptr;

/// The text of an exception of DuckDB, which is JSON.
std::string exception_message() {
  try {
    throw;
  } catch (const std::exception& error) {
    const Result<Json> json = parse_json(error.what(), "an exception of DuckDB");
    return json && json->is_object() ? json->value("exception_message", error.what()) : error.what();
  } catch (...) {
    return "an exception without a text";
  }
}

/// DuckDB also throws where C++ does not allow it: if a commit fails and then its log cannot be truncated, for example.
/// That ends the program; here it ends with a message and the status of a failure.
[[noreturn]] void end_after_exception() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr || std::string_view(type->name()).find("duckdb") == std::string_view::npos) {
    other_terminate_handler();
    std::abort();
  }
  const Error error{ErrorCode::kInternal,
                    fmt::format("the database says: {}", exception_message()),
                    {},
                    "check whether the disk is full or fails; the bundles in the spool are unchanged, and `assay db "
                    "ingest` adds those that are not in the database"};
  std::fprintf(stderr, "%s\n", sanitise(to_string(error)).c_str());
  std::fflush(nullptr);
  ::_exit(1);
}

Result<Api> load() {
  constexpr const char* kHint =
      "run ./assay once from the checkout, which fetches it, or set ASSAY_DUCKDB_LIB to a libduckdb.so of version 1.5";
  std::string tried;
  for (const std::string& candidate : library_candidates()) {
    void* library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried += fmt::format("{}{}", tried.empty() ? "" : "; ", ::dlerror());
      continue;
    }
    Api api;
    std::string missing;
    const auto find = [&](auto& member, const char* name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(::dlsym(library, name));
      if (member == nullptr && missing.empty()) missing = name;
    };
#define ASSAY_DUCKDB_FIND(name) find(api.name, "duckdb_" #name);
    ASSAY_DUCKDB_FUNCTIONS(ASSAY_DUCKDB_FIND)
#undef ASSAY_DUCKDB_FIND
    if (missing.empty()) {
      other_terminate_handler = std::set_terminate(end_after_exception);
      return api;
    }
    return fail(ErrorCode::kIncompatiblePlugin, fmt::format("'{}' has no function {}", candidate, missing), kHint);
  }
  return fail(ErrorCode::kNotFound, fmt::format("DuckDB's library was not found: {}", tried), kHint);
}

tl::unexpected<Error> open_failure(const fs::path& path, const std::string& message) {
  const auto says = [&](std::string_view words) { return message.find(words) != std::string::npos; };
  if (says("Could not set lock"))
    return fail(ErrorCode::kStoreBusy,
                fmt::format("another process has the database '{}' open: {}", path.string(), message),
                "wait for it to end, or name another database with --db-path");
  if (says("not a valid DuckDB database"))
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' is not a DuckDB database", path.string()),
                "name another file with --db-path");
  if (says("database does not exist"))
    return fail(ErrorCode::kNotFound, fmt::format("there is no database '{}'", path.string()),
                "`assay run` creates one, and so does `assay db init`");
  return fail(ErrorCode::kInternal, fmt::format("cannot open the database '{}': {}", path.string(), message),
              "`assay db rebuild` makes it again from the bundles beside it, and keeps the damaged file");
}

ErrorCode code_of(duckdb_error_type type) {
  switch (type) {
    case DUCKDB_ERROR_OUT_OF_MEMORY:
      return ErrorCode::kOutOfMemory;
    case DUCKDB_ERROR_INTERRUPT:
      return ErrorCode::kCancelled;
    case DUCKDB_ERROR_PARSER:
    case DUCKDB_ERROR_SYNTAX:
    case DUCKDB_ERROR_BINDER:
    case DUCKDB_ERROR_CATALOG:
    case DUCKDB_ERROR_DEPENDENCY:
    case DUCKDB_ERROR_CONVERSION:
    case DUCKDB_ERROR_INVALID_INPUT:
      return ErrorCode::kInvalidArgument;
    default:
      return ErrorCode::kInternal;
  }
}

tl::unexpected<Error> sql_failure(ErrorCode code, const char* message) {
  return fail(code, fmt::format("the database says: {}", trim(message != nullptr ? message : "nothing")));
}

// What a function that destroys an object expects: a pointer to it.
template <class Handle>
class Owned {
 public:
  using Destroy = void (*)(Handle*);
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { destroy_(&handle); }
  Handle handle{};

 private:
  Destroy destroy_;
};

Result<Json> cell(const Column& column, std::size_t row, const std::string& name) {
  if (column.is_null(row)) return Json();
  switch (column.type()) {
    case DUCKDB_TYPE_BOOLEAN:
      return Json(column.at<bool>(row));
    case DUCKDB_TYPE_INTEGER:
      return Json(column.at<std::int32_t>(row));
    case DUCKDB_TYPE_BIGINT:
      return Json(column.at<std::int64_t>(row));
    case DUCKDB_TYPE_DOUBLE:
      return Json(column.at<double>(row));
    case DUCKDB_TYPE_VARCHAR:
      return Json(std::string(column.text(row)));
    default:
      return fail(ErrorCode::kUnsupported,
                  fmt::format("column '{}' has a type (DuckDB's number {}) that is not read here", name,
                              static_cast<int>(column.type())),
                  "cast it to VARCHAR, BIGINT or DOUBLE in the query");
  }
}

}  // namespace

Result<const Api*> api() {
  static const Result<Api> loaded = load();
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return &*loaded;
}

Column::Column(const Api& api, duckdb_vector vector, duckdb_type type)
    : data_(api.vector_get_data(vector)), validity_(api.vector_get_validity(vector)), type_(type) {}

std::string_view Column::text(std::size_t row) const {
  const auto& value = at<duckdb_string_t>(row).value;
  const std::uint32_t length = value.inlined.length;
  return {length <= sizeof value.inlined.inlined ? value.inlined.inlined : value.pointer.ptr, length};
}

Result<Database> Database::open(const fs::path& path, Access access) {
  ASSAY_TRY(const Api* api, duckdb::api());
  Owned<duckdb_config> config(api->destroy_config);
  if (api->create_config(&config.handle) != DuckDBSuccess)
    return fail(ErrorCode::kOutOfMemory, "DuckDB could not make its configuration");
  const std::pair<const char*, const char*> options[] = {
      {"access_mode", access == Access::kReadOnly ? "READ_ONLY" : "READ_WRITE"},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"}};
  for (const auto& [name, value] : options)
    if (api->set_config(config.handle, name, value) != DuckDBSuccess)
      return fail(ErrorCode::kInternal, fmt::format("DuckDB refuses its option {}={}", name, value));
  Database database(*api);
  char* message = nullptr;
  if (api->open_ext(path.c_str(), &database.database_, config.handle, &message) != DuckDBSuccess) {
    const std::string text = message != nullptr ? message : "no reason given";
    if (message != nullptr) api->free(message);
    return open_failure(path, text);
  }
  if (api->connect(database.database_, &database.connection_) != DuckDBSuccess)
    return fail(ErrorCode::kInternal, fmt::format("DuckDB opened '{}' but gave no connection", path.string()));
  return database;
}

Database::Database(Database&& other) noexcept
    : api_(other.api_),
      database_(std::exchange(other.database_, nullptr)),
      connection_(std::exchange(other.connection_, nullptr)) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(database_, other.database_);
  std::swap(connection_, other.connection_);
  return *this;
}
Database::~Database() {
  if (connection_ != nullptr) api_->disconnect(&connection_);
  if (database_ != nullptr) api_->close(&database_);
}

Status Database::execute(const std::string& sql) {
  Owned<duckdb_result> result(api_->destroy_result);
  if (api_->query(connection_, sql.c_str(), &result.handle) == DuckDBSuccess) return {};
  return sql_failure(code_of(api_->result_error_type(&result.handle)), api_->result_error(&result.handle));
}

Status Database::visit(const std::string& sql, std::span<const Json> parameters, const Visitor& visitor,
                       std::vector<std::string>* names) {
  Owned<duckdb_extracted_statements> statements(api_->destroy_extracted);
  const idx_t count = api_->extract_statements(connection_, sql.c_str(), &statements.handle);
  if (count != 1)
    return sql_failure(ErrorCode::kInvalidArgument,
                       count == 0 ? api_->extract_statements_error(statements.handle) : "one statement at a time");
  Owned<duckdb_prepared_statement> statement(api_->destroy_prepare);
  if (api_->prepare_extracted_statement(connection_, statements.handle, 0, &statement.handle) != DuckDBSuccess)
    return sql_failure(ErrorCode::kInvalidArgument, api_->prepare_error(statement.handle));
  for (idx_t i = 0; i < parameters.size(); ++i) {
    const Json& value = parameters[i];
    duckdb_state state = DuckDBError;
    if (value.is_null()) state = api_->bind_null(statement.handle, i + 1);
    if (value.is_boolean()) state = api_->bind_boolean(statement.handle, i + 1, value.get<bool>());
    if (value.is_number_integer()) state = api_->bind_int64(statement.handle, i + 1, value.get<std::int64_t>());
    if (value.is_number_float()) state = api_->bind_double(statement.handle, i + 1, value.get<double>());
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      state = api_->bind_varchar_length(statement.handle, i + 1, text.data(), text.size());
    }
    if (state != DuckDBSuccess)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("parameter ${} of the query cannot be {}", i + 1, json_text(value)));
  }
  Owned<duckdb_result> result(api_->destroy_result);
  if (api_->execute_prepared(statement.handle, &result.handle) != DuckDBSuccess)
    return sql_failure(code_of(api_->result_error_type(&result.handle)), api_->result_error(&result.handle));
  const idx_t width = api_->column_count(&result.handle);
  if (names != nullptr)
    for (idx_t i = 0; i < width; ++i) names->emplace_back(api_->column_name(&result.handle, i));
  std::vector<Column> columns;
  for (;;) {
    Owned<duckdb_data_chunk> chunk(api_->destroy_data_chunk);
    chunk.handle = api_->fetch_chunk(result.handle);
    if (chunk.handle == nullptr) return {};
    columns.clear();
    for (idx_t i = 0; i < width; ++i)
      columns.emplace_back(*api_, api_->data_chunk_get_vector(chunk.handle, i), api_->column_type(&result.handle, i));
    visitor(columns, api_->data_chunk_get_size(chunk.handle));
  }
}

Result<std::size_t> Database::count_statements(const std::string& sql) {
  Owned<duckdb_extracted_statements> statements(api_->destroy_extracted);
  const idx_t count = api_->extract_statements(connection_, sql.c_str(), &statements.handle);
  if (const char* message = api_->extract_statements_error(statements.handle); count == 0 && message != nullptr)
    return sql_failure(ErrorCode::kInvalidArgument, message);
  return count;
}

Status Database::restrict_statements(std::uint64_t memory_bytes) {
  ASSAY_TRY(const Rows locked, query("SELECT current_setting('lock_configuration')"));
  if (locked.rows.at(0).at(0) == true) return {};
  return execute(
      fmt::format("SET memory_limit = '{}B'; SET temp_directory = ''; SET enable_external_access = false; SET "
                  "lock_configuration = true",
                  memory_bytes));
}

Result<Rows> Database::query(const std::string& sql, std::span<const Json> parameters, std::uint64_t most_bytes) {
  Rows answer;
  Status failure;
  std::uint64_t bytes = 0;
  const auto take = [&](std::span<const Column> columns, std::size_t rows) {
    for (std::size_t row = 0; row < rows && failure; ++row) {
      std::vector<Json>& cells = answer.rows.emplace_back();
      for (std::size_t i = 0; i < columns.size() && failure; ++i) {
        bytes += sizeof(Json);
        if (columns[i].type() == DUCKDB_TYPE_VARCHAR && !columns[i].is_null(row)) bytes += columns[i].text(row).size();
        if (bytes > most_bytes) {
          failure = fail(ErrorCode::kOutOfMemory, fmt::format("the answer has more than {} bytes", most_bytes));
          break;
        }
        Result<Json> value = cell(columns[i], row, answer.columns[i]);
        if (value)
          cells.push_back(std::move(*value));
        else
          failure = tl::unexpected<Error>(value.error());
      }
    }
  };
  ASSAY_CHECK_OK(visit(sql, parameters, take, &answer.columns));
  ASSAY_CHECK_OK(std::move(failure));
  return answer;
}

Result<Appender> Appender::create(Database& database, const std::string& table, std::span<const std::string> columns) {
  const Api& api = database.functions();
  Appender appender(api, nullptr);
  ASSAY_CHECK_OK(
      appender.check(api.appender_create(database.connection(), nullptr, table.c_str(), &appender.appender_)));
  for (const std::string& column : columns)
    ASSAY_CHECK_OK(appender.check(api.appender_add_column(appender.appender_, column.c_str())));
  return appender;
}

Appender::Appender(Appender&& other) noexcept : api_(other.api_), appender_(std::exchange(other.appender_, nullptr)) {}
Appender& Appender::operator=(Appender&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(appender_, other.appender_);
  return *this;
}
Appender::~Appender() {
  if (appender_ != nullptr) api_->appender_destroy(&appender_);
}

Status Appender::check(duckdb_state state) {
  if (state == DuckDBSuccess) return {};
  return sql_failure(ErrorCode::kInternal, appender_ != nullptr ? api_->appender_error(appender_) : nullptr);
}

Status Appender::append(std::span<const Json> cells) {
  for (const Json& value : cells) {
    duckdb_state state = DuckDBError;
    if (value.is_null()) state = api_->append_null(appender_);
    if (value.is_boolean()) state = api_->append_bool(appender_, value.get<bool>());
    if (value.is_number_integer()) state = api_->append_int64(appender_, value.get<std::int64_t>());
    if (value.is_number_float()) state = api_->append_double(appender_, value.get<double>());
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      state = api_->append_varchar_length(appender_, text.data(), text.size());
    }
    if (value.is_binary()) state = api_->append_blob(appender_, value.get_binary().data(), value.get_binary().size());
    ASSAY_CHECK_OK(check(state));
  }
  return check(api_->appender_end_row(appender_));
}

Status Appender::append(duckdb_data_chunk chunk) { return check(api_->append_data_chunk(appender_, chunk)); }
Status Appender::close() { return check(api_->appender_close(appender_)); }

namespace {

std::string between(char quote, std::string_view text) {
  std::string result(1, quote);
  for (const char c : text) result += c == quote ? std::string(2, c) : std::string(1, c);
  return result + quote;
}

}  // namespace

std::string quoted(std::string_view text) { return between('\'', text); }
std::string quoted_name(std::string_view name) { return between('"', name); }

Result<bool> table_exists(Database& database, std::string_view name) {
  const Json parameters[] = {name};
  ASSAY_TRY(const Rows found, database.query("SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() "
                                             "AND schema_name = 'main' AND lower(table_name) = lower($1)",
                                             parameters));
  return !found.rows.empty();
}

}  // namespace assay::duckdb
