// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A scripted engine for tests of measuring.

#include <functional>
#include <optional>
#include <vector>

#include "bench/measure/runner.hpp"
#include "core/base/fake_clock.hpp"

namespace assay {

class FakeSource final : public BurstSource {
 public:
  using Cost = std::function<std::int64_t(std::size_t run)>;

  FakeSource(FakeClock& clock, Cost cost, std::size_t sets = 1) : clock_(clock), cost_(std::move(cost)), sets_(sets) {}
  FakeSource(FakeClock& clock, std::int64_t cost_ns) : FakeSource(clock, [cost_ns](std::size_t) { return cost_ns; }) {}

  void fail_at(std::size_t run, Error error) {
    failing_run_ = run;
    error_ = std::move(error);
  }

  Status run_timed(std::size_t n, std::size_t first_set, SampleColumns& out) override {
    bursts.push_back(n);
    timed_loop(clock_, n, first_set, sets_, out, [this](std::size_t set) {
      if (failing_run_ == runs) return false;
      clock_.advance(cost_(runs++));
      visited_sets.push_back(set);
      return true;
    });
    if (failing_run_ == runs) return tl::unexpected<Error>(error_);
    return {};
  }

  std::size_t runs = 0;
  std::vector<std::size_t> bursts;
  std::vector<std::size_t> visited_sets;

 private:
  FakeClock& clock_;
  Cost cost_;
  std::size_t sets_;
  std::optional<std::size_t> failing_run_;
  Error error_;
};

}  // namespace assay
