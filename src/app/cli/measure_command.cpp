// SPDX-License-Identifier: Apache-2.0
#include "app/cli/measure_command.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/beside.hpp"
#include "app/cli/cache_folder.hpp"
#include "app/cli/failure.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/live.hpp"
#include "app/cli/plan_output.hpp"
#include "app/cli/progress.hpp"
#include "app/suite/folder.hpp"
#include "app/suite/matrix_file.hpp"
#include "app/suite/pictures.hpp"
#include "bench/run/places.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/shell.hpp"
#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/store/store.hpp"
#include "show/report/format.hpp"

namespace assay::cli {
namespace {

std::string finished_line(const Record& row) {
  std::string line = fmt::format("{} on {}", row.model, target_key(row));
  if (row.batch_size) line += " " + shape_key(row);
  line +=
      fmt::format(": {}", row.status == CellStatus::kCompleted ? to_string(row.verification) : to_string(row.status));
  if (row.latency_p50_ms)
    line += fmt::format(", median{} {} ms", row.ttft_ms ? " of a generation" : "", in_words(*row.latency_p50_ms, 4));
  // What did not start is explained at the end, once for all of its cells.
  const bool ran = row.status == CellStatus::kFailed || row.status == CellStatus::kWrong;
  const std::string why = ran || !row.reason_code ? message_text(row) : std::string(to_string(row.reason_code));
  if (row.status != CellStatus::kCompleted && !why.empty()) line += " (" + why + ")";
  return line;
}

std::string launched_line(const Record& row) {
  std::string line =
      fmt::format("{} on {} {}, launch {}", row.model, target_key(row), shape_key(row), row.launch_number.value_or(1));
  if (row.status != CellStatus::kCompleted) return line + fmt::format(": {}", to_string(row.status));
  if (row.latency_p50_ms) line += fmt::format(": median {} ms", in_words(*row.latency_p50_ms, 4));
  return line;
}

// The history of this machine, of a busy database from its snapshot.
Result<std::vector<Record>> history_of(const SessionRequest& request, const SessionResult& session) {
  ASSAY_TRY(Store store, Store::open(request.database, Store::Mode::kRead));
  // Bundles of other machines may be there: their times say nothing about this one.
  ASSAY_TRY(const duckdb::Rows rows, store.ask("matrix_rows", {{"machine", session.run.hardware_fingerprint}}));
  return rows.records();
}

// From the history and these rows; an earlier matrix stays as it is if the history cannot be read.
Status write_matrix(const std::vector<std::filesystem::path>& folders, const SessionRequest& request,
                    const SessionResult& session) {
  const Result<std::vector<Record>> history = history_of(request, session);
  std::vector<Record> rows = history.value_or(std::vector<Record>());
  std::set<std::string> stored{""};  // not reached: not a fact about the hardware
  for (const Record& row : rows) stored.insert(row.attempt_id);
  std::ranges::copy_if(session.rows, std::back_inserter(rows),
                       [&](const Record& row) { return !stored.contains(row.attempt_id); });
  const Json matrix = compatibility_matrix(rows, session.run, iso8601(wall_now()));
  Status done;
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path file = folder / kMatrixFile;
    std::error_code ignored;
    if (!history && std::filesystem::exists(file, ignored))
      done = with_context(Status(tl::unexpected<Error>(history.error())),
                          fmt::format("the earlier '{}' stays as it is", kMatrixFile));
    else if (const Result<std::string> kept = suite::write_matrix_file(file, matrix, rows); !kept)
      done = tl::unexpected<Error>(kept.error());
    else if (!kept->empty())
      log_info("{}", *kept);
  }
  return done;
}

std::string free_stamp(const Output& output, const RunInfo& run) {
  if (!output.stamped) return {};
  const std::string first = guide_timestamp(run);
  std::string stamp = first;
  const auto taken = [&](const ResultFile& file) {
    std::error_code ignored;
    return std::filesystem::exists(output.folder / (file.prefix + stamp + file.suffix), ignored);
  };
  for (int i = 2; std::ranges::any_of(output.files, taken); ++i) stamp = fmt::format("{}_{}", first, i);
  return stamp;
}

}  // namespace

Result<SessionRequest> make_request(const MeasuringOptions& options, const Context& context) {
  SessionRequest request;
  request.command = context.command_line;
  request.targets = options.target_request();
  ASSAY_TRY(request.settings, options.settings());
  request.database = database_path(options.db_path);
  request.spool = spool_path(options.spool, request.database);
  request.resume = options.resume;
  return request;
}

Result<SessionResult> run_with_progress(SessionRequest request, const MeasuringOptions& options,
                                        const Context& context) {
  ASSAY_CHECK_OK(check_places(request));  // before this command waits for others
  ASSAY_TRY(const MachineMark beside,
            begin_beside_others(request.command, request.save ? request.database : "", options.wait));
  std::optional<MeasuringMark> mark;
  std::optional<ProgressFile> shown;
  if (request.save) {
    ASSAY_TRY(mark, MeasuringMark::begin(request.database, request.command));
    shown.emplace(request.database, request.command);
  }
  Progress progress(context.terminal && !options.debug && !options.verbose, options.quiet);
  ASSAY_TRY(const CacheFolder cache, CacheFolder::open());
  request.cache = cache.path();
  request.cancelled = interrupted;
  request.others = [&beside] { return beside.others(); };
  request.doing = [&](const std::string& what) { progress.set_step(what); };
  request.making = [&](const std::string& what) { progress.set_long_step(what); };
  request.expecting = [&](std::size_t cells) {
    progress.set_total(cells);
    if (shown) shown->expecting(cells);
  };
  request.time_left = [&](const TimeLeft& left) {
    progress.set_left(left.launches_done, left.launches, left.seconds);
    if (shown) shown->left(left);
  };
  if (request.settings.launches > 1)
    request.launched = [&](const Record& row, bool kept) {
      progress.launched(launched_line(row), kept);
      if (shown && !kept) shown->launched(launched_line(row));
    };
  request.finished = [&](const Record& row, bool kept) {
    progress.finished(finished_line(row), kept);
    if (shown) shown->finished(finished_line(row));
  };
  return run_session(request);
}

Result<ExitCode> show_plan(SessionRequest request, const MeasuringOptions& options, const Context& context) {
  ASSAY_CHECK_OK(check_places(request));
  Progress progress(context.terminal && !options.debug && !options.verbose, options.quiet);
  ASSAY_TRY(const CacheFolder cache, CacheFolder::open());
  request.cache = cache.path();
  request.cancelled = interrupted;
  request.doing = [&](const std::string& what) { progress.set_step(what); };
  ASSAY_TRY(SessionPlan plan, plan_session(request));
  PlanList list = list_plan(request, std::move(plan));
  if (request.resume) list.notes.emplace_back("--resume keeps launches that are complete: it takes less time");
  std::fputs((options.json() ? json_text(plan_json(list), 2) + "\n" : plan_text(list)).c_str(), stdout);
  return ExitCode::kSuccess;
}

ReportInput report_input(const SessionResult& session) {
  return {session.run,
          session.rows,
          session.notes,
          session.interrupted,
          session.resume_command,
          session.kept,
          {.logs = session.logs, .matrix = {}},
          engine_registry().entries(),
          session.partly,
          session.spent};
}

namespace {

// After everything else, so that neither a measurement nor a result waits for pictures.
Status draw_pictures(const Output& output, const SessionRequest& request, const SessionResult& session, bool json) {
  const std::filesystem::path& folder = output.folder;
  const bool stored = request.save && !session.store_failed;
  const suite::Pictures made = suite::write_pictures(
      suite::dataset_of_run(stored ? request.database : std::filesystem::path(), session.run.run_id, session.rows),
      folder, session.interrupted ? Cancelled() : interrupted);
  for (const std::string& note : made.notes) log_warning("{}", note);
  // What a suite's folder alone lacks, the history may have.
  const bool of_folder = !output.stamped || !stored;
  const std::string command = of_folder ? "assay suite --plot-only " + shell_quoted(folder.string())
                                        : fmt::format("assay plot --chart NAME{}", database_option(request.database));
  std::string line;
  if (made.page) line = fmt::format("Dashboard: {}", made.page->string());
  if (made.charts > 0)
    line +=
        fmt::format("{}{} charts in {}", made.page ? "; " : "", made.charts, (folder / suite::kPlotsFolder).string());
  for (const std::string& each : {made.not_drawn.short_line(command), line})
    if (json && !each.empty())
      log_info("{}", each);
    else if (!each.empty())
      std::printf("%s\n", sanitise(each).c_str());
  return suite::status_of(made);
}

// A launch without a bundle is in the answer and the reports, but in no database.
void say_what_is_saved(const SessionRequest& request, const SessionResult& session) {
  constexpr std::size_t kMostShown = 5;
  for (std::size_t i = 0; i < session.unsaved.size() && i < kMostShown; ++i)
    log_warning("the result of {} is not saved: {}", session.unsaved[i].first, session.unsaved[i].second);
  if (session.unsaved.size() > kMostShown)
    log_warning("{} more are not saved", counted(session.unsaved.size() - kMostShown, "result"));
  if (!request.save || session.store_failed) return;
  if (session.unsaved.empty())
    log_info("saved in the database '{}'", request.database.string());
  else if (session.saved > 0)
    log_info("the other results are in the database '{}'", request.database.string());
}

}  // namespace

std::vector<ResultFile> files_of_run(const ReportInput& input) {
  return {{"benchmark_results_", ".json", [&input] { return json_text(guide_json(input), 2) + "\n"; }},
          {"benchmark_results_", ".csv", [&input] { return csv_table(input.rows); }},
          {"benchmark_report_", ".md", [&input] { return markdown_report(input); }}};
}

std::string files_of_run_line(const std::filesystem::path& folder, const std::string& stamp,
                              const std::string& database) {
  return fmt::format("\nResults: {0}/benchmark_results_{1}.{{json,csv}}, benchmark_report_{1}.md; database: {2}\n",
                     folder.string(), stamp, database);
}

ExitCode finish(const Output& output, const MeasuringOptions& options, const SessionRequest& request,
                SessionResult& session) {
  ExitCode failures = ExitCode::kSuccess;
  const auto step = [&](const char* doing, const auto& body) {
    const Status done = with_context(guarded({}, body), doing);
    if (done) return true;
    print_failure(failure_of(done.error()), false);  // stdout takes the results alone
    failures = worse(failures, exit_code_of(done.error().code));
    return false;
  };
  const std::string stamp = free_stamp(output, session.run);
  bool written = true;
  for (const ResultFile& file : output.files)
    written &= step("while writing the results", [&]() -> Status {
      return write_file_atomically(output.folder / (file.prefix + stamp + file.suffix), file.text());
    });
  step("while printing the results", [&]() -> Status {
    const std::string printed = options.json() ? json_text(output.document(), 2) + "\n"
                                               : output.text(!written         ? ""
                                                             : output.stamped ? stamp
                                                                              : guide_timestamp(session.run));
    std::fputs(printed.c_str(), stdout);
    std::fflush(stdout);  // main() looks whether it could be written
    return {};
  });
  for (const std::string& note : save_session(request, session)) log_warning("{}", note);
  say_what_is_saved(request, session);
  if (output.matrix)
    step("while writing the compatibility matrix", [&] {
      std::vector<std::filesystem::path> folders{output.folder};
      if (!output.matrix_copy.empty()) folders.push_back(output.matrix_copy);
      return write_matrix(folders, request, session);
    });
  if (output.pictures && !measured_nothing(session.rows))
    step("while adding the charts and the dashboard",
         [&] { return draw_pictures(output, request, session, options.json()); });
  return worse(exit_code_of(session, request.models, output.verifies), failures);
}

int output_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40 ? size.ws_col : 160;
}

}  // namespace assay::cli
