// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"
#include "history/store/bundle.hpp"
#include "history/store/export.hpp"
#include "history/store/rows.hpp"

namespace assay {

/// What an ingest did.
struct IngestReport {
  std::size_t bundles = 0;     ///< ingested now
  std::uint64_t samples = 0;   ///< their steady samples
  std::size_t known = 0;       ///< ingested before
  std::size_t moved = 0;       ///< bundles moved from a folder of unsaved bundles into its spool (unsaved.hpp)
  std::vector<Error> refused;  ///< damaged, or with keys of another version; the others are ingested
};

/// Which results. Empty fields do not filter.
struct ResultFilter {
  std::string run_id{}, task_key{}, series_key{}, model{}, engine{}, hardware{};
  bool judged = false;           ///< requires a verdict: not `unverified`, and not an older verdict
  bool latest_per_task = false;  ///< selects the newest result of each task key among those that match the other fields
};

struct StoreSummary {
  std::uint64_t runs = 0, results = 0, samples = 0, bundles = 0;
  std::uint64_t database_bytes = 0;
};

/// The history of results in one DuckDB file (tables: src/history/store/migrations/, docs/formats.md).
///
/// Nothing is lost because the bundle is written first (bundle.hpp) and ingested later: a database that is busy, full
/// or broken costs no result. Many bundles go in one transaction; a process killed in between leaves the file as it
/// was. Workers never open the database. The file belongs on a local disk: locks of network file systems are not
/// reliable, and opening one there warns.
/// A bundle is one launch, a row of the table `launches`. The rows of benchmark_results are those of cells, derived
/// from their launches when they are ingested (cells.hpp): a launch that is ingested later changes the cell's row.
/// Thread: one at a time. Out of scope: computing statistics; those of a launch come with its record.
class Store {
 public:
  enum class Mode { kRead, kWrite };

  /// Writing creates the database if there is none, and brings an older schema up to date. Reading opens the published
  /// snapshot, if there is one, while another process writes. Waits up to `wait` for another process.
  /// Errors: store_busy (names the process), not_found (reading), invalid_argument (the file belongs to another
  /// program, or may not be written), unsupported (of a newer assay, or of a development version before the first
  /// release), internal.
  [[nodiscard]] static Result<Store> open(const std::filesystem::path& database, Mode mode,
                                          std::chrono::milliseconds wait = {});

  /// Opens the published snapshot and nothing else, so that no writer waits for this reader.
  /// Errors: not_found (there is no snapshot; says how to get one), those of reading.
  [[nodiscard]] static Result<Store> open_snapshot(const std::filesystem::path& database);

  /// Publishes the snapshot of a database that has none, such as one that was copied without it; the database itself is
  /// only read. Does nothing if there is a snapshot, or no database. Waits up to `wait` for another process.
  /// Errors: store_busy (another process has the database, to write or to read), unsupported (of another schema), those
  /// of publish_snapshot.
  [[nodiscard]] static Status publish_missing_snapshot(const std::filesystem::path& database,
                                                       std::chrono::milliseconds wait = {});

  /// Whether open() for writing would succeed now, with its errors, without changing the file: an older schema stays as
  /// it is. Its file for locks (`<database>.lock`) may be created. A database that does not exist can be written if its
  /// folder can.
  struct Writable {
    bool older = false;  ///< opening it for writing brings its schema up to date
  };
  [[nodiscard]] static Result<Writable> check_writable(const std::filesystem::path& database);

  /// Makes an empty database. With `overwrite`, an older one and its spool are moved aside, not deleted: returns
  /// where to. Errors: invalid_argument (it exists and `overwrite` is false), those of open().
  [[nodiscard]] static Result<std::vector<std::filesystem::path>> init(const std::filesystem::path& database,
                                                                       const std::filesystem::path& spool,
                                                                       bool overwrite);

  /// Creates the database again from the bundles, puts it in the old one's place and publishes its snapshot. The old
  /// one is kept as `<database>.bak-<time>`, the path in `kept`, if it could not be read, had results that no bundle
  /// has, or tables and views that users added. Errors: unsupported (as open()), and those of ingest().
  struct Rebuilt {
    IngestReport ingested;
    std::optional<std::filesystem::path> kept;
  };
  [[nodiscard]] static Result<Rebuilt> rebuild(const std::filesystem::path& database,
                                               const std::filesystem::path& spool);

  /// Writes the database again without the space that deleted rows left, puts the copy in its place and publishes its
  /// snapshot. Sizes are bytes. Errors: not_found, store_busy, internal (too little free space; the copy has other
  /// numbers of rows); then the database is unchanged.
  struct Compacted {
    std::uint64_t before = 0, after = 0;
  };
  [[nodiscard]] static Result<Compacted> compact(const std::filesystem::path& database);

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// The file that is open: the database, or its snapshot.
  [[nodiscard]] const std::filesystem::path& path() const;

  /// Ingests every new bundle of the spool in one transaction; seals those whose writer was killed
  /// (seal_abandoned). A bundle is known by its attempt and its hash, so ingesting twice changes nothing. What cannot
  /// be read is reported and left out. The bundles of `<spool>/.unsaved/<run>` move to their spool first, which is then
  /// ingested (move_out_of_unsaved).
  /// Errors: internal (disk full, says how much is needed); then nothing was ingested and the bundles are all there.
  [[nodiscard]] Result<IngestReport> ingest(const std::filesystem::path& spool);

  /// The answer of a query of src/history/store/queries/. `parameters`: an object with the names in the query's head;
  /// one that is missing, and an empty list, is NULL. A name that does not exist is a bug. Errors: those of DuckDB.
  [[nodiscard]] Result<duckdb::Rows> ask(std::string_view query, const Json& parameters = Json::object());

  /// The answer of the user's SQL, within `limits`: one statement that only reads and can stand in
  /// parentheses (SELECT, FROM, WITH, DESCRIBE, SUMMARIZE, SHOW). Columns of types that Rows has no cell for become
  /// text. The store must be open for reading; from then on it cannot open other files.
  /// Errors: invalid_argument (it writes; several or none; or with DuckDB's words, which quote `sql`); store_busy (it
  /// reads samples, and only the snapshot could be opened); out_of_memory (it needs more than its limit); cancelled.
  [[nodiscard]] Result<duckdb::Rows> ask_sql(std::string_view sql, const duckdb::SqlLimits& limits,
                                             const Cancelled& cancelled = {});

  /// Rows of cells, each derived from the launches of one run (core/samples/launches.hpp). Oldest first.
  [[nodiscard]] Result<std::vector<Record>> results(const ResultFilter& filter = {});

  /// Rows of launches, as their bundles have them, with the keys of this assay: also of those that do not count in the
  /// cell's row. Oldest first.
  [[nodiscard]] Result<std::vector<Record>> launches(const ResultFilter& filter = {});

  /// The folder of each attempt's bundle in the spool, by attempt id; of one run, or of all. It has the task key of the
  /// time when it was written.
  [[nodiscard]] Result<std::map<std::string, std::filesystem::path>> bundle_paths(std::string_view run_id = {});

  /// The steady samples of an attempt (one launch), in order. Errors: not_found; store_busy (only the snapshot could be
  /// opened).
  [[nodiscard]] Result<Samples> samples(std::string_view attempt_id);

  /// Writes `<name>.snapshot<extension>` beside the database, with everything but the samples, atomically: readers
  /// and writers do not disturb each other. A query of samples is an error there, also for other programs. Tables that
  /// users added are copied, too; one that cannot be copied is empty there, with a warning. Returns its path.
  [[nodiscard]] Result<std::filesystem::path> publish_snapshot();

  /// export_tables() of history/store/export.hpp. Errors: store_busy too: only the snapshot could be opened, which has
  /// no samples to export.
  [[nodiscard]] Result<std::vector<ExportedTable>> export_tables(const std::filesystem::path& folder,
                                                                 ExportFormat format, bool samples);

  /// Compares every column of every row of assay's tables with what the bundles of the spool give, both ways: values
  /// that differ, rows that are missing, rows that no bundle has, bundles that were not ingested, that are gone or
  /// damaged. Each finding is about one column or kind of row, and has their number and a few examples. Times of
  /// ingesting and migrating, which follow from no bundle, must be possible. The message of a result that another
  /// version of assay composed is not compared: versions use other words. Empty: they agree. Changes nothing.
  /// Errors: store_busy when only the snapshot could be opened, which has no samples to compare.
  [[nodiscard]] Result<std::vector<Error>> verify(const std::filesystem::path& spool);

  [[nodiscard]] Result<StoreSummary> summary();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay
