// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace assay {
namespace {
std::tm utc(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}
}  // namespace

WallTime wall_now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string iso8601(WallTime time) {
  const auto micros = (time - std::chrono::floor<std::chrono::seconds>(time)).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06d}Z", utc(time), micros);
}

std::string compact_timestamp(WallTime time) { return fmt::format("{:%Y%m%d_%H%M%S}", utc(time)); }

}  // namespace assay
