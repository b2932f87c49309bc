// SPDX-License-Identifier: Apache-2.0
// How often the stored 95 % interval of the median contains the true median, through warm-up, stop rule, steady state
// and summary: measure() and summarise() as a worker calls them, on generated latencies and a clock that only they
// advance.
//
// Usage: coverage [--repetitions N] [--deviation D] [--seed S] [--table coverage|disturbed|all]

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "bench/measure/simulated_cell.hpp"

namespace assay::bench {
namespace {

struct Options {
  int repetitions = 1000;
  double deviation = 0.02;
  std::uint64_t seed = 1;
  std::string table = "all";
};

/// Half the width, relative to the median, of the interval of who knows the process.
double oracle_half_width(const SimulatedSeries& series, double n) {
  double tau = 1.0;
  double power = series.correlation;
  for (double k = 1; k < n && power > 1e-6; ++k, power *= series.correlation)
    tau += 2 * (1 - k / n) * 2 / std::numbers::pi * std::asin(power);
  return 1.959964 * std::sqrt(std::numbers::pi / 2) * series.deviation * std::sqrt(tau / n);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// What became of many runs of one series.
struct Outcome {
  int runs = 0, given = 0, held = 0, flagged = 0, cut = 0, silent = 0;
  std::vector<double> iterations, widths, errors;

  void add(const Record& record, const SimulatedSeries& series, double truth_ms) {
    ++runs;
    const auto n = static_cast<double>(record.iterations.value_or(0));
    const bool flag = record.flags.has(Flag::kFewSamples) || record.flags.has(Flag::kUnsteady);
    iterations.push_back(n);
    flagged += flag;
    cut += record.steady_from.value_or(0) > 0;
    errors.push_back(std::abs(record.latency_p50_ms.value_or(0) / truth_ms - 1));
    if (!record.latency_p50_low_ms || !record.latency_p50_high_ms) {
      silent += !flag;
      return;
    }
    ++given;
    held += *record.latency_p50_low_ms <= truth_ms && truth_ms <= *record.latency_p50_high_ms;
    const double width = (*record.latency_p50_high_ms - *record.latency_p50_low_ms) / truth_ms;
    if (series.deviation > 0) widths.push_back(width / (2 * oracle_half_width(series, n)));
  }
  [[nodiscard]] double share(int count) const { return static_cast<double>(count) / std::max(runs, 1); }
  [[nodiscard]] std::string coverage() const {
    return given == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(held) / given);
  }
};

struct NamedPlan {
  const char* name;
  MeasurePlan plan;
};

std::vector<NamedPlan> plans() {
  MeasurePlan one_launch;
  one_launch.max_time_ns = 10'000'000'000 / 3;
  one_launch.max_warmup_ns = std::min(one_launch.max_warmup_ns, one_launch.max_time_ns / 4);
  return {{"30 s", {}}, {"10/3 s", one_launch}};
}

void coverage_table(const Options& options) {
  fmt::print("Coverage of the stored interval of the median, latencies of {:.1f} % deviation, {} runs a line\n",
             100 * options.deviation, options.repetitions);
  fmt::print("{:>7} {:>8} {:>5}  {:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>6}\n", "limit", "run", "corr.", "samples",
             "interval", "covered", "wrong", "width", "flagged", "cut");
  for (const NamedPlan& plan : plans()) {
    for (const double run_ms : {1.0, 20.0, 200.0, 2000.0}) {
      for (const double correlation : {0.0, 0.5, 0.9, 0.97}) {
        const SimulatedSeries series{
            .run_ns = run_ms * 1e6, .correlation = correlation, .deviation = options.deviation};
        Outcome outcome;
        for (int i = 0; i < options.repetitions; ++i)
          outcome.add(simulated_cell(series, plan.plan, options.seed + static_cast<std::uint64_t>(i)), series, run_ms);
        fmt::print("{:>7} {:>5.0f} ms {:>5.2f}  {:>8.0f} {:>9.3f} {:>8} {:>8.3f} {:>8.2f} {:>8.3f} {:>6.3f}{}\n",
                   plan.name, run_ms, correlation, median(outcome.iterations), outcome.share(outcome.given),
                   outcome.coverage(), outcome.share(outcome.given - outcome.held), median(outcome.widths),
                   outcome.share(outcome.flagged), outcome.share(outcome.cut),
                   outcome.silent > 0 ? fmt::format("  no interval and no flag: {}", outcome.silent) : "");
        std::fflush(stdout);
      }
    }
  }
}

struct Disturbed {
  const char* name;
  SimulatedSeries series;
  MeasurePlan plan;
  double truth = 1.0;  ///< relative to run_ns
};

void disturbed_table(const Options& options) {
  // A window of a known length: the precision is never reached.
  MeasurePlan fixed;
  fixed.relative_precision = 0.0;
  fixed.max_time_ns = 4'000'000'000;
  fixed.warmup_iterations = 0;
  MeasurePlan adaptive;
  const auto base = [](double run_ms, double correlation) {
    return SimulatedSeries{.run_ns = run_ms * 1e6, .correlation = correlation, .deviation = 0.01};
  };
  std::vector<Disturbed> all;
  std::vector<std::string> names;
  names.reserve(200);
  const auto add = [&](std::string name, const SimulatedSeries& series, const MeasurePlan& plan, double truth = 1.0) {
    names.push_back(std::move(name));
    all.push_back({names.back().c_str(), series, plan, truth});
  };
  for (const double run_ms : {1.0, 20.0}) {
    for (const double share : {0.10, 0.25, 0.45}) {
      for (const auto& [where, from] : {std::pair{"first", 0.0}, {"middle", 0.5 - share / 2}, {"last", 1 - share}}) {
        for (const double size : {0.05, -0.05}) {
          SimulatedSeries series = base(run_ms, 0.2);
          series.size = size;
          series.from_ns = 4e9 * from;
          series.until_ns = where == std::string("last") ? 1e18 : 4e9 * (from + share);
          add(fmt::format("{:+.0f} % in the {} {:.0f} %, {:.0f} ms", 100 * size, where, 100 * share, run_ms), series,
              fixed);
        }
      }
    }
    for (const double seconds : {0.2, 0.45}) {
      SimulatedSeries series = base(run_ms, 0.5);
      series.deviation = 0.02;
      series.size = 0.05;
      series.from_ns = 0.5e9;
      series.until_ns = (0.5 + seconds) * 1e9;
      add(fmt::format("+5 % for {:.2f} s, stop rule, {:.0f} ms", seconds, run_ms), series, adaptive);
    }
    SimulatedSeries series = base(run_ms, 0.2);
    series.warmup = 0.7;
    series.warmup_ns = 0.1e9;
    add(fmt::format("warm-up of 0.1 s, no rule, {:.0f} ms", run_ms), series, fixed);
    add(fmt::format("warm-up of 0.1 s, {:.0f} ms", run_ms), series, adaptive);
    series = base(run_ms, 0.2);
    series.drift_per_second = 0.05 / 4;
    add(fmt::format("drift of 5 % in 4 s, {:.0f} ms", run_ms), series, fixed, std::exp(0.025));
    series = base(run_ms, 0.2);
    series.second_mode = 0.08;
    add(fmt::format("two modes, 8 % apart, {:.0f} ms", run_ms), series, fixed, std::exp(0.04));
    series = base(run_ms, 0.5);
    series.tick_ns = run_ms * 1e4;
    add(fmt::format("timer of 1 % of a run, {:.0f} ms", run_ms), series, adaptive);
    series = base(run_ms, 0.5);
    series.interruptions = 0.02;
    add(fmt::format("2 % interruptions, {:.0f} ms", run_ms), series, adaptive, std::exp(0.01 * 0.0256));
    for (const double correlation : {0.9, 0.97}) {
      series = base(run_ms, correlation);
      series.slow_part = 0.5;
      add(fmt::format("half of the variance at {:.2f}, {:.0f} ms", correlation, run_ms), series, adaptive);
    }
  }
  fmt::print("Disturbed series, {} runs a line; error: of the reported median, largest of 95 % of the runs\n",
             options.repetitions);
  fmt::print("{:<42} {:>7} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "", "error", "interval", "covered", "flagged", "cut",
             "samples");
  for (const Disturbed& line : all) {
    Outcome outcome;
    const double truth_ms = line.series.run_ns / 1e6 * line.truth;
    for (int i = 0; i < options.repetitions; ++i)
      outcome.add(simulated_cell(line.series, line.plan, options.seed + static_cast<std::uint64_t>(i)), line.series,
                  truth_ms);
    std::ranges::sort(outcome.errors);
    fmt::print("{:<42} {:>6.2f}% {:>8.3f} {:>8} {:>7.3f} {:>7.3f} {:>7.0f}\n", line.name,
               100 * outcome.errors[outcome.errors.size() * 95 / 100], outcome.share(outcome.given), outcome.coverage(),
               outcome.share(outcome.flagged), outcome.share(outcome.cut), median(outcome.iterations));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  assay::bench::Options options;
  CLI::App app("Coverage of the stored interval of the median, simulated");
  app.add_option("--repetitions", options.repetitions, "runs of each line")->capture_default_str();
  app.add_option("--deviation", options.deviation, "standard deviation of the logarithms")->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--table", options.table, "coverage, disturbed or all")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (options.table != "disturbed") assay::bench::coverage_table(options);
  if (options.table != "coverage") assay::bench::disturbed_table(options);
  return 0;
}
