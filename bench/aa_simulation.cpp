// SPDX-License-Identifier: Apache-2.0
#include "aa_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace assay::bench {
namespace {

using stats::Difference;
using stats::Interval;
using stats::RoundComparison;
using stats::Source;

constexpr double kSharedSd = 0.03, kDriftPerLaunch = 0.002;
constexpr std::size_t kFirstLook = 2, kDefaultLaunches = 3;
constexpr double kWithinMode = 0.2;  // of the standard deviation

bool is_claim(const RoundComparison& comparison) {
  return comparison.difference == Difference::kFaster || comparison.difference == Difference::kSlower;
}
bool holds(const Interval& interval, double truth) { return interval.low <= truth && truth <= interval.high; }
double share(std::size_t count, std::size_t of) { return static_cast<double>(count) / static_cast<double>(of); }

// By the rounds that both have: a cell misses only later ones.
RoundComparison compare(const Rounds& rounds, std::size_t baseline = 0, std::size_t candidate = 1,
                        std::size_t comparisons = 1) {
  const std::span<const double> a = rounds.medians(baseline), b = rounds.medians(candidate);
  const std::size_t common = std::min(a.size(), b.size());
  return stats::compare_rounds(a.first(common), b.first(common), comparisons);
}

// The fastest first.
std::vector<std::size_t> by_latency(const Rounds& rounds, std::size_t cells) {
  std::vector<double> latency(cells);
  for (std::size_t c = 0; c < cells; ++c) latency[c] = stats::estimate_over_launches(rounds.medians(c)).value;
  std::vector<std::size_t> order(cells);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return latency[x] < latency[y]; });
  return order;
}

// A value with mean 0 and standard deviation 1: `slow` of the processes are in the slow mode.
double of_two_modes(Source& source, double slow) {
  const double mode = (source.uniform() < slow ? 1 - slow : -slow) / std::sqrt(slow * (1 - slow));
  return std::sqrt(1 - kWithinMode * kWithinMode) * mode + kWithinMode * source.normal();
}

double heavy_tailed(Source& source) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = source.normal();
    squares += x * x;
  }
  return source.normal() / std::sqrt(squares);  // t = normal / sqrt(squares / 3) has the variance 3
}

}  // namespace

std::string_view to_string(Processes processes) {
  switch (processes) {
    case Processes::kNormal:
      return "normal";
    case Processes::kTwoModes:
      return "two modes";
    case Processes::kRareMode:
      return "rare slow mode";
    case Processes::kHeavyTails:
      return "t with 3 degrees";
  }
  return "";
}

double within_process(const Scenario& scenario) { return scenario.sd < 0.03 ? 0.0025 : 0.005; }

Rounds::Rounds(const Scenario& scenario, std::size_t cells, Source& source)
    : scenario_(scenario), source_(source), medians_(cells) {}

double Rounds::process() {
  switch (scenario_.processes) {
    case Processes::kNormal:
      return source_.normal();
    case Processes::kTwoModes:
      return of_two_modes(source_, 0.5);
    case Processes::kRareMode:
      return of_two_modes(source_, 0.1);
    case Processes::kHeavyTails:
      return heavy_tailed(source_);
  }
  return 0.0;
}

void Rounds::measure_another() {
  std::vector<std::size_t> all(medians_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  measure_another(std::move(all));
}

void Rounds::measure_another(std::vector<std::size_t> order) {
  const double shared = kSharedSd * source_.normal();
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(source_.uniform() * static_cast<double>(i))]);
  }
  for (std::size_t place = 0; place < order.size(); ++place) {
    const double drift = kDriftPerLaunch * static_cast<double>(place);
    const double within = within_process(scenario_) / 1.96 * source_.normal();
    const double own = order[place] == 0 ? 0.0 : std::log(scenario_.ratio);
    medians_[order[place]].push_back(std::exp(shared + drift + scenario_.sd * process() + within + own));
  }
}

OneProcess judge_one_process(const Scenario& scenario, std::size_t pairs, std::uint64_t seed) {
  Source source(seed);
  std::size_t different = 0, held = 0;
  const double half = within_process(scenario);
  for (std::size_t i = 0; i < pairs; ++i) {
    Rounds rounds(scenario, 2, source);
    rounds.measure_another();
    const double log_ratio = std::log(rounds.medians(1)[0] / rounds.medians(0)[0]);
    different += std::abs(log_ratio) > 2 * half;
    held += std::abs(log_ratio - std::log(scenario.ratio)) <= 2 * half;
  }
  return {share(different, pairs), share(held, pairs)};
}

double claims_at_any_look(const Scenario& scenario, std::size_t pairs, std::uint64_t seed) {
  Source source(seed);
  std::size_t different = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    Rounds rounds(scenario, 2, source);
    bool claimed = false;
    for (std::size_t round = 1; round <= stats::kMostRounds && !claimed; ++round) {
      rounds.measure_another();
      claimed = round >= kFirstLook && is_claim(compare(rounds));
    }
    different += claimed;
  }
  return share(different, pairs);
}

Sequential judge_in_rounds(const Scenario& scenario, std::size_t pairs, std::uint64_t seed, std::size_t most_rounds) {
  Source source(seed);
  std::size_t different = 0, held = 0, total = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    Rounds rounds(scenario, 2, source);
    for (std::size_t round = 0; round < kDefaultLaunches; ++round) rounds.measure_another();
    RoundComparison comparison = compare(rounds);
    while (stats::undecided(comparison, most_rounds)) {
      rounds.measure_another();
      comparison = compare(rounds);
    }
    different += is_claim(comparison) && (scenario.ratio == 1.0 || (comparison.ratio > 1.0) == (scenario.ratio > 1.0));
    held += holds(*comparison.interval, scenario.ratio);
    total += comparison.rounds;
  }
  return {share(different, pairs), share(total, pairs), share(held, pairs)};
}

double smallest_found(Scenario scenario, std::size_t pairs, std::uint64_t seed) {
  int low = 0, high = 200;  // in half per cent; 100 % is found at any sd that is simulated
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    scenario.ratio = 1.0 + 0.005 * middle;
    (judge_in_rounds(scenario, pairs, seed).different >= 0.95 ? high : low) = middle;
  }
  return 0.005 * high;
}

Coverage coverage(const Scenario& scenario, std::size_t launches, std::size_t pairs, std::uint64_t seed) {
  Source source(seed);
  const double mean_drift = std::exp(0.5 * kDriftPerLaunch);
  std::size_t held = 0, launch_held = 0;
  double detectable = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    Rounds rounds(scenario, 2, source);
    for (std::size_t round = 0; round < launches; ++round) rounds.measure_another();
    const RoundComparison comparison = compare(rounds);
    held += holds(*comparison.interval, scenario.ratio);
    launch_held += holds(*stats::estimate_over_launches(rounds.medians(0)).interval, mean_drift);
    detectable += *comparison.smallest_detectable;
  }
  return {share(held, pairs), share(launch_held, pairs), detectable / static_cast<double>(pairs)};
}

namespace {

// Whether the fastest is called different from any other, as the best of all.
bool claims_a_best(const Rounds& rounds, std::size_t cells, std::size_t comparisons) {
  const std::vector<std::size_t> order = by_latency(rounds, cells);
  return std::any_of(order.begin() + 1, order.end(),
                     [&](std::size_t other) { return is_claim(compare(rounds, order.front(), other, comparisons)); });
}

}  // namespace

double best_of(const Scenario& scenario, std::size_t cells, std::size_t comparisons, std::size_t groups,
               std::uint64_t seed, std::size_t most_rounds) {
  Source source(seed);
  std::size_t different = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    Rounds rounds(scenario, cells, source);
    bool claimed = false;
    for (std::size_t round = 1; round <= most_rounds && !claimed; ++round) {
      rounds.measure_another();
      claimed = round >= kDefaultLaunches && claims_a_best(rounds, cells, comparisons);
    }
    different += claimed;
  }
  return share(different, groups);
}

double best_of_run(const Scenario& scenario, std::size_t cells, std::size_t groups, std::uint64_t seed) {
  Source source(seed);
  const std::size_t pairs = stats::pairs_among(cells);
  std::size_t different = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    Rounds rounds(scenario, cells, source);
    for (std::size_t round = 0; round < kDefaultLaunches; ++round) rounds.measure_another();
    const std::vector<std::size_t> first = by_latency(rounds, cells);
    while (stats::undecided(compare(rounds, first[0], first[1], pairs))) rounds.measure_another({first[0], first[1]});
    different += claims_a_best(rounds, cells, pairs);
  }
  return share(different, groups);
}

}  // namespace assay::bench
