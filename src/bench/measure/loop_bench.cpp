// SPDX-License-Identifier: Apache-2.0
/// Prints the cost of measuring: `ninja assay_loop_bench && bin/assay_loop_bench`, in a release build.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/measure/environment.hpp"
#include "bench/measure/runner.hpp"
#include "core/base/clock.hpp"

namespace {

class EmptySource final : public assay::BurstSource {
 public:
  assay::Status run_timed(std::size_t n, std::size_t first_set, assay::SampleColumns& out) override {
    assay::timed_loop(assay::SteadyClock(), n, first_set, 4, out, [](std::size_t set) {
      asm volatile("" : : "r"(set) : "memory");
      return true;
    });
    return {};
  }
};

}  // namespace

int main() {
  const assay::SteadyClock clock;
  const auto quality = assay::test_clock(clock);
  EmptySource source;
  std::array<assay::BurstSource*, 1> streams{&source};
  const assay::MeasurePlan plan{.warmup_iterations = 100'000, .iterations = 1'000'000};
  const std::int64_t begin = clock.now_ns();
  auto measured = assay::measure(streams, clock, plan);
  const std::int64_t total = clock.now_ns() - begin;
  if (!measured) return 1;
  auto& durations = measured->samples.duration_ns;
  const auto n = static_cast<double>(durations.size());
  std::ranges::sort(durations);
  fmt::print("clock: {:.1f} ns a reading, resolution {} ns\n", quality.read_cost_ns, quality.resolution_ns);
  fmt::print("empty run: p50 {} ns, p99 {} ns\n", durations[durations.size() / 2],
             durations[durations.size() * 99 / 100]);
  fmt::print("timed loop: {:.1f} ns per iteration; with decisions and statistics: {:.1f} ns\n",
             static_cast<double>(measured->loop_ns) / n, static_cast<double>(total) / n);
  return 0;
}
