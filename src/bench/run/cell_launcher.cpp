// SPDX-License-Identifier: Apache-2.0
#include "bench/run/cell_launcher.hpp"

#include <fmt/format.h>

#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include "bench/plan/row.hpp"
#include "bench/plan/schedule.hpp"
#include "bench/run/attempt.hpp"
#include "bench/run/launch_notes.hpp"
#include "bench/run/page_cache.hpp"
#include "core/base/clock.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/result/launch_medians.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace fs = std::filesystem;

void CellLauncher::use_stored_verdict(Record& row) const {
  const std::optional<Record> stored = parts_.services.stored(row.task_key);
  if (!stored) return;
  row.verification = stored->verification;
  for (const auto member :
       {&Record::max_abs_error, &Record::max_rel_error, &Record::cosine_similarity, &Record::error_limit,
        &Record::rms_error, &Record::rms_limit, &Record::honest_error, &Record::top1_agreement})
    row.*member = (*stored).*member;
  for (const auto member :
       {&Record::reference, &Record::worst_output, &Record::worst_element, &Record::checked, &Record::agreed_by})
    row.*member = (*stored).*member;
  row.verdict_source = stored->attempt_id;
  row.message = "verdict of " + stored->timestamp;
  if (row.verification != Verification::kWrong) return;
  row.status = CellStatus::kWrong;
  row.reason_code = Reason::kMismatch;
}

// Rows that did not run are kept like the others: a bundle with only its manifest.
Result<Launch> CellLauncher::finish_unrun(Record row) const {
  row.attempt_id = make_uuid();
  row.timestamp = iso8601(wall_now());
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(parts_.services.spool, row, parts_.context));
  ASSAY_TRY([[maybe_unused]] const fs::path folder, bundle.finish(row, Json::object(), nullptr));
  return Launch{.row = std::move(row)};
}

void CellLauncher::refuse(LocalTask& local, std::int64_t round) const {
  Record row = local.task.row;
  row.launch_number = round;
  row.flags.add(Flag::kLimitedByBudget);
  set_refusal(row, {CellStatus::kSkipped, Reason::kNoTime, "--budget left no time for this launch",
                    "a longer --budget, or --resume"});
  Result<Launch> kept = guarded("", [&] { return finish_unrun(row); });
  local.refused = kept ? std::move(*kept) : Launch{.row = std::move(row), .unsaved = kept.error().message};
}

Result<Launch> CellLauncher::execute(LocalTask& local, std::int64_t round) {
  const Task& task = local.task;
  Record& row = local.task.row;
  row.launch_number = round;
  const double estimate = times_.estimate(local);
  if (task.default_batch && task.runs() && local.launches.empty() && estimate > kSlowDefaultMs)
    set_refusal(row, slow_batch(task.shape.batch, estimate, "the smaller batch"));
  if (const std::optional<Error> fault = parts_.references.invalid_file(local); fault && task.runs())
    set_failure(row, task, *fault);
  if (task.runs()) {
    if (const Status made = guarded("while making its files", [&] { return parts_.files.make(local); }); !made) {
      if (parts_.services.cancelled()) return tl::unexpected<Error>(made.error());
      set_artefact_failure(row, made.error());
    }
  }
  if (!task.runs()) return finish_unrun(row);
  Result<Launch> done = run_once(local, row);
  if (done) times_.add(local, done->row);
  return done;
}

// The first process of a model on a target gets the model's files from the disk, if others follow that do not.
std::optional<bool> CellLauncher::starts_cold(const LocalTask& local, const Record& row) {
  const bool made_here = local.artefact && local.artefact->owner != nullptr;
  if (!made_here || local.task.launches < 2 || row.launch_number.value_or(1) != 1) return false;
  if (!cold_started_.insert(worker_group(local.task)).second) return false;
  for (const std::filesystem::path& folder : {local.artefact->model.parent_path(), local.artefact->weights_in}) {
    if (folder.empty()) continue;
    const Result<bool> dropped = drop_from_page_cache(folder);
    if (!dropped || !*dropped) return std::nullopt;
  }
  return true;
}

Result<Launch> CellLauncher::run_once(LocalTask& local, Record planned) {
  Launch launch{.row = std::move(planned)};
  Record& row = launch.row;
  row.attempt_id = make_uuid();
  ASSAY_TRY(BundleWriter bundle, BundleWriter::begin(parts_.services.spool, row, parts_.context));
  const OthersMeanwhile others(parts_.services.others);
  Attempt attempt(
      local, row,
      {parts_.workers, parts_.references.of(local), parts_.scratch, bundle.samples_path(), parts_.services.doing,
       next_limits(shared_time(local.task), local.launches), starts_cold(local, row), parts_.services.timer});
  const auto attempted = [&]() -> Status {
    ASSAY_CHECK_OK(attempt.run());
    ASSAY_CHECK_OK(attempt.decide([&] { return parts_.references.ask(local, attempt.deadline()); }));
    return attempt.check_forced(
        [&](std::span<const TimedIds> ids) { return parts_.references.force(local, ids, attempt.deadline()); });
  };
  if (const Status done = guarded("", attempted); !done) {
    set_failure(row, local.task, done.error());
    // The launches before say more about the cell than one that was interrupted.
    if (done.error().code == ErrorCode::kCancelled) row.flags.add(Flag::kPartial);
  } else {
    const bool wrong = row.verification == Verification::kWrong;
    row.status = wrong ? CellStatus::kWrong : CellStatus::kCompleted;
    if (wrong) row.reason_code = Reason::kMismatch;
    if (!local.task.verify) use_stored_verdict(row);
    if (local.task.verify) parts_.witnesses.add(local, parts_.references.of(local), attempt.compared(), row);
  }
  row.timestamp = iso8601(wall_now());
  launch.outputs = attempt.outputs().is_null() ? std::string() : json_text(attempt.outputs());
  describe_launch(local, launch);
  Json environment = attempt.environment();
  others.describe(launch, environment);
  launch.samples = attempt.take_samples();
  std::error_code ignored;
  fs::copy_file(attempt.log(), bundle.log_path(), ignored);
  if (const Result<fs::path> folder = bundle.finish(row, environment, attempt.outputs()); folder) {
    launch.log = *folder / bundle_file::kLog;
  } else {
    // The numbers are in the row, and the other cells run.
    set_failure(row, folder.error());
    launch.unsaved = folder.error().message;
  }
  return launch;
}

std::optional<Launch> CellLauncher::launch(LocalTask& local, std::int64_t round) {
  Result<Launch> launch = guarded("", [&] { return execute(local, round); });
  if (launch) return std::move(*launch);
  if (parts_.services.cancelled()) return std::nullopt;
  Record row = local.task.row;
  set_failure(row, launch.error());
  row.timestamp = iso8601(wall_now());
  return Launch{.row = std::move(row), .unsaved = launch.error().message};
}

}  // namespace assay
