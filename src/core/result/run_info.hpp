// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.hpp"

namespace assay {

/// Facts about an invocation, for the record.
struct RunInfo {
  std::string run_id;
  std::string command;
  std::string started;  ///< UTC, ISO 8601
  std::string host, tool_version, git_commit;
  Json system = Json::object();    ///< the guide's system_info
  Json hardware = Json::object();  ///< all hardware: available, or why not
  Json doctor;                     ///< findings of `assay doctor` about the machine before the run; null: not requested
  std::string hardware_fingerprint;
};

/// How little disturbed timings before a run, as `assay doctor` says it.
struct MachineScore {
  int score = 0;                          ///< 0 to 100, higher is better
  std::vector<std::string> disturbances;  ///< items that are not ok: "load", "turbo"; those that are bad first
};

/// The highest score of a machine whose load, stolen time or spin test is bad: that disturbs every timing, however good
/// its settings are.
inline constexpr int kUnreliableScore = 40;

/// The score in the JSON of `assay doctor`; nullopt if there is none: nobody asked, or it is not such a document.
[[nodiscard]] std::optional<MachineScore> machine_score_of(const Json& doctor);
/// "40 of 100 (load, spin_test and 2 more)"
[[nodiscard]] std::string score_text(const MachineScore& machine);

}  // namespace assay
