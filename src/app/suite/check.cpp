// SPDX-License-Identifier: Apache-2.0
#include "app/suite/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "bench/run/places.hpp"
#include "core/base/files.hpp"
#include "history/store/store.hpp"
#include "show/report/format.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

std::string refusal_words(const Refusal& refusal) {
  std::string words = fmt::format("{} ({})", refusal.message, to_string(refusal.reason_code));
  if (!refusal.hint.empty()) words += "; " + refusal.hint;
  return words;
}

Prerequisite of_model(const PlannedModel& planned) {
  const PreparedModel& model = planned.model;
  Prerequisite found{"model", model.choice.name, !model.refusal, {}};
  if (model.refusal) {
    found.words = refusal_words(*model.refusal);
    return found;
  }
  found.words = model.identity.model_id;
  if (model.identity.parameter_count)
    found.words +=
        fmt::format(", {:.1f} million parameters", static_cast<double>(*model.identity.parameter_count) / 1e6);
  if (model.identity.weights) found.words += fmt::format(", weights: {}", to_string(model.identity.weights));
  return found;
}

Prerequisite of_target(const Target& target) {
  Prerequisite found{"hardware", target.hardware, target.runnable(), {}};
  found.words = target.refusal ? refusal_words(*target.refusal)
                               : fmt::format("{} on {} {}", target.device.name, target.engine,
                                             target.found.version.empty() ? "" : target.found.version);
  return found;
}

Prerequisite disk(const fs::path& folder) {
  constexpr double kNeededGb = 1;
  fs::path there = fs::absolute(folder);
  std::error_code error;
  while (!there.empty() && !fs::exists(there, error) && there != there.parent_path()) there = there.parent_path();
  const fs::space_info space = fs::space(there, error);
  const double gb = error ? 0 : static_cast<double>(space.available) / 1e9;
  return {"disk", folder.string(), !error && gb >= kNeededGb,
          error ? error.message() : fmt::format("{:.1f} GB free in '{}'", gb, there.string())};
}

Prerequisite database(const SessionRequest& request) {
  Prerequisite found{"database", request.database.string(), true, {}};
  const Status usable = check_database(request.database);
  found.met = usable.has_value();
  if (!usable) {
    found.words = usable.error().message + (usable.error().hint.empty() ? "" : "; " + usable.error().hint);
  } else if (is_empty_or_absent(request.database)) {
    found.words = "does not exist yet; the suite makes it";
  } else {
    const Result<Store::Writable> writable = Store::check_writable(request.database);
    found.words = writable && writable->older
                      ? "can be written; the suite brings its schema up to date, which an older assay cannot read any "
                        "more"
                      : "can be written";
  }
  return found;
}

}  // namespace

std::vector<Prerequisite> check_prerequisites(const SessionRequest& request, const SessionPlan& plan) {
  std::vector<Prerequisite> found;
  found.reserve(plan.models.size() + plan.so_far.targets.size() + 1);
  for (const PlannedModel& model : plan.models) found.push_back(of_model(model));
  for (const Target& target : plan.so_far.targets) found.push_back(of_target(target));
  found.push_back(disk(request.output_dir));
  found.push_back(database(request));
  return found;
}

std::string check_text(const std::vector<Prerequisite>& found) {
  std::string text, kind;
  for (const Prerequisite& each : found) {
    if (each.kind != kind) text += fmt::format("{}{}:\n", kind.empty() ? "" : "\n", each.kind);
    kind = each.kind;
    text += fmt::format("  {} {}: {}\n", each.met ? "✓" : "✕", each.name, each.words);
  }
  const auto missing = std::ranges::count(found, false, &Prerequisite::met);
  text += missing == 0 ? "\nEverything is there.\n" : fmt::format("\n{} of {} are missing.\n", missing, found.size());
  return text;
}

Json check_json(const std::vector<Prerequisite>& found) {
  Json list = Json::array();
  for (const Prerequisite& each : found)
    list.push_back({{"kind", each.kind}, {"name", each.name}, {"met", each.met}, {"words", each.words}});
  return {{"schema_version", kReportSchema}, {"prerequisites", std::move(list)}};
}

}  // namespace assay::suite
