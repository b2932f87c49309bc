// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <assay/result.hpp>

#include "core/base/clock.hpp"
#include "core/samples/measurement.hpp"

namespace assay {

/// The maximum number of samples of a burst.
inline constexpr std::size_t kBurstCapacity = 16'384;

/// The samples of a burst. The runner owns the memory, allocated before the first burst; the source sets `count`.
/// `start_ns` is on the runner's clock, INT64_MIN if unknown; `kind` is a SampleKind.
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
  /// On an error `out` has the samples that were completed before it.
  /// Thread: always the same one while measure() runs.
  virtual Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) = 0;
  /// The number of samples of a run: one of kind `run`, before those of its tokens.
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

/// Callbacks of the caller. All are called on the thread of measure(), between bursts; they may be absent.
struct MeasureHooks {
  const std::atomic<bool>* interrupted = nullptr;  ///< true: stop after the running bursts and keep the samples
  std::function<void()> window_begins{};           ///< called after the warm-up: reset peaks, record the environment
  std::function<void()> between_bursts{};          ///< called at most every 50 ms of the window: sample memory
  /// Around the statistics of the stop rule, whose memory is not the engine's: true before, false after.
  std::function<void(bool begins)> statistics{};
  /// After the last burst, before the final statistics, with the bytes of all samples.
  std::function<void(std::size_t samples_bytes)> window_ends{};
  /// About every second and at the end, with all samples so far: those from index `first` on are new. An error ends
  /// the measurement (StopReason::kFailure); the samples stay in the Measurement.
  std::function<Status(const Samples& samples, std::size_t first)> flush{};
};

/// Warms up, then samples until the plan's stop rule ends it (docs/metrics.md).
///
/// Streams: one runs on the calling thread, several on a thread each, without a pause between bursts, so that all run
///          during the whole window: samples that begin after the decision to stop are discarded. A fixed number
///          of iterations is the sum over streams; a fixed warm-up is for each.
/// Bursts:  of about 50 ms (10 ms in the warm-up), or one run if a run takes longer.
/// Warm-up: without a count, until the median of the last 5 bursts (times streams) is not more than 2 % below that of
///          the 5 before; at least 10 bursts and 100 ms, at most plan.max_warmup_ns, and one run of each stream.
///
/// A failing source is a result: `failure` is set and the samples before it are kept.
/// Errors: invalid_argument (no stream; a run with more samples than a burst may have; a plan with negative counts or
/// times).
[[nodiscard]] Result<Measurement> measure(std::span<BurstSource* const> streams, const Clock& clock,
                                          const MeasurePlan& plan, const MeasureHooks& hooks = {});

}  // namespace assay
