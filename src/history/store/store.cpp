// SPDX-License-Identifier: Apache-2.0
#include "history/store/store.hpp"

#include <fmt/format.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/shell.hpp"
#include "history/store/cells.hpp"
#include "history/store/ingest.hpp"
#include "history/store/lock.hpp"
#include "history/store/peaks.hpp"
#include "history/store/queries.hpp"
#include "history/store/replace.hpp"
#include "history/store/schema.hpp"
#include "history/store/snapshot.hpp"
#include "history/store/unsaved.hpp"
#include "history/store/verify.hpp"

namespace assay {
namespace fs = std::filesystem;
using duckdb::Access;
using duckdb::Database;
using duckdb::Rows;
namespace {

void warn_of_network_disk(const fs::path& database) {
  struct statfs info {};
  const fs::path folder = database.has_parent_path() ? database.parent_path() : fs::path(".");
  if (::statfs(folder.c_str(), &info) != 0) return;
  // statfs(2): NFS, SMB, SMB2/3, Lustre.
  for (const unsigned long magic : {0x6969UL, 0x517BUL, 0xFE534D42UL, 0xFF534D42UL, 0x0BD00BD0UL})
    if ((static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL) == magic)
      log_warning(
          "the database '{}' is on a network file system, whose locks are not reliable; name one on a local "
          "disk with --db-path",
          database.string());
}

void warn_of_hard_links(const fs::path& database) {
  std::error_code absent;
  if (const auto names = fs::hard_link_count(database, absent); !absent && names > 1)
    log_warning(
        "the file '{}' has {} names (hard links); each name has its own lock and its own bundles. Always use the same "
        "name, or a symbolic link",
        database.string(), names);
}

Status move_aside(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(ErrorCode::kInternal,
                fmt::format("cannot rename '{}' to '{}': {}", from.string(), to.string(), error.message()));
  return {};
}

/// A suffix that neither `path` nor its companions have yet.
std::string backup_suffix(const fs::path& path) {
  const std::string base = ".bak-" + compact_timestamp(wall_now());
  std::string suffix = base;
  std::error_code ignored;
  for (int n = 2; fs::exists(path.string() + suffix, ignored); ++n) suffix = fmt::format("{}-{}", base, n);
  return suffix;
}

Status move_database_aside(const fs::path& database, const std::string& suffix) {
  // The logs first: a database without them is old, a new database with a foreign log is broken.
  const std::vector<fs::path> from = duckdb::logs_of(database), to = duckdb::logs_of(database.string() + suffix);
  for (std::size_t i = 0; i < from.size(); ++i) ASSAY_CHECK_OK(move_aside(from[i], to[i]));
  return move_aside(database, database.string() + suffix);
}

/// Undoes move_database_aside(), also if it failed after it had renamed some of the files.
Status move_database_back(const fs::path& database, const std::string& suffix) {
  ASSAY_CHECK_OK(move_aside(database.string() + suffix, database));
  const std::vector<fs::path> to = duckdb::logs_of(database), from = duckdb::logs_of(database.string() + suffix);
  for (std::size_t i = 0; i < from.size(); ++i) ASSAY_CHECK_OK(move_aside(from[i], to[i]));
  return {};
}

/// `id` orders rows of the same time.
Result<std::vector<Record>> read_filtered(Database& database, const char* table, const char* id,
                                          const ResultFilter& filter) {
  std::string where;
  std::vector<Json> parameters;
  const std::pair<const char*, const std::string&> conditions[] = {
      {"run_id", filter.run_id}, {"task_key", filter.task_key}, {"series_key", filter.series_key},
      {"model", filter.model},   {"engine", filter.engine},     {"hardware", filter.hardware}};
  for (const auto& [name, value] : conditions) {
    if (value.empty()) continue;
    parameters.emplace_back(value);
    where += fmt::format("{} {} = ${}", where.empty() ? "WHERE" : " AND", name, parameters.size());
  }
  if (filter.judged) {
    where += where.empty() ? "WHERE" : " AND";
    where += " verification <> 'unverified' AND verdict_source IS NULL";
  }
  if (filter.latest_per_task)
    where +=
        fmt::format(" QUALIFY row_number() OVER (PARTITION BY task_key ORDER BY {}) = 1", duckdb::newest_first_sql(id));
  ASSAY_TRY(const Rows rows, database.query(fmt::format("SELECT {} FROM {} {} ORDER BY timestamp, {}",
                                                        duckdb::field_list(), table, where, id),
                                            parameters));
  return rows.records();
}

Result<std::uint64_t> count(Database& database, const std::string& table) {
  ASSAY_TRY(const Rows rows, database.query("SELECT count(*) FROM " + table));
  return rows.rows.at(0).at(0).get<std::uint64_t>();
}

tl::unexpected<Error> no_samples(const fs::path& snapshot, const char* purpose, const char* else_do = "") {
  return fail(ErrorCode::kStoreBusy,
              fmt::format("another process writes the database; its snapshot '{}' has no samples to {}",
                          snapshot.string(), purpose),
              fmt::format("wait for it to end{}", else_do));
}

// What is ingested must stay, so unsaved bundles move to their spool first.
Result<IngestReport> ingest_with_unsaved(Database& database, const fs::path& path, const fs::path& folder) {
  ASSAY_TRY(const MovedBundles moved, move_out_of_unsaved(folder));
  ASSAY_TRY(IngestReport report, duckdb::ingest_spool(database, path, moved.spool));
  ASSAY_CHECK_OK(duckdb::ingest_peaks(database, moved.spool));
  report.moved = moved.bundles;
  report.refused.insert(report.refused.begin(), moved.refused.begin(), moved.refused.end());
  return report;
}

}  // namespace

struct Store::State {
  std::optional<FileLock> lock;  // a snapshot is replaced, never changed, and needs none
  Database database;
  fs::path path;
  bool writing = false;
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;
const fs::path& Store::path() const { return state_->path; }

Result<Store> Store::open(const fs::path& database, Mode mode, std::chrono::milliseconds wait) {
  const bool writing = mode == Mode::kWrite;
  ASSAY_CHECK_OK(check_replaceable(database));
  if (!writing && is_empty_or_absent(database)) {
    std::error_code ignored;
    return fail(ErrorCode::kNotFound,
                fs::exists(database, ignored) ? fmt::format("the database '{}' is empty: 0 bytes", database.string())
                                              : fmt::format("there is no database '{}'", database.string()),
                "`assay run` creates one, and so does `assay db init`");
  }
  if (writing && database.has_parent_path()) ASSAY_CHECK_OK(make_directories(database.parent_path()));
  warn_of_network_disk(database);
  if (writing) warn_of_hard_links(database);
  const auto attempt = [&](std::chrono::milliseconds patience) -> Result<Store> {
    ASSAY_TRY(FileLock lock,
              FileLock::acquire(database, writing ? FileLock::Kind::kExclusive : FileLock::Kind::kShared, patience));
    if (writing && is_empty_or_absent(database)) ASSAY_CHECK_OK(duckdb::create_database(database));
    ASSAY_TRY(Database opened, duckdb::open_database(database, writing ? Access::kReadWrite : Access::kReadOnly));
    return Store(std::make_unique<State>(State{std::move(lock), std::move(opened), database, writing}));
  };
  const auto deadline = std::chrono::steady_clock::now() + wait;
  Result<Store> store = attempt(wait);
  // Our own lock waits by itself; this is for a foreign program that has the file open.
  while (!store && store.error().code == ErrorCode::kStoreBusy && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store = attempt({});
  }
  const fs::path snapshot = snapshot_path(database);
  // A reader that keeps the file open is often the user's own notebook.
  if (!store && writing && store.error().code == ErrorCode::kStoreBusy)
    store.error().hint = fmt::format(
        "nothing measured is lost: the next command that saves, or `assay db ingest`, adds it. Programs that only "
        "read should open the snapshot '{}': it never blocks a writer",
        snapshot.string());
  if (store || writing || store.error().code != ErrorCode::kStoreBusy || is_empty_or_absent(snapshot)) return store;
  log_info("the database is in use; reading its snapshot '{}'", snapshot.string());
  ASSAY_TRY(Database opened, duckdb::open_database(snapshot, Access::kReadOnly));
  return Store(std::make_unique<State>(State{std::nullopt, std::move(opened), snapshot, false}));
}

Result<Store> Store::open_snapshot(const fs::path& database) {
  const fs::path snapshot = snapshot_path(database);
  if (is_empty_or_absent(snapshot)) {
    const bool absent = is_empty_or_absent(database);
    return fail(
        ErrorCode::kNotFound,
        absent ? fmt::format("there is no database '{}'", database.string())
               : fmt::format("the database '{}' has no snapshot", database.string()),
        absent ? "`assay run` creates one"
               : fmt::format("`assay db ingest --db-path {}` publishes its snapshot", shell_quoted(database.string())));
  }
  ASSAY_TRY(Database opened, duckdb::open_database(snapshot, Access::kReadOnly));
  return Store(std::make_unique<State>(State{std::nullopt, std::move(opened), snapshot, false}));
}

Status Store::publish_missing_snapshot(const fs::path& database, std::chrono::milliseconds wait) {
  if (!is_empty_or_absent(snapshot_path(database)) || is_empty_or_absent(database)) return {};
  // Exclusive, because two at once would write the same file.
  ASSAY_TRY([[maybe_unused]] const FileLock lock, FileLock::acquire(database, FileLock::Kind::kExclusive, wait));
  ASSAY_TRY(Database opened, duckdb::open_database(database, Access::kReadOnly));
  return write_snapshot(opened, database).map([](const fs::path&) {});
}

Result<Store::Writable> Store::check_writable(const fs::path& database) {
  ASSAY_CHECK_OK(check_replaceable(database));
  const fs::path folder = database.has_parent_path() ? database.parent_path() : fs::path(".");
  for (const fs::path& path : {folder, database})
    if (::access(path.c_str(), W_OK) != 0 && errno != ENOENT)  // what does not exist is made
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)),
                  "name a database in a folder that you may write to with --db-path");
  Writable writable;
  if (is_empty_or_absent(database)) return writable;
  // `assay serve` may be publishing the snapshot.
  ASSAY_TRY([[maybe_unused]] const FileLock lock,
            FileLock::acquire(database, FileLock::Kind::kShared, std::chrono::seconds(5)));
  ASSAY_TRY(writable.older, duckdb::is_older(database));
  return writable;
}

Result<std::vector<fs::path>> Store::init(const fs::path& database, const fs::path& spool, bool overwrite) {
  ASSAY_CHECK_OK(check_replaceable(database));
  if (database.has_parent_path()) ASSAY_CHECK_OK(make_directories(database.parent_path()));
  warn_of_network_disk(database);
  ASSAY_TRY(const FileLock lock, FileLock::acquire(database, FileLock::Kind::kExclusive, {}));
  std::vector<fs::path> kept;
  if (!is_empty_or_absent(database)) {
    if (!overwrite)
      return fail(ErrorCode::kInvalidArgument, fmt::format("the database '{}' exists", database.string()),
                  "keep it, or begin a new one with --overwrite, which moves this one aside");
    // A foreign program that has it open would go on writing into the file that is moved.
    if (const auto opened = Database::open(database, Access::kReadWrite);
        !opened && opened.error().code == ErrorCode::kStoreBusy)
      return tl::unexpected<Error>(opened.error());
    const std::string suffix = backup_suffix(database);
    ASSAY_CHECK_OK(move_database_aside(database, suffix));
    kept.emplace_back(database.string() + suffix);
    // Else the next ingest would bring everything back.
    if (std::error_code ignored; fs::exists(spool, ignored)) {
      ASSAY_CHECK_OK(move_aside(spool, spool.string() + suffix));
      kept.emplace_back(spool.string() + suffix);
    }
    std::error_code ignored;
    fs::remove(snapshot_path(database), ignored);
  }
  ASSAY_CHECK_OK(duckdb::create_database(database));
  return kept;
}

namespace {

// Whether a database has results, or tables and views of users, that the other one lacks.
Result<bool> has_more(Database& database, Database& other) {
  for (const char* sql :
       {"SELECT attempt_id FROM launches", "SELECT attempt_id FROM benchmark_results",
        "SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE database_name = current_database()",
        "SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE database_name = current_database()"}) {
    ASSAY_TRY(const Rows here, database.query(sql));
    ASSAY_TRY(const Rows there, other.query(sql));
    std::set<std::string> known;
    for (const auto& row : there.rows) known.insert(row.at(0).dump());
    for (const auto& row : here.rows)
      if (!known.contains(row.at(0).dump())) return true;
  }
  return false;
}

}  // namespace

Result<Store::Rebuilt> Store::rebuild(const fs::path& database, const fs::path& spool) {
  if (std::error_code ignored; !fs::is_directory(spool, ignored))
    return fail(ErrorCode::kNotFound, fmt::format("there is no spool '{}' to create the database from", spool.string()),
                "name it with --spool");
  ASSAY_CHECK_OK(check_replaceable(database));
  if (database.has_parent_path()) ASSAY_CHECK_OK(make_directories(database.parent_path()));
  ASSAY_TRY(const FileLock lock, FileLock::acquire(database, FileLock::Kind::kExclusive, {}));
  // Its bundles may be of another assay too, so that the database that is made of them would have less.
  if (!is_empty_or_absent(database))
    if (const auto older = duckdb::is_older(database); !older && older.error().code == ErrorCode::kUnsupported)
      return tl::unexpected<Error>(older.error());
  const fs::path fresh = database.string() + ".tmp-rebuild";
  Rebuilt rebuilt;
  bool keep_old = false;
  const auto build = [&]() -> Status {
    ASSAY_CHECK_OK(duckdb::create_database(fresh));
    ASSAY_TRY(Database made, duckdb::open_database(fresh, Access::kReadWrite));
    ASSAY_TRY(rebuilt.ingested, ingest_with_unsaved(made, fresh, spool));
    if (!is_empty_or_absent(database)) {
      Result<Database> old = duckdb::open_database(database, Access::kReadWrite);
      if (!old && old.error().code == ErrorCode::kStoreBusy) return tl::unexpected<Error>(old.error());
      // If it cannot be read, nobody knows what it has.
      keep_old = !old || has_more(*old, made).value_or(true);
    }
    return with_context(duckdb::close_whole(std::move(made), fresh), "while rebuilding the database");
  };
  if (Status built = build(); !built) {
    duckdb::remove_database(fresh);
    return tl::unexpected<Error>(std::move(built).error());
  }
  const std::string suffix = keep_old ? backup_suffix(database) : "";
  const auto replace = [&]() -> Status {
    if (keep_old) {
      ASSAY_CHECK_OK(move_database_aside(database, suffix));
      rebuilt.kept = database.string() + suffix;
    }
    std::error_code ignored;
    fs::remove(snapshot_path(database), ignored);  // of the old one
    return duckdb::put_in_place(fresh, database);
  };
  if (Status replaced = replace(); !replaced) {
    duckdb::remove_database(fresh);
    if (keep_old && !move_database_back(database, suffix))
      replaced.error().hint = fmt::format(
          "the database is '{0}{1}' now; rename it, and its logs '{0}{1}.wal…' if there are any, back to '{0}'",
          database.string(), suffix);
    return tl::unexpected<Error>(std::move(replaced).error());
  }
  const auto publish = [&]() -> Result<fs::path> {
    ASSAY_TRY(Database made, duckdb::open_database(database, Access::kReadWrite));
    return write_snapshot(made, database);
  };
  if (const auto published = publish(); !published)
    log_warning("the snapshot for readers is missing: {}", published.error().message);
  return rebuilt;
}

Result<IngestReport> Store::ingest(const fs::path& spool) {
  return ingest_with_unsaved(state_->database, state_->path, spool);
}

Result<Rows> Store::ask(std::string_view query, const Json& parameters) {
  return duckdb::ask(state_->database, query, parameters);
}

Result<Rows> Store::ask_sql(std::string_view sql, const duckdb::SqlLimits& limits, const Cancelled& cancelled) {
  ASSAY_CHECK(!state_->writing, "the user's SQL runs in a database that is open for reading only");
  Result<Rows> rows = duckdb::ask_sql(state_->database, sql, limits, cancelled);
  if (!rows && !state_->lock && rows.error().message.find(kNoSamples) != std::string::npos)
    return no_samples(path(), "query");
  return rows;
}

Result<std::vector<Record>> Store::results(const ResultFilter& filter) {
  return read_filtered(state_->database, "benchmark_results", "result_id", filter);
}

Result<std::vector<Record>> Store::launches(const ResultFilter& filter) {
  return read_filtered(state_->database, "launches", "launch_id", filter);
}

Result<std::map<std::string, fs::path>> Store::bundle_paths(std::string_view run_id) {
  const Json parameters[] = {run_id};
  ASSAY_TRY(const Rows rows, state_->database.query("SELECT b.attempt_id, b.path FROM bundles AS b JOIN launches USING "
                                                    "(launch_id) WHERE $1 = '' OR run_id = $1",
                                                    parameters));
  std::map<std::string, fs::path> paths;
  for (const auto& row : rows.rows) paths[row.at(0).get<std::string>()] = row.at(1).get<std::string>();
  return paths;
}

Result<Samples> Store::samples(std::string_view attempt_id) {
  const Json attempt[] = {attempt_id};
  ASSAY_TRY(const Rows launch,
            state_->database.query("SELECT launch_id, samples FROM bundles WHERE attempt_id = $1", attempt));
  if (launch.rows.empty())
    return fail(ErrorCode::kNotFound, fmt::format("no attempt '{}' in '{}'", attempt_id, path().string()));
  if (!state_->lock) return no_samples(path(), "read");
  ASSAY_TRY(Samples samples, duckdb::read_steady_samples(state_->database, launch.rows[0][0].get<std::int64_t>()));
  if (samples.size() != launch.rows[0][1].get<std::uint64_t>())
    return fail(ErrorCode::kNotFound,
                fmt::format("'{}' has {} of the {} samples of attempt '{}'", path().string(), samples.size(),
                            launch.rows[0][1].dump(), attempt_id),
                "run `assay db rebuild`");
  return samples;
}

Result<fs::path> Store::publish_snapshot() { return write_snapshot(state_->database, state_->path); }

Result<std::vector<ExportedTable>> Store::export_tables(const fs::path& folder, ExportFormat format, bool samples) {
  if (samples && !state_->lock) return no_samples(path(), "export", ", or export without --samples");
  return assay::export_tables(state_->database, folder, format, samples);
}

Result<std::vector<Error>> Store::verify(const fs::path& spool) {
  if (!state_->lock) return no_samples(path(), "compare");
  return duckdb::verify_against_bundles(state_->database, spool);
}

Result<StoreSummary> Store::summary() {
  StoreSummary summary;
  ASSAY_TRY(summary.runs, count(state_->database, "benchmark_runs"));
  ASSAY_TRY(summary.results, count(state_->database, "benchmark_results"));
  ASSAY_TRY(const Rows samples, state_->database.query("SELECT coalesce(sum(samples), 0)::BIGINT FROM bundles"));
  summary.samples = samples.rows.at(0).at(0).get<std::uint64_t>();
  ASSAY_TRY(summary.bundles, count(state_->database, "bundles"));
  std::error_code ignored;
  summary.database_bytes = fs::file_size(state_->path, ignored);
  return summary;
}

}  // namespace assay
