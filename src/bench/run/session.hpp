// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/measure/machine_mark.hpp"
#include "bench/plan/targets.hpp"
#include "bench/prepare/prepare.hpp"
#include "bench/settings/settings.hpp"
#include "core/base/time_spent.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// How far a run is. Further launches may be added: see docs/metrics.md, "Launches".
struct TimeLeft {
  std::size_t launches_done = 0, launches = 0;
  double seconds = 0;  ///< estimated
};

struct SessionResult;

/// One invocation of a measuring command: models × targets × shapes.
struct SessionRequest {
  std::string command;
  std::vector<ModelChoice> models;
  TargetRequest targets;
  RunSettings settings;
  std::filesystem::path database, spool, cache;
  EngineRegistry::Places places = EngineRegistry::default_places();
  std::filesystem::path output_dir;  ///< folder in which --resume finds the last run; empty: the run cannot be resumed
  bool best_hardware_only = false;   ///< neither hardware nor engines are given: resolve_first() of best_hardware()
  std::string preferred_hardware{};  ///< used if it can run, in place of what would be chosen; empty: no preference
  bool resume = false;
  Json doctor;       ///< report of `assay doctor` before the run; null: it was not requested
  bool save = true;  ///< put the results into the database; else only bundles remain (history/store/unsaved.hpp)
  std::function<bool()> cancelled = [] { return false; };
  /// Returns the other processes that measure on this machine now; {}: this is not checked.
  std::function<std::vector<MeasuringProcess>()> others = {};
  /// Called for each cell that would run, with its keys: false leaves it out of the plan. {}: all are wanted.
  std::function<bool(const Record& row)> wanted = {};
  std::function<void(std::size_t cells)> expecting = {};        ///< called once, before the first cell
  std::function<void(const Record&, bool kept)> launched = {};  ///< called for each launch, before its cell is finished
  std::function<void(const TimeLeft&)> time_left = {};          ///< called when the estimate changes
  std::function<void(const Record&, bool kept)> finished = {};  ///< `kept`: by --resume, nothing was run
  std::function<void(const SessionResult&)> model_finished = {};  ///< called after each model, with all rows until now
  std::function<void(const std::string&)> doing = {};             ///< called before a step that takes time
  std::function<void(const std::string&)> making = {};            ///< called before model files are written
};

struct SessionResult {
  RunInfo run;
  /// One for every planned cell: those that an interruption left out are `skipped`, `cancelled`.
  std::vector<Record> rows;
  std::vector<Target> targets;
  std::vector<std::string> notes;  ///< remarks for the user: random weights, a switched-off feature
  bool store_failed = false;       ///< the rows are in bundles but not in the database
  /// Launches that have no bundle, because it could not be written: their cell as people read it, and why.
  std::vector<std::pair<std::string, std::string>> unsaved{};
  std::size_t saved = 0;     ///< launches that have one
  bool usage_error = false;  ///< one of several named models is wrong: its name, file or configuration
  bool interrupted = false;
  std::string resume_command{};                         ///< runs what an interruption left out; empty: nothing does
  std::set<std::string> kept{};                         ///< attempt_ids of rows that --resume took over
  std::set<std::string> partly{};                       ///< attempt_ids of rows that lack launches: it was interrupted
  std::map<std::string, std::filesystem::path> logs{};  ///< the workers' log files; the key is the attempt_id
  TimeSpent spent{};                                    ///< time that the session spent on each activity
};

/// Hardware words, the fastest first.
[[nodiscard]] const std::vector<std::string>& best_hardware();

/// Runs everything; each attempt leaves a bundle. Nothing is put into the database: save_session() does that, after
/// the reports are written. Whether it could is what check_places() (bench/run/places.hpp) says before. Errors:
/// invalid_argument or not_found for what the user named; anything that happens to a model or a cell, an exception
/// included, is a row, and the others run. When nothing that was requested is built, invalid_argument says so.
[[nodiscard]] Result<SessionResult> run_session(const SessionRequest& request);

/// Puts the bundles of the spool into the database and publishes the snapshot for readers, if `request.save` is set.
/// Never fails: the bundles are safe, `session.store_failed` is set, and the result is what the user should know.
[[nodiscard]] std::vector<std::string> save_session(const SessionRequest& request, SessionResult& session);

/// The exit status that rows mean (docs/metrics.md, "Exit status").
[[nodiscard]] ExitCode exit_code_of(const SessionResult& session, const std::vector<ModelChoice>& models,
                                    bool verify_command);

}  // namespace assay
