// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session_history.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bench/run/resumed.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/base/timed_step.hpp"
#include "core/result/launch_medians.hpp"
#include "core/samples/samples_file.hpp"
#include "history/store/bundle.hpp"
#include "history/store/store.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Where a run leaves its name, so that --resume finds it. Hidden: the folder's *.json are results.
constexpr const char* kRunFile = ".assay_run.json";

// What makes two invocations the same plan: everything that decides which cells there are and what they measure. The
// sizes that are chosen for models of a set are compared when the models are prepared.
std::string plan_hash(const SessionRequest& request) {
  Json models = Json::array();
  for (const ModelChoice& model : request.models) models.push_back(to_json(model));
  const Json plan{{"models", std::move(models)},
                  {"targets", to_json(request.targets)},
                  {"best_hardware_only", request.best_hardware_only},
                  {"preferred_hardware", request.preferred_hardware},
                  {"settings", to_json(request.settings)}};
  return sha256_hex(json_text(plan));
}

bool is_uuid(const std::string& text) {
  constexpr std::size_t kLength = 36;
  return text.size() == kLength && text.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

}  // namespace

std::optional<LastRun> last_run(const SessionRequest& request) {
  if (!request.resume || request.output_dir.empty()) return std::nullopt;
  const Result<Json> last = read_json(request.output_dir / kRunFile);
  const auto text = [&](const char* key) {
    const bool there = last && last->is_object() && last->contains(key) && (*last)[key].is_string();
    return there ? (*last)[key].get<std::string>() : std::string();
  };
  if (text("plan") != plan_hash(request) || !is_uuid(text("run_id"))) return std::nullopt;
  return LastRun{text("run_id"), rate_from_json(last->value("rate", Json())), last->value("sizes", Json())};
}

Status write_run_mark(const SessionRequest& request, const LastRun& run) {
  if (request.output_dir.empty()) return {};
  Json mark{{"schema_version", "1.0"},
            {"run_id", run.run_id},
            {"plan", plan_hash(request)},
            {"command", request.command},
            {"sizes", run.sizes}};
  if (run.rate) mark["rate"] = to_json(*run.rate);
  return write_file_atomically(request.output_dir / kRunFile, json_text(mark, 2) + "\n");
}

namespace {

// The launches of the run until now: samples as the database has them, of which it makes its rows of the cells, outputs
// as their bundles have them. What cannot be read is named in a note.
Status resume_launches(Store& store, const SessionRequest& request, SessionResult& out, ExecutorServices& services) {
  ASSAY_TRY(const auto rows, store.launches({.run_id = out.run.run_id}));
  ASSAY_TRY(const auto bundles, store.bundle_paths(out.run.run_id));
  for (const Record& row : rows) {
    if (was_refused(row)) continue;  // now there may be time for it
    Launch launch{.row = row, .resumed = true};
    const auto bundle = bundles.find(row.attempt_id);
    // A bundle keeps its folder when a newer assay computes other keys, so the key does not name it.
    const fs::path folder = bundle == bundles.end() ? fs::path() : request.spool / bundle->second;
    if (row.steady_from) {
      ASSAY_TRY(launch.samples, store.samples(row.attempt_id));
      if (const Result<SamplesFile> samples = read_samples(folder / bundle_file::kSamples); !samples)
        out.notes.push_back(
            fmt::format("--resume: {}; the times of this launch are those in the database", samples.error().message));
    }
    if (!folder.empty()) {
      launch.log = folder / bundle_file::kLog;
      if (const Result<Json> outputs = read_json(folder / bundle_file::kOutputs)) launch.outputs = json_text(*outputs);
    }
    services.resumed[resume_key(row)].push_back(std::move(launch));
  }
  return {};
}

}  // namespace

Status read_history(const SessionRequest& request, SessionResult& out, ExecutorServices& services) {
  if (!request.resume && request.settings.verify) return {};
  // A run that is not saved changes nothing in the database, and does not create it.
  const Store::Mode mode = request.save ? Store::Mode::kWrite : Store::Mode::kRead;
  if (std::error_code absent; !request.save && !fs::exists(request.database, absent)) return {};
  ASSAY_TRY(Store store, Store::open(request.database, mode, std::chrono::seconds(2)));
  // Bundles that an interrupted run left are history too.
  if (auto ingested = request.save ? store.ingest(request.spool) : IngestReport(); !ingested) {
    if (request.resume) return tl::unexpected<Error>(std::move(ingested).error());
    out.notes.push_back("the history cannot be brought up to date: " + ingested.error().message);
  }
  if (request.resume) ASSAY_CHECK_OK(resume_launches(store, request, out, services));
  if (request.settings.verify) return {};
  // Read now and not when asked: the database has one user at a time.
  auto verdicts = std::make_shared<std::map<std::string, Record>>();
  ASSAY_TRY(std::vector<Record> rows, store.results({.judged = true, .latest_per_task = true}));
  for (Record& row : rows) (*verdicts)[row.task_key] = std::move(row);
  services.stored = [verdicts](const std::string& key) {
    const auto found = verdicts->find(key);
    return found == verdicts->end() ? std::optional<Record>() : std::optional<Record>(found->second);
  };
  return {};
}

namespace {

Status ingest(const SessionRequest& request, std::vector<std::string>& notes) {
  ASSAY_TRY(Store store, Store::open(request.database, Store::Mode::kWrite, std::chrono::seconds(2)));
  ASSAY_TRY(const IngestReport report, store.ingest(request.spool));
  for (const Error& refused : report.refused) notes.push_back("a bundle was left out: " + refused.message);
  // Readers have it while the next run writes; without it they wait.
  if (const auto published = store.publish_snapshot(); !published)
    notes.push_back("the snapshot for readers is not up to date: " + published.error().message);
  return {};
}

}  // namespace

std::vector<std::string> save_session(const SessionRequest& request, SessionResult& session) {
  std::vector<std::string> notes;
  if (!request.save) return notes;
  const TimedStep step("saved the results in the database");
  const Status saved = guarded("while saving the results", [&] { return ingest(request, notes); });
  if (saved) return notes;
  session.store_failed = true;
  // What has no bundle is named elsewhere.
  const std::string safe = session.saved == 0
                               ? std::string()
                               : fmt::format("; the {}results are safe in '{}'",
                                             session.unsaved.empty() ? "" : "other ", request.spool.string());
  notes.push_back(fmt::format("the database was not updated: {}{}{}{}", saved.error().message, safe,
                              saved.error().hint.empty() ? "" : "; ", saved.error().hint));
  return notes;
}

}  // namespace assay
