// SPDX-License-Identifier: Apache-2.0
// A/A: does assay call two cells different that are the same?
//
// Without --real: simulated rounds with known answers, the tables of docs/statistics.md, "When two cells differ". Exit
// status 1 if a goal is missed. With --real: pairs of the same engine and model on this machine, measured in rounds of
// fresh processes; exit status 1 if more than one pair is called different.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "aa_real.hpp"
#include "aa_simulation.hpp"

namespace assay::bench {
namespace {

constexpr std::array kSds{0.005, 0.01, 0.05};
constexpr std::array kSdsBeyondTheGoals{0.1, 0.2};
constexpr std::array kAllProcesses{Processes::kNormal, Processes::kTwoModes, Processes::kRareMode,
                                   Processes::kHeavyTails};
constexpr double kMostFalseClaims = 0.01, kLeastCoverage = 0.93, kMostCoverage = 0.97, kLeastPower = 0.95;
constexpr std::uint64_t kSimulationSeed = 11;

struct Goals {
  int missed = 0;
  const char* mark(bool reached) {
    missed += !reached;
    return reached ? "" : " (missed)";
  }
};

void equal_pairs(double sd, std::size_t pairs, Goals* goals) {
  for (const Processes processes : kAllProcesses) {
    const Scenario scenario{sd, processes};
    const OneProcess one = judge_one_process(scenario, pairs, kSimulationSeed);
    const double any = claims_at_any_look(scenario, pairs, kSimulationSeed);
    const Sequential run = judge_in_rounds(scenario, pairs, kSimulationSeed + 1);
    fmt::print("| {:.1f} % | {} | {:.1f} % | {:.1f} % | {:.2f} %{} | {:.2f} % | {:.1f} |\n", 100 * sd,
               to_string(processes), 100 * one.different, 100 * one.coverage, 100 * any,
               goals ? goals->mark(any <= kMostFalseClaims) : "", 100 * run.different, run.rounds);
  }
  std::fflush(stdout);
}

void equal_pairs(std::size_t pairs, Goals& goals) {
  fmt::print(
      "Equal pairs: how many are called different?\n\n"
      "| sd | processes | one process each | its interval holds the ratio | rounds, any look | as run does | rounds |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const double sd : kSds) equal_pairs(sd, pairs, &goals);
  for (const double sd : kSdsBeyondTheGoals) equal_pairs(sd, pairs, nullptr);
}

void best_of_five(std::size_t groups, Goals& goals) {
  constexpr std::size_t kCells = 5, kFewRounds = 5;
  constexpr std::size_t kComparisons = stats::pairs_among(kCells);
  fmt::print(
      "\nFive equal cells: is the fastest called faster than any other?\n\n"
      "| sd | processes | as run does | all in up to five rounds | all in up to ten | the same without correction |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (const double sd : kSds) {
    for (const Processes processes : kAllProcesses) {
      const Scenario scenario{sd, processes};
      const auto goal = [&](double share) {
        return fmt::format("{:.2f} %{}", 100 * share, goals.mark(share <= kMostFalseClaims));
      };
      fmt::print("| {:.1f} % | {} | {} | {} | {} | {:.2f} % |\n", 100 * sd, to_string(processes),
                 goal(best_of_run(scenario, kCells, groups, kSimulationSeed + 7)),
                 goal(best_of(scenario, kCells, kComparisons, groups, kSimulationSeed, kFewRounds)),
                 goal(best_of(scenario, kCells, kComparisons, groups, kSimulationSeed)),
                 100 * best_of(scenario, kCells, 1, groups, kSimulationSeed));
      std::fflush(stdout);
    }
  }
}

void coverages(std::size_t pairs, Goals& goals) {
  fmt::print(
      "\nCoverage of the 95 % intervals (of the ratio / of one cell's latency) at fixed launches:\n\n"
      "| sd | processes | 2 | 3 | 5 | 10 |\n| --- | --- | --- | --- | --- | --- |\n");
  for (const double sd : kSds) {
    for (const Processes processes : kAllProcesses) {
      fmt::print("| {:.1f} % | {} |", 100 * sd, to_string(processes));
      for (const std::size_t launches : {2U, 3U, 5U, 10U}) {
        const Coverage held = coverage({sd, processes, 1.05}, launches, pairs, kSimulationSeed + 2);
        const bool in_range = held.ratio >= kLeastCoverage && held.ratio <= kMostCoverage;
        fmt::print(" {:.1f} / {:.1f}{} |", 100 * held.ratio, 100 * held.launch,
                   goals.mark(in_range || processes != Processes::kNormal));
      }
      fmt::print("\n");
      std::fflush(stdout);
    }
  }
}

void true_differences(std::size_t pairs, Goals& goals) {
  fmt::print(
      "\nTrue differences, three launches and then as many rounds as are undecided, at most ten:\n\n"
      "| sd | processes | 5 % found | rounds | shown interval holds it | found in 95 % of the pairs: from | factor 2 "
      "found after 3 rounds | smallest detectable at 3, 6, 10 rounds |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const double sd : kSds) {
    for (const Processes processes : kAllProcesses) {
      const Scenario planted{sd, processes, 1.05};
      const Sequential run = judge_in_rounds(planted, pairs, kSimulationSeed + 3);
      const bool enough = run.different >= kLeastPower || sd > 0.01;
      fmt::print("| {:.1f} % | {} | {:.1f} %{} | {:.1f} | {:.1f} % | {:.1f} % | {:.1f} % |", 100 * sd,
                 to_string(processes), 100 * run.different, goals.mark(enough), run.rounds, 100 * run.coverage,
                 100 * smallest_found(planted, std::max<std::size_t>(pairs / 10, 100), kSimulationSeed + 4),
                 100 * judge_in_rounds({sd, processes, 2.0}, pairs, kSimulationSeed + 6, 3).different);
      for (const std::size_t rounds : {3U, 6U, 10U}) {
        const double detectable =
            coverage(planted, rounds, std::max<std::size_t>(pairs / 10, 100), kSimulationSeed + 5).detectable;
        fmt::print("{}{:.1f}", rounds == 3 ? " " : ", ", 100 * detectable);
      }
      fmt::print(" % |\n");
      std::fflush(stdout);
    }
  }
}

int simulate(std::size_t pairs) {
  Goals goals;
  equal_pairs(pairs, goals);
  best_of_five(pairs, goals);
  coverages(pairs, goals);
  true_differences(pairs, goals);
  fmt::print("\n{} pairs each; goals missed: {}\n", pairs, goals.missed);
  return goals.missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Settings settings;
  settings.folder = "aa";
  settings.engines = {"onnxruntime"};
  settings.seconds = 0.5;
  settings.sequence = 32;
  bool real = false;
  std::size_t pairs = 10'000;
  std::vector<std::string> models{"prajjwal1/bert-tiny"};
  CLI::App app("Measures how often two equal cells are called different");
  app.flags.add("--real", real, "Equal pairs on this machine instead of simulated ones");
  app.add_option("--simulated-pairs", pairs)->check(CLI::Range(100, 1'000'000))->capture_default_str();
  app.add_option("--models", models, "For --real: names of the zoo or .onnx files")
      ->delimiter(',')
      ->capture_default_str();
  assay::bench::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  if (!real) return assay::bench::simulate(pairs);
  const assay::Result<int> claims = assay::bench::judge_equal_pairs(settings, models);
  if (claims) return *claims <= 1 ? 0 : 1;
  fmt::print(stderr, "{}\n", assay::to_string(claims.error()));
  return 1;
}
