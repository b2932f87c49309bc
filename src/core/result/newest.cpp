// SPDX-License-Identifier: Apache-2.0
#include "core/result/newest.hpp"

#include <optional>
#include <utility>

namespace assay {

bool is_credible_time(std::string_view time, WallTime now) {
  const std::optional<WallTime> read = parse_iso8601(time);
  return read && *read >= kEarliestTime && *read <= now + kClockAllowance;
}

std::string credible_time(std::string time, WallTime now) {
  return time.empty() || is_credible_time(time, now) ? std::move(time) : iso8601(now);
}

void correct_time(Record& row, WallTime now) {
  if (row.timestamp.empty() || is_credible_time(row.timestamp, now)) return;
  row.timestamp = iso8601(now);
  row.flags.add(Flag::kDoubtfulTime);
}

}  // namespace assay
