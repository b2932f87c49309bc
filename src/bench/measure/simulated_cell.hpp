// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A cell whose latencies are generated, measured by measure() on a clock that only the runs advance and summarised
/// like the samples of a worker. For tests and bench/coverage.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "bench/measure/runner.hpp"
#include "core/base/fake_clock.hpp"
#include "core/samples/summary.hpp"
#include "core/stats/samples_for_tests.hpp"

namespace assay {

/// Latencies: run_ns * exp(deviation * x + ...), x an AR(1) series of variance 1 with `correlation` between neighbours.
struct SimulatedSeries {
  double run_ns = 20e6;
  double correlation = 0.0;
  double deviation = 0.02;
  double interruptions = 0.0;  ///< share of runs that take 10 % longer and more
  double slow_part = 0.0;      ///< share of the variance that the AR(1) series has; the rest is independent (0: all)
  /// A level: `size` is added to the logarithm from `from_ns` to `until_ns` of the clock.
  double size = 0.0;
  double from_ns = 0.0, until_ns = 0.0;
  double warmup = 0.0, warmup_ns = 1.0;  ///< exp(-time / warmup_ns) * warmup is added to the logarithm
  double drift_per_second = 0.0;         ///< added to the logarithm
  double second_mode = 0.0;              ///< added to the logarithm in the second of two modes; 2 % of the runs switch
  double tick_ns = 1.0;                  ///< resolution of the timer
};

class SimulatedSource final : public BurstSource {
 public:
  SimulatedSource(FakeClock& clock, const SimulatedSeries& series, std::uint64_t seed)
      : clock_(clock), series_(series), random_(seed), x_(random_.normal()) {}

  Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) override {
    timed_loop(clock_, n, first_set, 1, out, [this](std::size_t) {
      clock_.advance(duration());
      return true;
    });
    if (series_.tick_ns > 1.0)
      for (std::size_t i = 0; i < out.count; ++i)
        out.duration_ns[i] = static_cast<std::int64_t>(
            series_.tick_ns * std::round(static_cast<double>(out.duration_ns[i]) / series_.tick_ns));
    return {};
  }

 private:
  std::int64_t duration() {
    const SimulatedSeries& s = series_;
    const auto now = static_cast<double>(clock_.now_ns());
    x_ = s.correlation * x_ + std::sqrt(1 - s.correlation * s.correlation) * random_.normal();
    double x = x_;
    if (s.slow_part > 0.0) x = std::sqrt(s.slow_part) * x_ + std::sqrt(1 - s.slow_part) * random_.normal();
    double y = s.deviation * x + s.drift_per_second * now / 1e9 + s.warmup * std::exp(-now / s.warmup_ns);
    if (s.interruptions > 0.0 && random_.uniform() < s.interruptions) y += 0.1 - 0.3 * std::log(random_.uniform());
    if (now >= s.from_ns && now < s.until_ns) y += s.size;
    if (s.second_mode > 0.0) {
      if (random_.uniform() < 0.02) second_mode_ = !second_mode_;
      if (second_mode_) y += s.second_mode;
    }
    return std::max<std::int64_t>(1, std::llround(s.run_ns * std::exp(y)));
  }

  FakeClock& clock_;
  SimulatedSeries series_;
  stats::Source random_;
  double x_;
  bool second_mode_ = false;
};

/// The record of one process.
inline Record simulated_cell(const SimulatedSeries& series, const MeasurePlan& plan, std::uint64_t seed) {
  FakeClock clock;
  SimulatedSource source(clock, series, seed);
  std::array<BurstSource*, 1> streams{&source};
  Record record;
  if (const auto measured = measure(streams, clock, plan)) summarise(*measured, measured->samples, 1, record);
  return record;
}

}  // namespace assay
