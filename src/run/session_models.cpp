// SPDX-License-Identifier: Apache-2.0
#include "run/session_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/guard.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "hub/hub.hpp"

namespace assay {
namespace {

hub::Progress fetching(const std::function<void(const std::string&)>& doing) {
  if (!doing) return {};
  // Only what changes the line: pieces come by the thousand.
  return [doing, shown = std::string()](const std::string& model, std::uint64_t done, std::uint64_t total) mutable {
    std::string line = fmt::format("fetching {}: {:.0f} of {:.0f} MB", model, static_cast<double>(done) / 1e6,
                                   static_cast<double>(total) / 1e6);
    if (line == shown) return;
    shown = std::move(line);
    doing(shown);
  };
}

// What is to be said of several models in the same words is said once: "A, B: weights seeded: each is not in the
// cache".
std::vector<std::string> told_once(const std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // words, models
  for (const std::string& note : notes) {
    const auto colon = note.find(": ");
    const std::string name = note.substr(0, colon);
    std::string words = colon == std::string::npos ? note : note.substr(colon);
    for (std::size_t at = 0; (at = words.find("'" + name + "'", at)) != std::string::npos;)
      words.replace(at, name.size() + 2, "each");
    auto group = std::ranges::find(groups, words, [](const auto& each) { return each.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {words, {}});
    group->second.push_back(note);
  }
  std::vector<std::string> once;
  for (const auto& [words, all] : groups) {
    std::vector<std::string> names;
    for (const std::string& note : all) names.push_back(note.substr(0, note.find(": ")));
    once.push_back(all.size() == 1 ? all.front() : join(names, ", ") + words);
  }
  return once;
}

PreparedModel unprepared(const ModelChoice& choice, const Error& error) {
  PreparedModel model;
  model.choice = choice;
  model.identity.model = choice.name;
  model.identity.model_id = choice.reference;
  model.identity.family = choice.family.empty() ? "other" : choice.family;
  model.verdict = {CellStatus::kFailed, std::string(to_string(error.code)), error.message, error.hint};
  return model;
}

// What --data holds must be the model's inputs; a model that only the runtime reads is asked when it is loaded.
Status check_data(const PreparedModel& model, const SessionRequest& request) {
  if (request.settings.data.empty() || !model.info || model.verdict) return {};
  const Result<std::optional<std::int64_t>> batch =
      fixed_batch(*model.info, {.data = request.settings.data, .cache = request.cache / "inputs"});
  if (batch) return {};
  Error error = batch.error();
  // Data of another type or shape is the user's mistake, not a finding about a runtime.
  if (error.code == ErrorCode::kMismatch) error.code = ErrorCode::kInvalidArgument;
  return with_context(Status(tl::unexpected<Error>(std::move(error))), "while reading --data for " + model.choice.name);
}

// Resolved, built and checked, with the data it shall run on.
Result<PreparedModel> prepare(const ModelChoice& choice, const SessionRequest& request, const Preparing& with) {
  ASSAY_TRY(PreparedModel model, prepare_model(choice, request.settings, with));
  ASSAY_CHECK_OK(check_data(model, request));
  return model;
}

// How fast the machine is, where a model of any size is asked for: its largest is the one that time allows. Without a
// target that computes nobody waits.
std::optional<MachineRate> rate_for(const SessionRequest& request, const std::vector<Target>& targets,
                                    const EngineRegistry& registry) {
  const bool asked = std::ranges::any_of(request.models, &ModelChoice::any_size) && request.settings.size.empty();
  const bool computes =
      std::ranges::any_of(targets, [](const Target& t) { return t.runnable() && t.found.entry.needs_model; });
  if (!asked || !computes) return std::nullopt;
  if (request.doing) request.doing("measuring the rate of matrix multiplication");
  const std::vector<std::int64_t>& threads = request.settings.threads;
  const auto least = static_cast<int>(*std::ranges::min_element(
      threads, {}, [](std::int64_t n) { return n == 0 ? std::numeric_limits<std::int64_t>::max() : n; }));
  const Result<MachineRate> rate = guarded("while measuring the rate of matrix multiplication", [&] {
    return measure_rate(registry, least, request.cache, request.cancelled);
  });
  if (rate) return *rate;
  if (rate.error().code != ErrorCode::kCancelled)
    log_warning("sizes are chosen by memory alone: {}", rate.error().message);
  return std::nullopt;
}

}  // namespace

Result<std::vector<PreparedModel>> prepare_models(const SessionRequest& request, const EngineRegistry& registry,
                                                  std::optional<MachineRate>& rate, SessionResult& out) {
  std::vector<PreparedModel> models;
  std::vector<std::string> said;
  hub::Hub hub(hub::settings_from_environment(), fetching(request.doing), request.cancelled);
  if (!rate) rate = rate_for(request, out.targets, registry);
  Preparing with{request.cache / "models", &hub, rate ? &*rate : nullptr, &registry};
  with.cancelled = request.cancelled;
  for (const Target& target : out.targets)
    if (target.runnable()) with.engines.push_back(target.engine);
  for (const ModelChoice& choice : request.models) {
    ASSAY_CHECK_OK(check_cancelled(request.cancelled));
    Result<PreparedModel> model = guarded("while preparing " + choice.name, [&] {
      if (request.doing) request.doing("preparing " + choice.name);
      return prepare(choice, request, with);
    });
    if (!model) {
      if (model.error().code == ErrorCode::kCancelled) return tl::unexpected<Error>(model.error());
      // The only model named: a mistake costs nothing. One of several: its row says so, the others run.
      if (request.models.size() == 1) return tl::unexpected<Error>(model.error());
      out.usage_error = true;
      model = unprepared(choice, model.error());
    }
    if (!model->note.empty()) said.push_back(model->note);
    models.push_back(std::move(*model));
  }
  std::ranges::move(told_once(said), std::back_inserter(out.notes));
  return models;
}

}  // namespace assay
