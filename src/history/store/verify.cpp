// SPDX-License-Identifier: Apache-2.0
#include "history/store/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/store/bundle.hpp"
#include "history/store/compare_samples.hpp"
#include "history/store/compare_tables.hpp"
#include "history/store/ingest.hpp"
#include "history/store/match_bundles.hpp"
#include "history/store/peaks.hpp"
#include "history/store/schema.hpp"

namespace assay::duckdb {
namespace fs = std::filesystem;
namespace {

// The names of what is compared with, in the connection; no file or table of a user is called so.
constexpr const char* kExpected = "assay_expected";
constexpr const char* kGone = "temp.assay_gone_launches";        // launches whose bundle cannot be read
constexpr const char* kRelated = "temp.assay_related_launches";  // all launches of their cells
constexpr const char* kCells = "temp.assay_related_cells";

constexpr std::array kAllTables{"schema_version",    "benchmark_runs",       "hardware_info", "launches",
                                "benchmark_results", "sample_distributions", "bundles",       "samples"};

/// Columns that do not follow from the bundles. Every other column must have the value that the bundles give.
struct Exempt {
  const char* table;
  const char* column;
  const char* why;
  const char* plausible;  ///< SQL condition that is true for each value of the row `t`
};
constexpr Exempt kExempt[] = {{"bundles", "ingested_at", "the clock when it was ingested",
                               "t.ingested_at BETWEEN '2020-01-01'::TIMESTAMP AND now()::TIMESTAMP + INTERVAL 1 DAY"},
                              {"schema_version", "applied_at", "the clock when the database was created or migrated",
                               "t.applied_at BETWEEN '2020-01-01'::TIMESTAMP AND now()::TIMESTAMP + INTERVAL 1 DAY"},
                              {"schema_version", "tool_version", "the assay that created or migrated the database",
                               "regexp_full_match(t.tool_version, '[0-9]+(\\.[0-9]+)*')"}};

// The message of a cell is composed from those of its launches; another version of assay words it in its own way.
constexpr const char* kComposedMessage = "CASE WHEN tool_version = '" ASSAY_VERSION "' THEN message END";

Status fill_expected(const fs::path& file, const fs::path& spool, const std::vector<FreshBundle>& bundles,
                     IngestReport& report, SampleSink& samples) {
  ASSAY_TRY(Database database, Database::open(file, Access::kReadWrite));
  ASSAY_CHECK_OK(ingest_bundles(database, bundles, report, &samples));
  return ingest_peaks(database, spool);
}

/// Detaches, and drops the tables that were made beside the database, whatever happens in between.
class Attached {
 public:
  static Result<Attached> attach(Database& database, const fs::path& file) {
    ASSAY_CHECK_OK(
        database.execute(fmt::format("ATTACH {} AS {} (READ_ONLY)", duckdb::quoted(file.string()), kExpected)));
    return Attached(database);
  }
  Attached(Attached&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Attached& operator=(Attached&&) = delete;
  ~Attached() {
    if (database_ == nullptr) return;
    for (const char* table : {kGone, kRelated, kCells})
      static_cast<void>(database_->execute(fmt::format("DROP TABLE IF EXISTS {}", table)));
    static_cast<void>(database_->execute(fmt::format("DETACH {}", kExpected)));
  }

 private:
  explicit Attached(Database& database) : database_(&database) {}
  Database* database_;
};

Error spool_finding(std::string message, std::string hint) {
  return {ErrorCode::kMismatch, std::move(message), {}, std::move(hint)};
}

/// Launches that cannot be compared, because their bundles are not in the spool, or cannot be read.
struct GoneLaunches {
  Differences absent;             ///< the paths of those that are not in the spool
  std::vector<std::int64_t> ids;  ///< launches that are absent or cannot be read
};

Result<GoneLaunches> find_gone(Database& database, const fs::path& spool, const std::vector<FreshBundle>& bundles) {
  GoneLaunches gone;
  ASSAY_TRY(const Rows expected, database.query(fmt::format("SELECT launch_id FROM {}.launches", kExpected)));
  std::set<std::int64_t> known;
  for (const auto& row : expected.rows) known.insert(row.at(0).get<std::int64_t>());
  for (const FreshBundle& bundle : bundles)
    if (!known.contains(bundle.stored->launch_id)) gone.ids.push_back(bundle.stored->launch_id);
  ASSAY_TRY(const Rows rows, database.query("SELECT launch_id, path FROM main.bundles WHERE launch_id IS NOT NULL AND "
                                            "path IS NOT NULL ORDER BY path"));
  for (const auto& row : rows.rows) {
    const auto id = row.at(0).get<std::int64_t>();
    const auto path = row.at(1).get<std::string>();
    if (std::error_code ignored; known.contains(id) || fs::exists(spool / path, ignored)) continue;
    gone.ids.push_back(id);
    gone.absent.add(fmt::format("'{}'", path));
  }
  return gone;
}

/// Lists what is not compared: the launches that are gone, and the rows of their cells, which are made of them, too.
Status set_apart(Database& database, const std::vector<std::int64_t>& gone) {
  const Json ids[] = {json_text(Json(gone))};
  ASSAY_CHECK_OK(database.execute(fmt::format("CREATE OR REPLACE TEMP TABLE {} (launch_id BIGINT)", kGone)));
  ASSAY_CHECK_OK(
      database.query(fmt::format("INSERT INTO {} SELECT unnest(from_json($1::JSON, '[\"BIGINT\"]'))", kGone), ids));
  return database.execute(
      fmt::format("CREATE OR REPLACE TEMP TABLE {1} AS SELECT launch_id FROM main.launches WHERE result_id IN (SELECT "
                  "result_id FROM "
                  "main.launches WHERE launch_id IN (SELECT launch_id FROM {0})) UNION SELECT launch_id FROM {0}; "
                  "CREATE OR REPLACE TEMP TABLE {2} AS SELECT result_id FROM main.launches WHERE launch_id IN (SELECT "
                  "launch_id FROM {1}) "
                  "UNION SELECT result_id FROM {3}.launches WHERE launch_id IN (SELECT launch_id FROM {1})",
                  kGone, kRelated, kCells, kExpected));
}

std::vector<ComparedTable> compared_tables() {
  const auto unless = [](const char* column, const std::string& rows) {
    return fmt::format("({} IN ({})) IS NOT TRUE", column, rows);
  };
  const auto of_gone = [](const char* column) {
    return fmt::format("SELECT {} FROM main.launches WHERE launch_id IN (SELECT launch_id FROM {})", column, kGone);
  };
  const std::string related = fmt::format("SELECT launch_id FROM {}", kRelated);
  std::vector<ComparedTable> tables{
      {"schema_version", {"version"}, fmt::format("version >= {}", kFirstSchema)},
      {"benchmark_runs", {"run_id"}, unless("run_id", of_gone("run_id"))},
      {"hardware_info", {"hardware_id"}, unless("hardware_id", of_gone("hardware_id"))},
      {"launches", {"launch_id"}, unless("launch_id", related)},
      {"bundles", {"sha256"}, unless("launch_id", related)},
      {"benchmark_results", {"result_id"}, unless("result_id", fmt::format("SELECT result_id FROM {}", kCells))},
      {"sample_distributions",
       {"launch_id", "kind"},
       unless("launch_id", fmt::format("SELECT launch_id FROM {}", kGone))}};
  for (ComparedTable& table : tables) {
    for (const Exempt& exempt : kExempt)
      if (table.name == exempt.table) table.except.emplace_back(exempt.column);
    if (table.name == "benchmark_results") table.instead.emplace_back("message", kComposedMessage);
  }
  return tables;
}

Result<std::vector<Error>> check_plausible(Database& database) {
  std::vector<Error> findings;
  for (const Exempt& exempt : kExempt) {
    const std::string wrong = fmt::format("FROM main.{} AS t WHERE ({}) IS NOT TRUE", exempt.table, exempt.plausible);
    ASSAY_TRY(const Rows count, database.query("SELECT count(*) " + wrong));
    Differences differences{count.rows.at(0).at(0).get<std::uint64_t>()};
    if (differences.count == 0) continue;
    ASSAY_TRY(const Rows examples, database.query(fmt::format("SELECT coalesce({}::VARCHAR, 'NULL') {} LIMIT {}",
                                                              exempt.column, wrong, Differences::kExamples)));
    for (const auto& row : examples.rows) differences.examples.push_back(row.at(0).get<std::string>());
    findings.push_back(table_finding(
        fmt::format("table {}, column {}: values cannot be right ({})", exempt.table, exempt.column, exempt.why),
        differences));
  }
  return findings;
}

/// Samples of launches that there are not.
Result<std::vector<Error>> check_orphans(Database& database) {
  const std::string orphans = fmt::format(
      "FROM main.samples WHERE (launch_id IN (SELECT launch_id FROM {}.launches UNION SELECT launch_id FROM {})) IS "
      "NOT TRUE",
      kExpected, kGone);
  ASSAY_TRY(const Rows count, database.query("SELECT count(*) " + orphans));
  Differences differences{count.rows.at(0).at(0).get<std::uint64_t>()};
  std::vector<Error> findings;
  if (differences.count == 0) return findings;
  ASSAY_TRY(const Rows examples,
            database.query(
                fmt::format("SELECT coalesce(launch_id::VARCHAR, 'NULL'), coalesce(seq::VARCHAR, 'NULL') {} LIMIT {}",
                            orphans, Differences::kExamples)));
  for (const auto& row : examples.rows)
    differences.examples.push_back(
        fmt::format("launch_id {}, seq {}", row.at(0).get<std::string>(), row.at(1).get<std::string>()));
  findings.push_back(table_finding("table samples: there are rows of launches that no bundle has", differences));
  return findings;
}

std::string names_of(const std::vector<fs::path>& folders) {
  Differences list;
  for (const fs::path& folder : folders)
    list.add(fmt::format("'{}'", (folder.parent_path().filename() / folder.filename()).string()));
  return list.listed();
}

/// At most so many findings about single bundles, then how many more there are.
std::vector<Error> bounded(std::vector<Error> errors) {
  constexpr std::size_t kMost = 20;
  if (errors.size() <= kMost) return errors;
  const std::size_t more = errors.size() - kMost;
  errors.resize(kMost);
  errors.push_back(spool_finding(fmt::format("{} more bundles cannot be read", more), ""));
  return errors;
}

}  // namespace

Result<std::vector<Error>> verify_against_bundles(Database& database, const fs::path& spool) {
  std::vector<Error> findings;
  const auto add = [&](std::vector<Error> more) { std::ranges::move(more, std::back_inserter(findings)); };
  ASSAY_TRY(const TemporaryDirectory work, TemporaryDirectory::create());
  const fs::path file = work.path() / "expected.duckdb";
  ASSAY_CHECK_OK(create_database(file));
  {
    ASSAY_TRY(const Attached attached, Attached::attach(database, file));
    for (const char* table : kAllTables) {
      ASSAY_TRY(std::vector<Error> columns, compare_columns(database, kExpected, table));
      add(std::move(columns));
    }
  }
  if (!findings.empty()) return findings;  // rows of other columns cannot be compared

  IngestReport report;
  ASSAY_TRY(const std::vector<fs::path> folders, list_bundles(spool, &report.refused));
  ASSAY_TRY(const MatchedBundles matched, match_bundles(database, folders));
  SampleComparison samples(database);
  ASSAY_CHECK_OK(with_context(fill_expected(file, spool, matched.stored, report, samples),
                              "while reading the bundles to compare the database with"));
  ASSAY_TRY(const Attached attached, Attached::attach(database, file));
  ASSAY_TRY(const GoneLaunches gone, find_gone(database, spool, matched.stored));
  ASSAY_CHECK_OK(set_apart(database, gone.ids));
  add(bounded(std::move(report.refused)));
  if (gone.absent.count > 0)
    findings.push_back(spool_finding(fmt::format("bundles of the database are not in the spool '{}' ({}): {}",
                                                 spool.string(), gone.absent.count, gone.absent.listed()),
                                     "name the spool with --spool if they are elsewhere; `assay db rebuild` makes the "
                                     "database again from the existing bundles, and keeps a copy of this one"));
  if (!matched.unknown.empty())
    findings.push_back(spool_finding(fmt::format("bundles of the spool are not in the database ({}): {}",
                                                 matched.unknown.size(), names_of(matched.unknown)),
                                     "`assay db ingest` adds them"));
  for (const ComparedTable& table : compared_tables()) {
    ASSAY_TRY(std::vector<Error> rows, compare_rows(database, kExpected, table));
    add(std::move(rows));
  }
  add(samples.findings());
  ASSAY_TRY(std::vector<Error> orphans, check_orphans(database));
  add(std::move(orphans));
  ASSAY_TRY(std::vector<Error> implausible, check_plausible(database));
  add(std::move(implausible));
  return findings;
}

}  // namespace assay::duckdb
