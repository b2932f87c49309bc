// SPDX-License-Identifier: Apache-2.0
#include "core/result/launch_medians.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/text.hpp"

namespace assay {

std::string launch_medians_text(std::span<const LaunchMedian> medians) {
  std::string text;
  for (const LaunchMedian& median : medians)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", median.launch, median.p50_ms);
  return text;
}

Result<LaunchMedians> parse_launch_medians(std::string_view text) {
  LaunchMedians medians;
  for (const std::string& part : split(text, ' ')) {
    if (part.empty()) continue;
    const std::size_t colon = part.find(':');
    const auto launch = parse_number<std::int64_t>(std::string_view(part).substr(0, colon));
    const auto p50 =
        colon == std::string::npos ? std::nullopt : parse_number<double>(std::string_view(part).substr(colon + 1));
    if (!launch || !p50 || !std::isfinite(*p50))
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is not the median of a launch; write NUMBER:MILLISECONDS", shown(part)));
    if (std::ranges::any_of(medians, [&](const LaunchMedian& other) { return other.launch == *launch; }))
      return fail(ErrorCode::kInvalidArgument, fmt::format("launch {} is there twice", *launch));
    medians.push_back({*launch, *p50});
  }
  return medians;
}

std::vector<LaunchMedian> launch_medians(const Record& row) {
  LaunchMedians medians = row.launch_p50_ms;
  if (row.launch_p50_ms.empty() && row.latency_p50_ms)
    medians.push_back({row.launch_number.value_or(1), *row.latency_p50_ms});
  std::ranges::sort(medians, {}, &LaunchMedian::launch);
  return medians;
}

bool was_refused(const Record& launch) {
  return launch.status == CellStatus::kSkipped && launch.flags.has(Flag::kLimitedByBudget);
}

bool has_fewer_launches(const Record& row) {
  return row.launches && row.planned_launches && *row.launches < *row.planned_launches;
}

std::string why_fewer_launches(const Record& row) {
  if (!has_fewer_launches(row)) return "";
  std::vector<std::string> reasons;
  if (row.flags.has(Flag::kLimitedByMaxTime))
    reasons.emplace_back("a warm-up and three runs take all the time of a cell (--max-time)");
  if (row.flags.has(Flag::kLimitedByBudget)) reasons.emplace_back("--budget left no time for more");
  return join(reasons, ", and ");
}

std::string launches_note(const Record& row) {
  const std::string why = why_fewer_launches(row);
  return why.empty() ? "" : fmt::format("{} of {} launches: {}", *row.launches, *row.planned_launches, why);
}

}  // namespace assay
