// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

inline constexpr double kNsPerSecond = 1e9;

/// The time of all samples, as an input: logic takes a Clock&, tests script it.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds from an arbitrary start; never goes back (steady).
  [[nodiscard]] virtual std::int64_t now_ns() const noexcept = 0;
};

/// std::chrono::steady_clock. Never high_resolution_clock: on libstdc++ that one can jump.
class SteadyClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

/// Wall time, for labelling only.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;
[[nodiscard]] WallTime wall_now();
/// UTC, "2026-03-02T12:34:56.789012Z".
[[nodiscard]] std::string iso8601(WallTime time);
/// Reads what iso8601() writes; the fraction may be absent. Nothing else is a time: no other zone, no year of five
/// digits, no 30th of February.
[[nodiscard]] std::optional<WallTime> parse_iso8601(std::string_view text);
/// UTC, "20260302_123456": for file names and the guides' `timestamp`.
[[nodiscard]] std::string compact_timestamp(WallTime time);

}  // namespace assay
