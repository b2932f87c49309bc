// SPDX-License-Identifier: Apache-2.0
#include "aa_real.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "core/stats/launches.hpp"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;
using stats::Difference;

constexpr std::size_t kDefaultLaunches = 3;

struct EqualPair {
  std::array<std::vector<double>, 2> medians;
  std::array<std::vector<double>, 2> first;  ///< the samples of the first process of each
};

struct Subject {
  std::string engine, model;
  Cell cell;
};

// The samples of one launch: a fresh worker, a warm-up of a fifth, then all.
Result<std::vector<double>> launch(Cell& cell) {
  ASSAY_TRY(const std::unique_ptr<Loaded> process, cell.start_assay());
  ASSAY_TRY([[maybe_unused]] const auto warmed, process->run(std::max<std::int64_t>(5, cell.iterations() / 5)));
  ASSAY_TRY(const std::vector<std::int64_t> durations, process->run(cell.iterations()));
  return std::vector<double>(durations.begin(), durations.end());
}

Status measure_another_round(Cell& cell, EqualPair& pair, std::mt19937& random) {
  const std::size_t begin = random() % 2;
  for (const std::size_t which : {begin, 1 - begin}) {
    ASSAY_TRY(std::vector<double> samples, launch(cell));
    std::vector<double> sorted = samples;
    std::ranges::sort(sorted);
    pair.medians[which].push_back(stats::quantile_sorted(sorted, 0.5));
    if (pair.first[which].empty()) pair.first[which] = std::move(samples);
  }
  return {};
}

// Whether the intervals of the median within one process each are disjoint.
bool differ_by_one_process(const EqualPair& pair) {
  const auto a = stats::estimate_quantile(pair.first[0], 0.5).interval;
  const auto b = stats::estimate_quantile(pair.first[1], 0.5).interval;
  return a && b && (a->high < b->low || b->high < a->low);
}

Result<bool> judge(Subject& subject, int number, std::mt19937& random, int& by_one_process) {
  EqualPair pair;
  for (std::size_t round = 0; round < kDefaultLaunches; ++round) {
    ASSAY_CHECK_OK(measure_another_round(subject.cell, pair, random));
  }
  stats::RoundComparison comparison = stats::compare_rounds(pair.medians[0], pair.medians[1]);
  while (stats::undecided(comparison)) {
    ASSAY_CHECK_OK(measure_another_round(subject.cell, pair, random));
    comparison = stats::compare_rounds(pair.medians[0], pair.medians[1]);
  }
  const bool claimed = comparison.difference != Difference::kNotShown;
  const bool one_process = differ_by_one_process(pair);
  by_one_process += one_process;
  std::vector<double> all = pair.medians[0];
  all.insert(all.end(), pair.medians[1].begin(), pair.medians[1].end());
  const stats::LaunchEstimate estimate = stats::estimate_over_launches(all);
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.2f} % | {:.4f} | {:.4f} to {:.4f} | {:.1f} % | {} | {} |\n", number,
             subject.engine, subject.model, comparison.rounds, estimate.value / 1e3, 100 * estimate.spread,
             comparison.ratio, comparison.interval->low, comparison.interval->high,
             100 * *comparison.smallest_detectable, claimed ? "yes" : "no", one_process ? "yes" : "no");
  std::fflush(stdout);
  return claimed;
}

}  // namespace

Result<int> judge_equal_pairs(const Settings& settings, const std::vector<std::string>& models) {
  std::error_code ignored;
  fs::create_directories(settings.folder, ignored);
  const EngineRegistry registry(EngineRegistry::default_places());
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const std::string& model : models) {
    ASSAY_TRY(const fs::path file, model_file(settings, model));
    for (const std::string& engine : settings.engines) {
      ASSAY_TRY(EngineLocation location, registry.locate(engine));
      subjects.push_back(
          std::make_unique<Subject>(Subject{engine, model, Cell(settings, registry, std::move(location), file)}));
      ASSAY_CHECK_OK(subjects.back()->cell.prepare(fmt::format("{}.{}.inputs", engine, subjects.size())));
    }
  }
  fmt::print(
      "| pair | engine | model | rounds | median us | sd between processes | ratio | 95 % interval | smallest "
      "detectable "
      "| called different | by one process each |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- "
      "|\n");
  std::mt19937 random(std::random_device{}());
  int claims = 0, by_one_process = 0;
  for (int number = 1; number <= settings.pairs; ++number) {
    Subject& subject = *subjects[static_cast<std::size_t>(number - 1) % subjects.size()];
    ASSAY_TRY(const bool claimed, judge(subject, number, random, by_one_process));
    claims += claimed;
  }
  fmt::print("\n{} pairs: {} called different; {} by one process each\n", settings.pairs, claims, by_one_process);
  return claims;
}

}  // namespace assay::bench
