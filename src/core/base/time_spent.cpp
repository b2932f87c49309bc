// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_spent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace assay {
namespace {

constexpr double kShownFrom = 0.5;  // seconds

}  // namespace

std::string_view to_string(Work work) {
  constexpr std::array<std::string_view, kWorks> kWorkNames{"preparation",  "model files", "references", "loading",
                                                            "verification", "sampling",    "other"};
  return kWorkNames[static_cast<std::size_t>(work)];
}

double TimeSpent::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

std::string time_text(const TimeSpent& spent) {
  std::string parts;
  for (std::size_t i = 0; i < kWorks; ++i)
    if (spent.seconds[i] >= kShownFrom)
      parts +=
          fmt::format("{}{} {:.0f} s", parts.empty() ? ": " : ", ", to_string(static_cast<Work>(i)), spent.seconds[i]);
  return fmt::format("{:.0f} s{}", spent.total(), parts);
}

Json to_json(const TimeSpent& spent) {
  Json json{{"total", spent.total()}};
  for (std::size_t i = 0; i < kWorks; ++i) {
    std::string name(to_string(static_cast<Work>(i)));
    std::ranges::replace(name, ' ', '_');
    json[name] = spent.seconds[i];
  }
  return json;
}

Work WorkTimer::change_to(Work work) {
  const std::int64_t now = clock_.now_ns();
  spent_.seconds[static_cast<std::size_t>(now_)] += static_cast<double>(now - since_ns_) / kNsPerSecond;
  since_ns_ = now;
  return std::exchange(now_, work);
}

TimeSpent WorkTimer::spent() const {
  TimeSpent spent = spent_;
  spent.seconds[static_cast<std::size_t>(now_)] += static_cast<double>(clock_.now_ns() - since_ns_) / kNsPerSecond;
  return spent;
}

}  // namespace assay
