// SPDX-License-Identifier: Apache-2.0
#include "history/store/ingest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <tuple>

#include "core/base/clock.hpp"
#include "core/base/guard.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "core/samples/launches.hpp"
#include "core/samples/samples_file.hpp"
#include "history/store/cells.hpp"
#include "history/store/distribution_codec.hpp"
#include "history/store/distributions_table.hpp"
#include "history/store/fresh_bundles.hpp"
#include "history/store/read_ahead.hpp"
#include "history/store/sample_appender.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kReaders = 2;  // they check and read files while the database is written
constexpr std::size_t kWaitingBundles =
    2000;                                 // some kilobytes each; a run, so that one is read while another is written
constexpr std::size_t kWaitingCells = 8;  // some megabytes each
constexpr std::uint64_t kReserveBytes = 64'000'000;  // one row group, the log and the checkpoint

Result<std::set<std::string>> strings(Database& database, const std::string& sql) {
  ASSAY_TRY(const Rows rows, database.query(sql));
  std::set<std::string> values;
  for (const auto& row : rows.rows)
    if (row.at(0).is_string()) values.insert(row.at(0).get<std::string>());
  return values;
}

Status check_free_space(const fs::path& database_path, const std::vector<FreshBundle>& bundles) {
  std::uint64_t needed = kReserveBytes;
  std::error_code error;
  for (const FreshBundle& bundle : bundles)
    if (const std::uint64_t size = fs::file_size(bundle.folder / bundle_file::kSamples, error); !error) needed += size;
  const fs::path folder = fs::absolute(database_path, error).parent_path();
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= needed) return {};
  return fail(ErrorCode::kInternal,
              fmt::format("the disk of '{}' has {} MB free, and ingesting {} results needs about {} MB",
                          database_path.string(), space.available / 1'000'000, bundles.size(), needed / 1'000'000 + 1),
              "free some disk space and run `assay db rebuild`; the results are in the spool");
}

/// The rows of one transaction. When all bundles of a run were read, the launches of its cells are known; then each
/// cell's launches, samples and row are written together, while other threads read the bundles of the next runs. Only
/// this thread touches the database.
class Ingest {
 public:
  Ingest(Database& database, IngestReport& report, SampleSink* samples)
      : database_(database), report_(report), samples_(samples) {}

  Status run(const std::vector<FreshBundle>& bundles) {
    ASSAY_TRY(hashes_, strings(database_, "SELECT sha256 FROM bundles"));
    ASSAY_TRY(runs_, strings(database_, "SELECT run_id FROM benchmark_runs"));
    ASSAY_TRY(machines_, strings(database_, "SELECT hardware_id FROM hardware_info"));
    ASSAY_TRY(const Rows last, database_.query("SELECT coalesce(max(launch_id), 0) FROM launches"));
    next_id_ = last.rows.at(0).at(0).get<std::int64_t>() + 1;
    ASSAY_TRY(Appenders to, create_appenders());
    std::map<std::string, std::size_t> missing;  // bundles of a run that were not read yet
    for (const FreshBundle& bundle : bundles) ++missing[bundle.run_id];
    ReadAhead<Result<Bundle>> ahead(bundles.size(), kReaders, kWaitingBundles, [&](std::size_t i) {
      return guarded("while reading a bundle", [&] { return read_bundle(bundles[i].folder); });
    });
    for (const FreshBundle& fresh : bundles) {
      Result<Bundle> bundle = ahead.next();
      if (!bundle) {
        report_.refused.push_back(std::move(bundle).error());
      } else if (!hashes_.insert(bundle->sha256).second) {
        ++report_.known;
      } else {
        ASSAY_CHECK_OK(add_bundle(std::move(*bundle), fresh.stored, cells_[fresh.run_id]));
      }
      if (--missing[fresh.run_id] == 0) ASSAY_CHECK_OK(write_cells(cells_[fresh.run_id], to));
    }
    ASSAY_CHECK_OK(to.launches.close());
    ASSAY_CHECK_OK(to.results.close());
    ASSAY_CHECK_OK(to.distributions.close());
    ASSAY_CHECK_OK(to.bundles.close());
    return samples_->close();
  }

 private:
  struct FreshLaunch {
    Launch launch;
    fs::path folder;
    std::string sha256;
    bool has_samples = false;
    std::optional<StoredChoice> stored;
  };
  struct Cell {
    bool stored = false;
    std::vector<FreshLaunch> fresh;
  };
  using Cells = std::map<std::int64_t, Cell>;
  /// What needs no database, made by a thread that reads ahead. A cell that the database has is derived later.
  struct ReadCell {
    std::vector<Launch> launches;                                ///< the fresh ones, with their samples
    std::vector<std::vector<SampleDistribution>> distributions;  ///< the distributions of each launch
    std::vector<Error> unreadable;                               ///< files of samples
    std::optional<Record> row;
  };
  struct Appenders {
    Appender launches, results, distributions, bundles;
  };

  Status add_bundle(Bundle bundle, const std::optional<StoredChoice>& stored, Cells& of_run) {
    correct_times(bundle, time_of_ingest(stored));
    const CellName name = cell_name(bundle.record);
    ASSAY_CHECK_OK(read_cells_of(name.run_id));
    ASSAY_CHECK_OK(add_run(bundle));
    ASSAY_CHECK_OK(add_machine(bundle));
    const std::int64_t id = stored ? stored->launch_id : next_id_++;
    const std::int64_t result_id = result_ids_.try_emplace(name, id).first->second;
    Cell& cell = of_run[result_id];
    cell.stored = stored_cells_.contains(result_id);
    cell.fresh.push_back({{id, std::move(bundle.record)}, bundle.folder, bundle.sha256, bundle.has_samples, stored});
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
    for (const auto& row : rows.rows) {
      const auto result_id = row[0].get<std::int64_t>();
      result_ids_[{run_id, row[1].get<std::string>(), row[2].get<std::string>(), row[3].get<std::string>()}] =
          result_id;
      stored_cells_.insert(result_id);
    }
    return {};
  }

  Result<Appenders> create_appenders() {
    std::vector<std::string> columns{"result_id"};
    for (const Field& field : result_fields()) columns.emplace_back(field.name);
    ASSAY_TRY(Appender results, Appender::create(database_, "benchmark_results", columns));
    columns.insert(columns.begin(), {"launch_id", "counted"});
    ASSAY_TRY(Appender launches, Appender::create(database_, "launches", columns));
    ASSAY_TRY(Appender distributions, Appender::create(database_, "sample_distributions", kDistributionColumns));
    const std::array<std::string, 7> of_bundles{"sha256",  "path",      "attempt_id", "result_id",
                                                "samples", "launch_id", "ingested_at"};
    ASSAY_TRY(Appender bundles, Appender::create(database_, "bundles", of_bundles));
    if (samples_ == nullptr) {
      ASSAY_TRY(SampleAppender own, SampleAppender::create(database_));
      samples_ = &own_samples_.emplace(std::move(own));
    }
    return Appenders{std::move(launches), std::move(results), std::move(distributions), std::move(bundles)};
  }

  /// Takes the cells' launches.
  Status write_cells(Cells& of_run, Appenders& to) {
    std::vector<Cells::pointer> cells;
    for (auto& cell : of_run) cells.push_back(&cell);
    ReadAhead<Result<ReadCell>> ahead(cells.size(), kReaders, kWaitingCells, [&](std::size_t i) {
      return guarded("while reading samples", [&]() -> Result<ReadCell> { return read_cell(cells[i]->second); });
    });
    for (auto* cell : cells) {
      ASSAY_TRY(ReadCell read, ahead.next());
      for (const Error& error : read.unreadable) log_warning("{}", to_string(error));
      ASSAY_CHECK_OK(write_cell(cell->first, cell->second, std::move(read), to));
    }
    of_run.clear();
    return {};
  }

  static ReadCell read_cell(Cell& cell) {
    ReadCell read;
    for (FreshLaunch& fresh : cell.fresh) {
      Launch& launch = read.launches.emplace_back(std::move(fresh.launch));
      std::vector<SampleDistribution>& distributions = read.distributions.emplace_back();
      launch.samples.emplace();
      if (!fresh.has_samples) continue;
      // A worker that was killed early leaves a file without a header: the result stands, without samples.
      auto file = read_samples(fresh.folder / bundle_file::kSamples);
      if (!file) {
        read.unreadable.push_back(std::move(file).error());
        continue;
      }
      distributions = distributions_of(file->samples, first_steady(launch));
      launch.samples = steady_part(std::move(file->samples), first_steady(launch));
    }
    if (cell.stored) return read;
    choose_counted(read.launches);
    read.row = combine_cell(read.launches);
    return read;
  }

  static std::size_t first_steady(const Launch& launch) {
    return static_cast<std::size_t>(std::max<std::int64_t>(launch.row.steady_from.value_or(0), 0));
  }

  Status write_cell(std::int64_t result_id, const Cell& cell, ReadCell read, Appenders& to) {
    if (cell.stored) {
      ASSAY_TRY(auto stored, read_launches(database_, result_id, result_id));
      std::vector<Launch> launches = std::move(stored[result_id]);
      const std::size_t before = launches.size();
      std::ranges::move(read.launches, std::back_inserter(launches));
      if (choose_counted(launches)) ASSAY_CHECK_OK(change_counted(std::span(launches).first(before)));
      ASSAY_TRY(read.row, derive_cell(database_, launches));
      const Json parameters[] = {result_id};
      ASSAY_CHECK_OK(query("DELETE FROM benchmark_results WHERE result_id = $1", parameters));
      read.launches.assign(std::make_move_iterator(launches.begin() + static_cast<std::ptrdiff_t>(before)),
                           std::make_move_iterator(launches.end()));
    }
    for (std::size_t i = 0; i < read.launches.size(); ++i)
      ASSAY_CHECK_OK(write_launch(result_id, read.launches[i], read.distributions[i], cell.fresh[i], to));
    return to.results.append(result_cells(result_id, *read.row));
  }

  Status change_counted(std::span<const Launch> stored) {
    for (const Launch& launch : stored) {
      const Json counted[] = {launch.counted, launch.id};
      ASSAY_CHECK_OK(query("UPDATE launches SET counted = $1 WHERE launch_id = $2 AND counted <> $1", counted));
    }
    return {};
  }

  Status write_launch(std::int64_t result_id, const Launch& launch,
                      const std::vector<SampleDistribution>& distributions, const FreshLaunch& fresh, Appenders& to) {
    std::vector<Json> values = result_cells(result_id, launch.row);
    values.insert(values.begin(), {launch.id, launch.counted});
    ASSAY_CHECK_OK(to.launches.append(values));
    for (const SampleDistribution& distribution : distributions)
      ASSAY_CHECK_OK(to.distributions.append(distribution_cells(launch.id, distribution)));
    ASSAY_CHECK_OK(samples_->append(launch.id, *launch.samples, first_steady(launch)));
    const fs::path& folder = fresh.folder;
    const Json bundle[] = {fresh.sha256,
                           (folder.parent_path().filename() / folder.filename()).string(),
                           folder.filename().string(),
                           result_id,
                           launch.samples->size(),
                           launch.id,
                           ingested_at(fresh)};
    ASSAY_CHECK_OK(to.bundles.append(bundle));
    ++report_.bundles;
    report_.samples += launch.samples->size();
    return {};
  }

  // What verify() compares with was ingested before.
  [[nodiscard]] WallTime time_of_ingest(const std::optional<StoredChoice>& stored) const {
    if (!stored || stored->ingested_at.empty()) return now_;
    std::string text = stored->ingested_at + "Z";  // as DuckDB prints it, in UTC
    std::ranges::replace(text, ' ', 'T');
    return parse_iso8601(text).value_or(now_);
  }

  [[nodiscard]] Json ingested_at(const FreshLaunch& fresh) const {
    if (!fresh.stored) return iso8601(now_);
    return fresh.stored->ingested_at.empty() ? Json() : Json(fresh.stored->ingested_at);
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
  // Destroyed before the transaction ends: an appender adds what it still has.
  std::optional<SampleAppender> own_samples_;
  SampleSink* samples_;
  std::set<std::string> hashes_, runs_, machines_;
  std::set<std::string> known_runs_;  ///< those whose cells are in result_ids_
  std::map<CellName, std::int64_t> result_ids_;
  std::set<std::int64_t> stored_cells_;
  std::map<std::string, Cells> cells_;  ///< those with new launches, by run
  std::int64_t next_id_ = 1;
  const WallTime now_ = wall_now();
};

}  // namespace

void correct_times(Bundle& bundle, WallTime now) {
  correct_time(bundle.record, now);
  bundle.context.started = credible_time(std::move(bundle.context.started), now);
}

Status ingest_bundles(Database& database, const std::vector<FreshBundle>& bundles, IngestReport& report,
                      SampleSink* samples) {
  // One appender keeps one thread busy; more of them only wait on each other (10 million samples: 1.6 s of CPU,
  // not 2.5).
  ASSAY_CHECK_OK(database.execute("SET threads = 1; BEGIN"));
  Status done = Ingest(database, report, samples).run(bundles);
  if (done) done = database.execute("COMMIT");
  // The first error is reported; after it a rollback may fail too.
  if (!done)
    if (const Status undone = database.execute("ROLLBACK"); !undone) log_debug("{}", to_string(undone.error()));
  // A checkpoint compresses, for which more threads help.
  if (const Status reset = database.execute("RESET threads"); !reset) log_debug("{}", to_string(reset.error()));
  return done;
}

Result<IngestReport> ingest_spool(Database& database, const fs::path& database_path, const fs::path& spool) {
  IngestReport report;
  ASSAY_TRY(const std::size_t sealed, seal_abandoned(spool));
  if (sealed > 0) log_info("{} attempts that were cut short are kept, flagged 'partial'", sealed);
  ASSAY_TRY(const auto attempts, strings(database, "SELECT attempt_id FROM bundles"));
  ASSAY_TRY(const std::vector<FreshBundle> bundles, fresh_bundles(spool, attempts, report));
  if (bundles.empty()) return report;
  ASSAY_CHECK_OK(check_free_space(database_path, bundles));

  ASSAY_CHECK_OK(with_context(ingest_bundles(database, bundles, report),
                              fmt::format("while ingesting {} results of '{}'", bundles.size(), spool.string())));
  // So that the log is empty whenever nobody writes.
  if (const Status checkpoint = database.execute("CHECKPOINT"); !checkpoint)
    log_warning("{}", to_string(checkpoint.error()));
  return report;
}

}  // namespace assay::duckdb
