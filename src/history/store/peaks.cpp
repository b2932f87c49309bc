// SPDX-License-Identifier: Apache-2.0
#include "history/store/peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/result/newest.hpp"
#include "history/store/duckdb.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = ".peaks";  // no name of a task begins with a dot
constexpr int kVersion = 1;

}  // namespace

Result<fs::path> write_peaks(const fs::path& spool, const RunInfo& run, const Json& peaks) {
  fs::path file = spool / kFolder / (run.run_id + ".json");
  const Json document{{"schema_version", kVersion},
                      {"run_id", run.run_id},
                      {"started", run.started},
                      {"command", run.command},
                      {"tool_version", run.tool_version},
                      {"git_commit", run.git_commit},
                      {"host", run.host},
                      {"hardware_id", run.hardware_fingerprint},
                      {"environment", {{"system_info", run.system}, {"peaks", peaks}}}};
  ASSAY_CHECK_OK(write_file_atomically(file, json_text(document, 2) + "\n"));
  return file;
}

namespace duckdb {
namespace {

// The row of benchmark_runs. Errors: those of reading; unsupported (of a newer assay), invalid_argument.
Result<std::vector<Json>> row_of(const fs::path& file) {
  ASSAY_TRY(const Json document, read_json(file));
  const auto is_text = [&](const char* key) { return document.contains(key) && document[key].is_string(); };
  if (!document.is_object() || !document.contains("schema_version") || !is_text("run_id") || !is_text("hardware_id") ||
      !document.contains("environment"))
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has no peaks of assay", shown_path(file)));
  if (document["schema_version"] != kVersion)
    return fail(ErrorCode::kUnsupported, fmt::format("{} was written by another assay", shown_path(file)));
  std::vector<Json> values;
  for (const char* key : {"run_id", "started", "tool_version", "git_commit", "command", "host", "hardware_id"})
    values.push_back(is_text(key) ? Json(sanitise(document[key].get<std::string>())) : Json());
  // Not the time of the ingest: `db verify` reads the file at another time, and must get the same value.
  if (Json& started = values[1]; started.is_string() && !is_credible_time(started.get<std::string>(), wall_now()))
    started = Json();
  values.emplace_back(json_text(document["environment"]));
  return values;
}

}  // namespace

Status ingest_peaks(Database& database, const fs::path& spool) {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(spool / kFolder, absent))
    if (entry.path().extension() == ".json" && entry.is_regular_file(absent)) files.push_back(entry.path());
  std::ranges::sort(files);
  bool added = false;
  for (const fs::path& file : files) {
    const Result<std::vector<Json>> values = row_of(file);
    if (!values) {
      log_warning("measured peaks are left out: {}", values.error().message);
      continue;
    }
    const Json run[] = {values->front()};
    ASSAY_TRY(const Rows known, database.query("SELECT 1 FROM benchmark_runs WHERE run_id = $1", run));
    if (!known.rows.empty()) continue;
    ASSAY_CHECK_OK(database.query(
        "INSERT INTO benchmark_runs (run_id, started_at, tool_version, git_commit, command, host, hardware_id, "
        "environment) VALUES ($1, TRY_CAST($2 AS TIMESTAMP), $3, $4, $5, $6, $7, $8)",
        *values));
    added = true;
  }
  // So that the log is empty whenever nobody writes.
  if (added)
    if (const Status checkpoint = database.execute("CHECKPOINT"); !checkpoint)
      log_warning("{}", checkpoint.error().message);
  return {};
}

}  // namespace duckdb
}  // namespace assay
