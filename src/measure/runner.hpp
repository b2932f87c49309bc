// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <assay/result.hpp>

#include "base/clock.hpp"
#include "measure/measurement.hpp"

namespace assay {

/// Samples that a burst has room for.
inline constexpr std::size_t kBurstCapacity = 16'384;

/// Where a burst's samples go. The memory is the runner's, made before the first burst; `count` is the source's to set.
/// `start_ns` is on the runner's clock, INT64_MIN where unknown; `kind` is a SampleKind.
struct SampleColumns {
  std::size_t capacity = 0;
  std::size_t count = 0;
  std::uint8_t* kind = nullptr;
  std::int64_t* start_ns = nullptr;
  std::int64_t* duration_ns = nullptr;
};

/// One stream: something that runs on rotating input sets, one request at a time.
class BurstSource {
 public:
  virtual ~BurstSource() = default;
  /// Runs n times (n <= out.capacity), the i-th time on set (first_set + i) modulo the number of sets.
  /// On an error `out` holds the samples that were completed before it.
  /// Thread: always the same one while measure() runs.
  virtual Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) = 0;
  /// How many samples a run gives: one of kind `run`, before those of its tokens.
  [[nodiscard]] virtual std::size_t samples_per_run() const { return 1; }
};

/// The default burst: two clock readings and three stores around each `run(set)`; allocates, locks and logs nothing.
/// False as soon as `run` returns false; the samples before that run are in `out`. Start with out.count = 0.
template <class ClockType, class Run>
bool timed_loop(const ClockType& clock, std::size_t n, std::size_t first_set, std::size_t sets, SampleColumns& out,
                Run&& run) {
  std::size_t set = first_set % sets;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t start = clock.now_ns();
    if (!run(set)) return false;
    const std::int64_t end = clock.now_ns();
    out.kind[i] = static_cast<std::uint8_t>(SampleKind::kRun);
    out.start_ns[i] = start;
    out.duration_ns[i] = end - start;
    out.count = i + 1;
    if (++set == sets) set = 0;
  }
  return true;
}

/// What the caller does beside measuring. All are called on the thread of measure(), between bursts; absent ones are
/// not called.
struct MeasureHooks {
  const std::atomic<bool>* interrupted = nullptr;  ///< true: stop after the running bursts and keep what there is
  std::function<void()> window_begins{};           ///< warm-up is over: reset peaks, note the environment
  std::function<void()> between_bursts{};          ///< at most every 50 ms of the window: sample memory
  /// About every second and at the end, with all samples so far: those from index `first` on are new. An error ends
  /// the measurement (StopReason::kFailure); the samples stay in the Measurement.
  std::function<Status(const Samples& samples, std::size_t first)> flush{};
};

/// Warms up, then samples until the plan's stop rule says enough (docs/metrics.md).
///
/// Streams: one runs on the calling thread, several on a thread each, without a pause between bursts, so that the
///          window sees all of them at work: samples that begin after the decision to stop are dropped. A fixed number
///          of iterations is the sum over streams; a fixed warm-up is for each.
/// Bursts:  sized to take about 50 ms (10 ms in the warm-up), one run where a run takes longer.
/// Warm-up: without a count, until the median of the last 5 bursts (times streams) is not more than 2 % below that of
///          the 5 before; at least 10 bursts and 100 ms, at most plan.max_warmup_ns, and one run of each stream.
///
/// A failing source is a finding: `failure` is set and the samples before it are kept.
/// Errors: invalid_argument (no stream; one whose run has more samples than a burst has room for; a plan with negative
/// counts or times).
[[nodiscard]] Result<Measurement> measure(std::span<BurstSource* const> streams, const Clock& clock,
                                          const MeasurePlan& plan, const MeasureHooks& hooks = {});

}  // namespace assay
