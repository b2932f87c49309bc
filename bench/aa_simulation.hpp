// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/stats/launches.hpp"
#include "core/stats/samples_for_tests.hpp"

/// Simulated rounds of two cells, judged by core/stats/launches.hpp: how often is an equal pair called different, how
/// often does the shown interval hold the true ratio, how often is a true difference found? (docs/statistics.md, "When
/// two cells differ".)
namespace assay::bench {

/// How the processes that measure one cell differ from each other; each with the standard deviation `sd` of the log.
enum class Processes {
  kNormal,
  kTwoModes,    ///< half of the processes are slow, the distance of the modes is about 2 sd
  kRareMode,    ///< one of ten is slow, by about 3.3 sd
  kHeavyTails,  ///< Student's t with 3 degrees of freedom
};
[[nodiscard]] std::string_view to_string(Processes processes);

struct Scenario {
  double sd = 0.01;  ///< spread between processes: standard deviation of the logarithm of their medians
  Processes processes = Processes::kNormal;
  double ratio = 1.0;  ///< the true candidate / baseline
};

/// The half-width of the interval of the median within one process. The stop rule ends at 0.5 %, bursts of short runs
/// reach less.
[[nodiscard]] double within_process(const Scenario& scenario);

/// Cells that are measured in rounds of random order. All cells of a round share what the machine does meanwhile (3 %),
/// besides a drift of 0.2 % for each launch. The first cell is the baseline; all later ones are slower by the ratio.
class Rounds {
 public:
  Rounds(const Scenario& scenario, std::size_t cells, stats::Source& source);
  void measure_another();
  /// A further round of these cells only; the others miss it.
  void measure_another(std::vector<std::size_t> cells);
  [[nodiscard]] const std::vector<double>& medians(std::size_t cell) const { return medians_[cell]; }

 private:
  [[nodiscard]] double process();
  Scenario scenario_;
  stats::Source& source_;
  std::vector<std::vector<double>> medians_;
};

/// The verdict that launches replace: two cells differ if the intervals within one process each are disjoint.
struct OneProcess {
  double different = 0;  ///< share of the pairs that are called different
  double coverage = 0;   ///< share whose interval of the ratio (low / high to high / low) holds the true one
};
[[nodiscard]] OneProcess judge_one_process(const Scenario& scenario, std::size_t pairs, std::uint64_t seed);

/// Share of the pairs that are called different at any look, after every round from the second to the tenth. No pair is
/// given up as undecided before, which is the worst case.
[[nodiscard]] double claims_at_any_look(const Scenario& scenario, std::size_t pairs, std::uint64_t seed);

/// As `assay run` does: three rounds, then another as long as the pair is undecided.
struct Sequential {
  double different = 0;  ///< share of the pairs that are called different, in the right direction if the ratio is not 1
  double rounds = 0;     ///< mean number of rounds
  double coverage = 0;   ///< share of the pairs whose final interval contains the true ratio
};
[[nodiscard]] Sequential judge_in_rounds(const Scenario& scenario, std::size_t pairs, std::uint64_t seed,
                                         std::size_t most_rounds = stats::kMostRounds);

/// The least multiple of 0.5 % that is found in at least 95 % of the pairs. `scenario.ratio` is ignored.
[[nodiscard]] double smallest_found(Scenario scenario, std::size_t pairs, std::uint64_t seed);

/// At a fixed number of launches: the share of shown intervals that hold the truth.
struct Coverage {
  double ratio = 0;       ///< share for intervals of the ratio of two cells
  double launch = 0;      ///< share for intervals of one cell's latency
  double detectable = 0;  ///< mean of RoundComparison::smallest_detectable
};
[[nodiscard]] Coverage coverage(const Scenario& scenario, std::size_t launches, std::size_t pairs, std::uint64_t seed);

/// Share of the groups of `cells` equal cells whose fastest is called faster than any other at any look, if all cells
/// are measured in `most_rounds` rounds and `comparisons` is what compare_rounds is given.
[[nodiscard]] double best_of(const Scenario& scenario, std::size_t cells, std::size_t comparisons, std::size_t groups,
                             std::uint64_t seed, std::size_t most_rounds = stats::kMostRounds);

/// Share of the groups of `cells` equal cells whose fastest is called faster than any other at the end, as `assay run`
/// does: three rounds of all, then further ones of the fastest and its runner-up while these are undecided.
[[nodiscard]] double best_of_run(const Scenario& scenario, std::size_t cells, std::size_t groups, std::uint64_t seed);

}  // namespace assay::bench
