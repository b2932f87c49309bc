// SPDX-License-Identifier: Apache-2.0
#include "bench/run/session_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/measure/environment.hpp"
#include "bench/plan/row.hpp"
#include "core/base/guard.hpp"
#include "core/base/log.hpp"
#include "core/base/text.hpp"
#include "core/base/timed_step.hpp"
#include "models/hub/hub.hpp"
#include "models/inputs/fixed_extents.hpp"

namespace assay {
namespace {

hub::Progress fetching(const SessionRequest& request) {
  // The line is updated only if it changes: there are thousands of pieces.
  return [doing = request.doing, making = request.making, shown = std::string(), begun = std::string()](
             const std::string& model, std::uint64_t done, std::uint64_t total) mutable {
    if (making && std::exchange(begun, model) != model) making("fetching " + model);
    std::string line = fmt::format("fetching {}: {:.0f} of {:.0f} MB", model, static_cast<double>(done) / 1e6,
                                   static_cast<double>(total) / 1e6);
    if (!doing || line == shown) return;
    shown = std::move(line);
    doing(shown);
  };
}

}  // namespace

std::vector<std::string> grouped_notes(const std::vector<std::string>& notes) {
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
    constexpr std::size_t kMost = 12;
    for (const std::string& note : all) names.push_back(note.substr(0, note.find(": ")));
    if (names.size() > kMost + 1) {
      names.resize(kMost);
      names.push_back(fmt::format("{} more", all.size() - kMost));
    }
    once.push_back(all.size() == 1 ? all.front() : join(names, ", ") + words);
  }
  return once;
}

namespace {

PreparedModel unprepared(const ModelChoice& choice, const Error& error) {
  PreparedModel model;
  model.choice = choice;
  model.identity.model = choice.name;
  model.identity.model_id = choice.reference;
  model.identity.family = choice.family.empty() ? "other" : choice.family;
  model.refusal = {CellStatus::kFailed, reason_of(error.code), error.message, error.hint};
  return model;
}

// --data must have the model's inputs, and --input-shape fit them; a model that only the runtime reads is checked when
// it is loaded.
Status check_inputs(const PreparedModel& model, const SessionRequest& request) {
  if (!model.info || model.refusal) return {};
  const RunSettings settings = settings_of(model.choice, request.settings);
  ASSAY_CHECK_OK(with_context(check_given(*model.info, model.generation.has_value(), model.choice, request.settings),
                              "while preparing the inputs of " + model.choice.name));
  if (settings.data.empty()) return {};
  const Result<std::optional<std::int64_t>> batch =
      fixed_batch(*model.info, input_axes(settings, request.cache / "inputs"));
  if (batch) return {};
  Error error = batch.error();
  // Data of another type or shape is the user's mistake, not a finding about a runtime.
  if (error.code == ErrorCode::kMismatch) error.code = ErrorCode::kInvalidArgument;
  return with_context(Status(tl::unexpected<Error>(std::move(error))), "while reading --data for " + model.choice.name);
}

// Asks the runtimes for the inputs of a model that assay itself does not read.
// Errors: those of check_given.
Status ask_engines(PreparedModel& model, const SessionRequest& request, const EngineRegistry& registry,
                   const std::vector<Target>& targets) {
  if (model.info || model.refusal) return {};
  const RunSettings settings = settings_of(model.choice, request.settings);
  for (const Target& target : targets) {
    const std::string key = PreparedModel::signature_key(target.engine, target.device.id);
    if (!target.runnable() || model.signatures.contains(key)) continue;
    if (!model.format.empty() && !target.found.entry.reads(model.format)) continue;
    LoadRequest load;
    load.model = model.artefact.file;
    load.device_id = target.device.id;
    load.precision = precision_of(settings, model);
    load.threads = usable_threads();
    load.options = settings.engine_options;
    const InputAxes axes = input_axes(settings, request.cache / "inputs");
    const auto more = signature_option(target.found, axes, request.cache / "signatures");
    if (more) load.options.insert(load.options.end(), more->begin(), more->end());
    Result<ModelInfo> info = more ? ask_signature(registry, target.found.location, load,
                                                  settings.memory_limit_bytes.value_or(free_memory() / 10 * 9),
                                                  request.cancelled, settings.timeout)
                                  : tl::unexpected<Error>(more.error());
    if (!info) {
      model.signatures.emplace(key, tl::unexpected<Error>(info.error()));
      continue;
    }
    ASSAY_CHECK_OK(with_context(check_given(*info, false, model.choice, request.settings),
                                "while preparing the inputs of " + model.choice.name));
    Signature signature = signature_of(std::move(*info), false, axes);
    signature.options = *more;
    if (!more->empty() && settings.data.empty())
      signature.given_shapes = given_text(settings.shapes, signature.fixed_batch);
    model.signatures.emplace(key, std::move(signature));
  }
  return {};
}

// Resolves and describes a model, and checks the data that it runs on.
Result<PreparedModel> prepare(const ModelChoice& choice, const SessionRequest& request, const Preparing& with,
                              const std::vector<Target>& targets) {
  ASSAY_TRY(PreparedModel model, prepare_model(choice, request.settings, with));
  ASSAY_CHECK_OK(check_inputs(model, request));
  ASSAY_CHECK_OK(ask_engines(model, request, *with.registry, targets));
  return model;
}

}  // namespace

Result<std::vector<PreparedModel>> prepare_models(const SessionRequest& request, const EngineRegistry& registry,
                                                  RateKeeper& rates, SessionResult& out) {
  std::vector<PreparedModel> models;
  std::vector<std::string> said;
  hub::Hub hub(hub::settings_from_environment(), fetching(request), request.cancelled);
  Preparing with{.cache = request.cache / "models", .inputs = request.cache / "inputs"};
  with.hub = &hub;
  with.registry = &registry;
  with.cancelled = request.cancelled;
  bool computes = false;  // else the rate is not needed
  for (const Target& target : out.targets) {
    if (!target.runnable()) continue;
    with.engines.push_back(target.engine);
    computes = computes || target.found.entry.needs_model;
  }
  bool warned = false;
  with.rate = [&]() -> std::optional<MachineRate> {
    if (!computes) return std::nullopt;
    const Result<MachineRate> rate =
        guarded("while measuring the rate of matrix multiplication", [&] { return rates.get(); });
    if (rate) return *rate;
    if (rate.error().code != ErrorCode::kCancelled && !std::exchange(warned, true))
      log_warning("sizes are chosen by memory alone: {}", rate.error().message);
    return std::nullopt;
  };
  for (const ModelChoice& choice : request.models) {
    ASSAY_CHECK_OK(check_cancelled(request.cancelled));
    Result<PreparedModel> model = guarded("while preparing " + choice.name, [&] {
      const TimedStep step("prepared " + choice.name);
      if (request.doing) request.doing("preparing " + choice.name);
      return prepare(choice, request, with, out.targets);
    });
    if (!model) {
      if (model.error().code == ErrorCode::kCancelled) return tl::unexpected<Error>(model.error());
      // If it is the only named model, nothing has run yet. Of several, its row has the error and the others run.
      if (request.models.size() == 1) return tl::unexpected<Error>(model.error());
      out.usage_error = true;
      model = unprepared(choice, model.error());
    }
    if (!model->note.empty()) said.push_back(model->note);
    models.push_back(std::move(*model));
  }
  std::ranges::move(grouped_notes(said), std::back_inserter(out.notes));
  return models;
}

}  // namespace assay
