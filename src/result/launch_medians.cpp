// SPDX-License-Identifier: Apache-2.0
#include "result/launch_medians.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.hpp"

namespace assay {

std::string launch_medians_text(std::span<const LaunchMedian> medians) {
  std::string text;
  for (const LaunchMedian& median : medians)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", median.launch, median.p50_ms);
  return text;
}

Result<std::vector<LaunchMedian>> parse_launch_medians(std::string_view text) {
  std::vector<LaunchMedian> medians;
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
  std::vector<LaunchMedian> medians = parse_launch_medians(row.launch_p50_ms).value_or(std::vector<LaunchMedian>());
  if (row.launch_p50_ms.empty() && row.latency_p50_ms)
    medians.push_back({row.launch_number.value_or(1), *row.latency_p50_ms});
  std::ranges::sort(medians, {}, &LaunchMedian::launch);
  return medians;
}

std::string launches_note(std::int64_t made, std::int64_t planned, std::string_view why) {
  return fmt::format("{} of {} launches: {}", made, planned, why);
}

std::optional<LaunchesNote> parse_launches_note(std::string_view part) {
  constexpr std::string_view kOf = " of ", kLaunches = " launches: ";
  const std::size_t of = part.find(kOf), launches = part.find(kLaunches);
  if (of == std::string_view::npos || launches == std::string_view::npos || launches < of + kOf.size())
    return std::nullopt;
  const auto made = parse_number<std::int64_t>(part.substr(0, of));
  const auto planned = parse_number<std::int64_t>(part.substr(of + kOf.size(), launches - of - kOf.size()));
  if (!made || !planned) return std::nullopt;
  return LaunchesNote{*made, part.substr(launches + kLaunches.size())};
}

bool has_fewer_launches(const Record& row) {
  return row.launches && row.planned_launches && *row.launches < *row.planned_launches;
}

}  // namespace assay
