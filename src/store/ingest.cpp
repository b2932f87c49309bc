// SPDX-License-Identifier: Apache-2.0
#include "store/ingest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <system_error>
#include <tuple>

#include "base/guard.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "measure/launches.hpp"
#include "measure/samples_file.hpp"
#include "store/cells.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kReserveBytes = 64'000'000;  // one row group, the log and the checkpoint

/// Fills data chunks with samples column by column.
class SampleAppender {
 public:
  static Result<SampleAppender> create(Database& database) {
    const std::array<std::string, kColumns> columns{"result_id", "launch_id", "launch_number", "seq",
                                                    "kind",      "stream",    "start_ns",      "duration_ns"};
    ASSAY_TRY(Appender appender, Appender::create(database, "raw_benchmark_data", columns));
    return SampleAppender(database.functions(), std::move(appender));
  }
  SampleAppender(SampleAppender&& other) noexcept
      : api_(other.api_), appender_(std::move(other.appender_)), chunk_(std::exchange(other.chunk_, nullptr)) {}
  SampleAppender& operator=(SampleAppender&&) = delete;
  ~SampleAppender() {
    if (chunk_ != nullptr) api_.destroy_data_chunk(&chunk_);
  }

  /// `samples` are the steady ones; the first of them has the number `first` in the samples' file.
  Status append(std::int64_t result_id, const Launch& launch, const Samples& samples, std::size_t first) {
    const std::size_t capacity = api_.vector_size();
    for (std::size_t from = 0; from < samples.size(); from += capacity) {
      const std::size_t rows = std::min(capacity, samples.size() - from);
      api_.data_chunk_reset(chunk_);
      if (launch.counted)
        std::fill_n(column<std::int64_t>(0), rows, result_id);
      else
        for (std::size_t i = 0; i < rows; ++i) set_null(0, i);
      std::fill_n(column<std::int64_t>(1), rows, launch.id);
      std::fill_n(column<std::int64_t>(2), rows, launch.row.launch_number.value_or(1));
      std::iota(column<std::int64_t>(3), column<std::int64_t>(3) + rows, static_cast<std::int64_t>(first + from));
      std::copy_n(samples.kind.data() + from, rows, column<std::uint8_t>(4));
      std::copy_n(samples.stream.data() + from, rows, column<std::int64_t>(5));
      std::copy_n(samples.start_ns.data() + from, rows, column<std::int64_t>(6));
      std::copy_n(samples.duration_ns.data() + from, rows, column<std::int64_t>(7));
      for (std::size_t i = 0; i < rows; ++i)
        if (samples.start_ns[from + i] == kUnknownStart) set_null(6, i);
      api_.data_chunk_set_size(chunk_, rows);
      ASSAY_CHECK_OK(appender_.append(chunk_));
    }
    return {};
  }
  Status close() { return appender_.close(); }

 private:
  static constexpr std::size_t kColumns = 8;
  static constexpr std::size_t kKind = 4;

  SampleAppender(const Api& api, Appender appender) : api_(api), appender_(std::move(appender)) {
    const char* kinds[] = {"run", "first_token", "token"};  // in the order of SampleKind
    std::array<duckdb_logical_type, kColumns> types{};
    for (duckdb_logical_type& type : types) type = api_.create_logical_type(DUCKDB_TYPE_BIGINT);
    api_.destroy_logical_type(&types[kKind]);
    types[kKind] = api_.create_enum_type(kinds, std::size(kinds));
    chunk_ = api_.create_data_chunk(types.data(), types.size());
    for (duckdb_logical_type& type : types) api_.destroy_logical_type(&type);
  }
  template <class T>
  T* column(idx_t index) {
    return static_cast<T*>(api_.vector_get_data(api_.data_chunk_get_vector(chunk_, index)));
  }

  void set_null(idx_t index, std::size_t row) {
    const duckdb_vector vector = api_.data_chunk_get_vector(chunk_, index);
    api_.vector_ensure_validity_writable(vector);
    api_.vector_get_validity(vector)[row / 64] &= ~(std::uint64_t{1} << (row % 64));
  }

  const Api& api_;
  Appender appender_;
  duckdb_data_chunk chunk_ = nullptr;
};

Result<std::set<std::string>> strings(Database& database, const std::string& sql) {
  ASSAY_TRY(const Rows rows, database.query(sql));
  std::set<std::string> values;
  for (const auto& row : rows.rows)
    if (row.at(0).is_string()) values.insert(row.at(0).get<std::string>());
  return values;
}

/// The bundles that are not in yet, oldest first, so that result ids follow time. What cannot be read is refused.
Result<std::vector<fs::path>> fresh_bundles(const fs::path& spool, const std::set<std::string>& attempts,
                                            IngestReport& report) {
  ASSAY_TRY(const std::vector<fs::path> folders, list_bundles(spool, &report.refused));
  std::vector<std::tuple<std::string, std::string, fs::path>> fresh;
  for (const fs::path& folder : folders) {
    if (attempts.contains(folder.filename().string())) {
      ++report.known;
      continue;
    }
    // Only for the order; read_bundle() looks closely.
    std::string timestamp;
    if (const auto manifest = read_json(folder / bundle_file::kManifest); manifest && manifest->is_object())
      if (const auto record = manifest->find("record"); record != manifest->end() && record->is_object())
        if (const auto time = record->find("timestamp"); time != record->end() && time->is_string())
          timestamp = time->get<std::string>();
    fresh.emplace_back(std::move(timestamp), folder.filename().string(), folder);
  }
  std::sort(fresh.begin(), fresh.end());
  std::vector<fs::path> ordered;
  ordered.reserve(fresh.size());
  for (auto& [time, attempt, folder] : fresh) ordered.push_back(std::move(folder));
  return ordered;
}

Status check_free_space(const fs::path& database_path, const std::vector<fs::path>& bundles) {
  std::uint64_t needed = kReserveBytes;
  std::error_code error;
  for (const fs::path& bundle : bundles)
    if (const std::uint64_t size = fs::file_size(bundle / bundle_file::kSamples, error); !error) needed += size;
  const fs::path folder = fs::absolute(database_path, error).parent_path();
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= needed) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("the disk of '{}' has {} MB free, and ingesting {} results needs about {} MB",
                          database_path.string(), space.available / 1'000'000, bundles.size(), needed / 1'000'000 + 1),
              "free some disk space and run `assay db rebuild`; the results are in the spool");
}

/// The rows of one transaction. First all bundles are read, so that the launches of each cell are known; then each
/// cell's launches, samples and row are written together.
class Ingest {
 public:
  Ingest(Database& database, IngestReport& report) : database_(database), report_(report) {}

  Status run(const std::vector<fs::path>& bundles) {
    ASSAY_TRY(hashes_, strings(database_, "SELECT sha256 FROM bundles"));
    ASSAY_TRY(runs_, strings(database_, "SELECT run_id FROM benchmark_runs"));
    ASSAY_TRY(machines_, strings(database_, "SELECT hardware_id FROM hardware_info"));
    ASSAY_TRY(const Rows last, database_.query("SELECT coalesce(max(launch_id), 0) FROM launches"));
    first_id_ = next_id_ = last.rows.at(0).at(0).get<std::int64_t>() + 1;
    for (const fs::path& folder : bundles) {
      Result<Bundle> bundle = guarded("while reading a bundle", [&] { return read_bundle(folder); });
      if (!bundle) {
        report_.refused.push_back(std::move(bundle).error());
      } else if (!hashes_.insert(bundle->sha256).second) {
        ++report_.known;
      } else {
        ASSAY_CHECK_OK(add_bundle(std::move(*bundle)));
      }
    }
    return write_cells();
  }

 private:
  struct FreshLaunch {
    Launch launch;
    fs::path folder;
    std::string sha256;
    bool has_samples = false;
  };
  struct Cell {
    bool stored = false;
    std::vector<FreshLaunch> fresh;
  };
  struct Appenders {
    Appender launches, results;
    SampleAppender samples;
  };

  Status add_bundle(Bundle bundle) {
    const CellName name = cell_name(bundle.record);
    ASSAY_CHECK_OK(read_cells_of(name.run_id));
    ASSAY_CHECK_OK(add_run(bundle));
    ASSAY_CHECK_OK(add_machine(bundle));
    const std::int64_t id = next_id_++;
    const std::int64_t result_id = result_ids_.try_emplace(name, id).first->second;
    Cell& cell = cells_[result_id];
    cell.stored = result_id < first_id_;
    cell.fresh.push_back({{id, std::move(bundle.record)}, bundle.folder, bundle.sha256, bundle.has_samples});
    return {};
  }

  /// The cells that the database has of a run.
  Status read_cells_of(const std::string& run_id) {
    if (!known_runs_.insert(run_id).second || (!run_id.empty() && !runs_.contains(run_id))) return {};
    const Json parameters[] = {run_id};
    ASSAY_TRY(const Rows rows,
              database_.query("SELECT result_id, task_key, coalesce(model, ''), coalesce(model_id, '') FROM "
                              "benchmark_results WHERE coalesce(run_id, '') = $1",
                              parameters));
    for (const auto& row : rows.rows)
      result_ids_[{run_id, row[1].get<std::string>(), row[2].get<std::string>(), row[3].get<std::string>()}] =
          row[0].get<std::int64_t>();
    return {};
  }

  Status write_cells() {
    std::vector<std::string> columns{"result_id"};
    for (const Field& field : result_fields()) columns.emplace_back(field.name);
    ASSAY_TRY(Appender results, Appender::create(database_, "benchmark_results", columns));
    columns.insert(columns.begin(), {"launch_id", "counted"});
    ASSAY_TRY(Appender launches, Appender::create(database_, "launches", columns));
    ASSAY_TRY(SampleAppender samples, SampleAppender::create(database_));
    Appenders to{std::move(launches), std::move(results), std::move(samples)};
    for (auto& [result_id, cell] : cells_) {
      ASSAY_CHECK_OK(write_cell(result_id, cell, to));
      cell = {};
    }
    ASSAY_CHECK_OK(to.launches.close());
    ASSAY_CHECK_OK(to.results.close());
    return to.samples.close();
  }

  Status write_cell(std::int64_t result_id, Cell& cell, Appenders& to) {
    std::vector<Launch> launches;
    if (cell.stored) {
      ASSAY_TRY(auto stored, read_launches(database_, result_id, result_id));
      launches = std::move(stored[result_id]);
    }
    const std::size_t before = launches.size();
    for (FreshLaunch& fresh : cell.fresh) launches.push_back(std::move(fresh.launch));
    if (choose_counted(launches)) ASSAY_CHECK_OK(change_counted(result_id, std::span(launches).first(before)));
    for (std::size_t i = before; i < launches.size(); ++i)
      ASSAY_CHECK_OK(write_launch(result_id, launches[i], cell.fresh[i - before], to));
    ASSAY_TRY(const Record row, derive_cell(database_, launches));
    if (cell.stored) {
      const Json parameters[] = {result_id};
      ASSAY_CHECK_OK(query("DELETE FROM benchmark_results WHERE result_id = $1", parameters));
    }
    return to.results.append(result_cells(result_id, row));
  }

  Status change_counted(std::int64_t result_id, std::span<const Launch> stored) {
    for (const Launch& launch : stored) {
      const Json counted[] = {launch.counted, launch.id};
      ASSAY_CHECK_OK(query("UPDATE launches SET counted = $1 WHERE launch_id = $2 AND counted <> $1", counted));
      const Json cell[] = {launch.counted ? Json(result_id) : Json(), launch.id};
      ASSAY_CHECK_OK(query(
          "UPDATE raw_benchmark_data SET result_id = $1 WHERE launch_id = $2 AND result_id IS DISTINCT FROM $1", cell));
    }
    return {};
  }

  Status write_launch(std::int64_t result_id, Launch& launch, const FreshLaunch& fresh, Appenders& to) {
    std::vector<Json> values = result_cells(result_id, launch.row);
    values.insert(values.begin(), {launch.id, launch.counted});
    ASSAY_CHECK_OK(to.launches.append(values));
    launch.samples.emplace();
    if (fresh.has_samples) {
      // A worker that was killed early leaves a file without a header: the result stands, without samples.
      if (auto file = read_samples(fresh.folder / bundle_file::kSamples)) {
        const auto first = static_cast<std::size_t>(std::max<std::int64_t>(launch.row.steady_from.value_or(0), 0));
        launch.samples = steady_part(std::move(file->samples), first);
        ASSAY_CHECK_OK(to.samples.append(result_id, launch, *launch.samples, first));
      } else {
        log_warning("{}", to_string(file.error()));
      }
    }
    const fs::path& folder = fresh.folder;
    const Json bundle[] = {fresh.sha256,
                           (folder.parent_path().filename() / folder.filename()).string(),
                           folder.filename().string(),
                           result_id,
                           launch.samples->size(),
                           launch.id};
    ASSAY_CHECK_OK(insert("bundles (sha256, path, attempt_id, result_id, samples, launch_id, ingested_at)",
                          "$1, $2, $3, $4, $5, $6, now()::TIMESTAMP", bundle));
    ++report_.bundles;
    report_.samples += launch.samples->size();
    return {};
  }

  Status add_run(const Bundle& bundle) {
    const Record& record = bundle.record;
    if (record.run_id.empty() || !runs_.insert(record.run_id).second) return {};
    const auto value = [&](const char* name) { return field_value(record, *find_field(name)); };
    const Json values[] = {value("run_id"),      sanitise(bundle.context.started),     value("tool_version"),
                           value("git_commit"),  sanitise(bundle.context.command),     value("host"),
                           value("hardware_id"), json_text(bundle.context.environment)};
    return insert(
        "benchmark_runs (run_id, started_at, tool_version, git_commit, command, host, hardware_id, environment)",
        "$1, TRY_CAST($2 AS TIMESTAMP), $3, $4, $5, $6, $7, $8", values);
  }

  Status add_machine(const Bundle& bundle) {
    const Record& record = bundle.record;
    if (record.hardware_id.empty() || !machines_.insert(record.hardware_id).second) return {};
    std::vector<Json> values{record.hardware_id, field_value(record, *find_field("host"))};
    for (const char* key :
         {"platform", "processor", "cpu_cores", "cpu_threads", "memory_gb", "gpu_count", "cuda_version"}) {
      const Json& value = bundle.context.hardware.contains(key) ? bundle.context.hardware.at(key) : Json();
      values.push_back(value.is_primitive() ? value : Json());
    }
    values.emplace_back(json_text(bundle.context.hardware));
    return insert(
        "hardware_info (hardware_id, host, platform, processor, cpu_cores, cpu_threads, memory_gb, gpu_count, "
        "cuda_version, info)",
        "$1, $2, $3, $4, TRY_CAST($5 AS BIGINT), TRY_CAST($6 AS BIGINT), TRY_CAST($7 AS DOUBLE), TRY_CAST($8 AS "
        "BIGINT), $9, $10",
        values);
  }

  Status insert(const char* into, const char* values, std::span<const Json> parameters) {
    return query(fmt::format("INSERT INTO {} VALUES ({})", into, values), parameters);
  }
  Status query(const std::string& sql, std::span<const Json> parameters) {
    return database_.query(sql, parameters).map([](const Rows&) {});
  }

  Database& database_;
  IngestReport& report_;
  std::set<std::string> hashes_, runs_, machines_;
  std::set<std::string> known_runs_;  ///< those whose cells are in result_ids_
  std::map<CellName, std::int64_t> result_ids_;
  std::map<std::int64_t, Cell> cells_;  ///< those with new launches
  std::int64_t first_id_ = 1, next_id_ = 1;
};

}  // namespace

Result<IngestReport> ingest_spool(Database& database, const fs::path& database_path, const fs::path& spool) {
  IngestReport report;
  ASSAY_TRY(const std::size_t sealed, seal_abandoned(spool));
  if (sealed > 0) log_info("{} attempts that were cut short are kept, flagged 'partial'", sealed);
  ASSAY_TRY(const auto attempts, strings(database, "SELECT attempt_id FROM bundles"));
  ASSAY_TRY(const std::vector<fs::path> bundles, fresh_bundles(spool, attempts, report));
  if (bundles.empty()) return report;
  ASSAY_CHECK_OK(check_free_space(database_path, bundles));

  // One appender keeps one thread busy; more of them only wait on each other (10 million samples: 1.6 s of CPU,
  // not 2.5).
  ASSAY_CHECK_OK(database.execute("SET threads = 1; BEGIN"));
  Status done = Ingest(database, report).run(bundles);
  if (done) done = database.execute("COMMIT");
  if (!done) {
    // The first error is reported; after it a rollback may fail too.
    if (const Status undone = database.execute("ROLLBACK"); !undone) log_debug("{}", to_string(undone.error()));
    return tl::unexpected<Error>(
        with_context(std::move(done), fmt::format("while ingesting {} results of '{}'", bundles.size(), spool.string()))
            .error());
  }
  // So that the log is empty whenever nobody writes.
  if (const Status checkpoint = database.execute("CHECKPOINT"); !checkpoint)
    log_warning("{}", to_string(checkpoint.error()));
  if (const Status reset = database.execute("RESET threads"); !reset) log_debug("{}", to_string(reset.error()));
  return report;
}

}  // namespace assay::duckdb
