// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.hpp"

namespace assay {

/// Durations in tests, in nanoseconds.
inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000 * kMs;

/// A clock for tests: it stands still until the test changes it. Thread: any.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t start_ns = 0) : now_(start_ns) {}
  [[nodiscard]] std::int64_t now_ns() const noexcept override { return now_.fetch_add(per_read_ns_) + per_read_ns_; }
  void advance(std::int64_t nanoseconds) noexcept { now_.fetch_add(nanoseconds); }
  /// From now on each reading takes that long.
  void set_read_cost(std::int64_t nanoseconds) noexcept { per_read_ns_ = nanoseconds; }

 private:
  mutable std::atomic<std::int64_t> now_;
  std::int64_t per_read_ns_ = 0;
};

}  // namespace assay
