// SPDX-License-Identifier: Apache-2.0
#include "bench/run/launch_notes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/json.hpp"
#include "core/result/launch_medians.hpp"

namespace assay {
namespace {

void add_note(Record& row, const std::string& note) {
  row.message = row.message.empty() ? note : row.message + "; " + note;
}

// What the outputs of a launch say beside those of the first one that had any; "": nothing.
std::string outputs_note(const LocalTask& local, const Launch& launch) {
  const auto outputs_of = [](const Launch& each) { return parse_json(each.outputs, "outputs").value_or(Json()); };
  const auto has_outputs = [&](const Launch& each) { return outputs_of(each).is_object(); };
  const auto earlier = std::ranges::find_if(local.launches, has_outputs);
  if (earlier == local.launches.end() || !has_outputs(launch)) return "";
  const Json first = outputs_of(*earlier), now = outputs_of(launch);
  bool in_common = false, differ = false;
  for (const auto& [set, hash] : first.items()) {
    if (!now.contains(set)) continue;
    in_common = true;
    differ = differ || now.at(set) != hash;
  }
  if (!in_common) return "the outputs of launches were not compared with each other: they ran different input sets";
  if (!differ) return "";
  return launch.row.verification == Verification::kVerified ? "the outputs of launches differ, within the limit"
                                                            : "the outputs of launches differ";
}

}  // namespace

void describe_launch(const LocalTask& local, Launch& launch) {
  Record& row = launch.row;
  if (const std::string note = outputs_note(local, launch); !note.empty()) add_note(row, note);
  for (const std::string& note : local.task.notes) add_note(row, note);
  if (!row.latency_p50_ms || !settled(row)) return;
  const auto ended = 1 + std::ranges::count_if(local.launches, [](const Launch& each) { return settled(each.row); });
  if (ended >= local.task.launches) {
    if (ended < row.planned_launches.value_or(ended)) row.flags.add(Flag::kLimitedByBudget);
  } else if (fills_its_time(shared_time(local.task), run_time(row))) {
    row.flags.add(Flag::kLimitedByMaxTime);
  }
}

void OthersMeanwhile::describe(Launch& launch, Json& environment) const {
  if (!launch.row.latency_p50_ms) return;
  Json processes = Json::array();
  const auto add = [&](const std::vector<MeasuringProcess>& measuring) {
    for (const MeasuringProcess& each : measuring)
      if (std::string words = process_words(each); std::ranges::find(processes, Json(words)) == processes.end())
        processes.push_back(std::move(words));
  };
  add(before_);
  add(others_());
  if (processes.empty()) return;
  launch.beside_others = true;
  add_note(launch.row, "another measurement ran on this machine meanwhile");
  if (environment.is_null()) environment = Json::object();
  environment["other_measurements"] = std::move(processes);
}

}  // namespace assay
