// SPDX-License-Identifier: Apache-2.0
#include "core/result/run_info.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"

namespace assay {

std::optional<MachineScore> machine_score_of(const Json& doctor) {
  if (!doctor.is_object() || !doctor.contains("score") || !doctor["score"].is_number()) return std::nullopt;
  MachineScore machine{doctor["score"].get<int>(), {}};
  const auto findings = doctor.find("findings");
  if (findings == doctor.end() || !findings->is_array()) return machine;
  for (const char* verdict : {"bad", "warn"})
    for (const Json& finding : *findings)
      if (finding.is_object() && finding.value("verdict", "") == verdict)
        machine.disturbances.push_back(finding.value("item", ""));
  return machine;
}

std::string score_text(const MachineScore& machine) {
  constexpr std::size_t kNamed = 3;
  std::string text = fmt::format("{} of 100", machine.score);
  if (machine.disturbances.empty()) return text;
  const std::size_t named = std::min(kNamed, machine.disturbances.size());
  text += " (" +
          join({machine.disturbances.begin(), machine.disturbances.begin() + static_cast<std::ptrdiff_t>(named)}, ", ");
  if (machine.disturbances.size() > named) text += fmt::format(" and {} more", machine.disturbances.size() - named);
  return text + ")";
}

}  // namespace assay
