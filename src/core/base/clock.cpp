// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "core/base/text.hpp"

namespace assay {
namespace {
std::tm utc(WallTime time) {
  // Not to_time_t(): the system's clock counts nanoseconds, which overflow before 1678 and after 2262.
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
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

std::optional<WallTime> parse_iso8601(std::string_view text) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  constexpr std::size_t kMicros = 6;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() <= kShape.size() || !text.ends_with('Z')) return std::nullopt;
  for (std::size_t i = 0; i < kShape.size(); ++i)
    if (kShape[i] == 'd' ? !is_digit(text[i]) : text[i] != kShape[i]) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char c : text.substr(at, digits)) value = 10 * value + (c - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year{number(0, 4)},
                                         std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                         std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  const int hours = number(11, 2), minutes = number(14, 2), seconds = number(17, 2);
  if (!date.ok() || hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;  // 60: a leap second
  std::string_view fraction = text.substr(kShape.size(), text.size() - kShape.size() - 1);
  std::chrono::microseconds micros{0};
  if (!fraction.empty()) {
    if (!fraction.starts_with('.') || fraction.size() == 1) return std::nullopt;
    fraction.remove_prefix(1);
    if (!std::ranges::all_of(fraction, is_digit)) return std::nullopt;
    std::string digits(fraction.substr(0, kMicros));
    digits.resize(kMicros, '0');
    micros = std::chrono::microseconds(parse_number<int>(digits).value_or(0));
  }
  return std::chrono::sys_days(date) + std::chrono::hours(hours) + std::chrono::minutes(minutes) +
         std::chrono::seconds(seconds) + micros;
}

std::string compact_timestamp(WallTime time) { return fmt::format("{:%Y%m%d_%H%M%S}", utc(time)); }

}  // namespace assay
