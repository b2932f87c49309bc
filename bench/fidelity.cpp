// SPDX-License-Identifier: Apache-2.0
// Compares the times that assay reports with those of a bare loop on the runtime's own API.
//
// For each runtime and model: pairs of fresh processes, one running the bare loop (bare_*.cpp), one assay's worker;
// same model file, inputs, rotation, threads, warm-up and number of samples, interleaved. Prints for each statistic
// (median, percentiles, throughput, memory) the ratio (assay / bare), its 95 % interval over the pairs, the difference
// in its unit, and whether the interval excludes 1: then the two differ.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "cell.hpp"
#include "core/stats/stats.hpp"

namespace assay::bench {
namespace {
namespace fs = std::filesystem;

/// What one process reported.
struct Reported {
  double p50_us = 0, p90_us = 0, p99_us = 0, items_per_second = 0, memory_mb = 0;
};
/// A row of the table: a statistic, and from how many samples per process it is given (docs/statistics.md,
/// "Intervals").
struct Statistic {
  const char* name;
  double Reported::*value;
  std::int64_t least_samples;
};
constexpr std::array<Statistic, 5> kStatistics{{{"p50 us", &Reported::p50_us, 1},
                                                {"p90 us", &Reported::p90_us, 36},
                                                {"p99 us", &Reported::p99_us, 368},
                                                {"items/s", &Reported::items_per_second, 1},
                                                {"memory MB", &Reported::memory_mb, 1}}};

Reported report(std::vector<std::int64_t> durations, const Loaded& process, std::int64_t batch) {
  std::vector<double> sorted(durations.begin(), durations.end());
  std::ranges::sort(sorted);
  const auto us = [&](double p) { return stats::quantile_sorted(sorted, p) / 1e3; };
  return {us(0.5), us(0.9), us(0.99), static_cast<double>(batch) / stats::mean(sorted) * 1e9,
          static_cast<double>(process.peak_bytes()) / 1e6};
}

void print_row(const std::string& cell, const Cell& timed, const Statistic& statistic,
               const std::vector<Reported>& bare, const std::vector<Reported>& ours) {
  if (timed.iterations() < statistic.least_samples) return;
  std::vector<double> a, b;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    a.push_back(bare[i].*statistic.value);
    b.push_back(ours[i].*statistic.value);
  }
  const stats::RatioEstimate estimate = stats::paired_ratio(a, b);
  const bool excludes_one = estimate.interval.low > 1 || estimate.interval.high < 1;
  std::ranges::sort(a);
  const double typical = a[a.size() / 2];
  fmt::print("| {} | {} | {} | {} | {:.1f} | {:.4f} | {:.4f} to {:.4f} | {:+.2f} | {} |\n", cell, statistic.name,
             bare.size(), timed.iterations(), typical, estimate.ratio, estimate.interval.low, estimate.interval.high,
             (estimate.ratio - 1) * typical, excludes_one ? "yes" : "not shown");
}

Status compare(const Settings& settings, const EngineRegistry& registry, const std::string& engine,
               const std::string& name, std::mt19937& random) {
  ASSAY_TRY(const fs::path model, model_file(settings, name));
  ASSAY_TRY(EngineLocation location, registry.locate(engine));
  Cell cell(settings, registry, std::move(location), model);
  ASSAY_CHECK_OK(cell.prepare(engine + ".inputs"));
  std::vector<Reported> bare, ours;
  for (int pair = 0; pair < settings.pairs; ++pair) {
    std::vector<std::unique_ptr<Loaded>> both(2);
    const bool bare_first = random() % 2 == 0;
    for (const bool start_bare : {bare_first, !bare_first}) {
      ASSAY_TRY(both[start_bare ? 0 : 1], start_bare ? cell.start_bare() : cell.start_assay());
    }
    ASSAY_TRY(const auto durations, durations_in_turns(both, cell.iterations(), settings.turns, random));
    bare.push_back(report(durations[0], *both[0], settings.batch));
    ours.push_back(report(durations[1], *both[1], settings.batch));
    fmt::print(stderr, "{} {} pair {}: bare {:.1f} us, assay {:.1f} us\n", engine, name, pair + 1, bare.back().p50_us,
               ours.back().p50_us);
  }
  for (const Statistic& statistic : kStatistics) print_row(engine + " | " + name, cell, statistic, bare, ours);
  std::fflush(stdout);
  return {};
}

Status run(const Settings& settings, const std::vector<std::string>& models) {
  std::error_code ignored;
  fs::create_directories(settings.folder, ignored);
  const EngineRegistry registry(EngineRegistry::default_places());
  std::mt19937 random(kSeed);
  fmt::print(
      "| engine | model | statistic | pairs | samples | bare | ratio | 95 % interval | difference | different |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : models)
    for (const std::string& engine : settings.engines)
      ASSAY_CHECK_OK(compare(settings, registry, engine, name, random));
  return {};
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Settings settings;
  settings.folder = "fidelity";
  std::vector<std::string> models{"resnet50", "bert-base-uncased", "prajjwal1/bert-tiny"};
  CLI::App app("Compares assay's medians with those of bare loops on the runtimes' own APIs");
  app.add_option("--models", models, "Names of the zoo or .onnx files")->delimiter(',')->capture_default_str();
  assay::bench::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  const assay::Status status = assay::bench::run(settings, models);
  if (status) return 0;
  fmt::print(stderr, "{}\n", assay::to_string(status.error()));
  return 1;
}
