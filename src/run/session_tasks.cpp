// SPDX-License-Identifier: Apache-2.0
#include "run/session_tasks.hpp"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "plan/row.hpp"
#include "result/keys.hpp"
#include "run/complete.hpp"
#include "store/bundle.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// The row of a task that was not reached, with its reason. What cannot run at all keeps its own.
Record unreached_row(Record row, const Refusal& why) {
  if (row.reason_code.empty()) set_refusal(row, why);
  row.task_key = task_key(row);
  row.series_key = series_key(row);
  row.timestamp = iso8601(wall_now());
  return row;
}

// Inputs that cannot be made cost their task only.
void complete_tasks(PlannedModel& planned, const SessionRequest& request) {
  TaskCompleter completer(planned.model, request.cache / "inputs", request.settings.data);
  for (Task& task : planned.tasks) {
    const Status done = guarded("while making the inputs", [&]() -> Status {
      completer.complete(task);
      return {};
    });
    if (!done) set_failure(task.row, done.error());
  }
}

}  // namespace

Status run_planned(std::vector<PlannedModel> planned, const SessionRequest& request, ExecutorServices services,
                   SessionResult& out) {
  std::set<std::string> resumed;
  for (const auto& [key, row] : services.resumed) resumed.insert(row.attempt_id);
  const fs::path spool = services.spool;
  std::size_t reached = 0;
  const auto finished = [&](const Record& row) {
    ++reached;
    out.rows.push_back(row);
    const bool kept = resumed.contains(row.attempt_id);
    if (kept) out.kept.insert(row.attempt_id);
    const fs::path log = spool / row.task_key / row.attempt_id / bundle_file::kLog;
    std::error_code ignored;
    if (!row.attempt_id.empty() && fs::exists(log, ignored)) out.logs[row.attempt_id] = log;
    if (request.finished) request.finished(row, kept);
  };
  ASSAY_TRY(const std::unique_ptr<Executor> executor, LocalExecutor::create(out.run, std::move(services)));
  for (PlannedModel& each : planned) {
    std::vector<Record> rows;
    rows.reserve(each.tasks.size());
    for (const Task& task : each.tasks) rows.push_back(task.row);
    reached = 0;
    Status done;
    if (!request.cancelled()) {
      done = guarded("while running " + each.model.choice.name, [&] {
        complete_tasks(each, request);
        return executor->run(std::move(each.tasks), finished);
      });
    }
    for (std::size_t cell = reached; cell < rows.size(); ++cell) {
      if (request.cancelled()) {
        out.rows.push_back(
            unreached_row(std::move(rows[cell]), {CellStatus::kSkipped, std::string(to_string(ErrorCode::kCancelled)),
                                                  "interrupted before it ran", "run the same command with --resume"}));
      } else if (!done) {
        Record failed;
        set_failure(failed, done.error());
        finished(
            unreached_row(std::move(rows[cell]), {failed.status, failed.reason_code, failed.message, failed.hint}));
      }
    }
  }
  return {};
}

}  // namespace assay
