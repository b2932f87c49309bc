// SPDX-License-Identifier: Apache-2.0
#include "core/samples/launches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/fake_clock.hpp"
#include "core/result/launch_medians.hpp"
#include "core/samples/summary.hpp"
#include "core/stats/launches.hpp"

namespace assay {
namespace {

using ::testing::ElementsAre;

/// A launch with `count` runs of `base_ns` and a little more, and its row, as an attempt makes it.
struct MeasuredLaunch {
  Record row;
  Samples samples;

  MeasuredLaunch(std::int64_t number, std::int64_t base_ns, std::size_t count = 40) {
    for (std::size_t i = 0; i < count; ++i)
      add(SampleKind::kRun, base_ns + static_cast<std::int64_t>(i * 17 % count) * 1000);
    row.launch_number = number;
    row.attempt_number = 1;
    row.attempt_id = "attempt-" + std::to_string(number);
    row.timestamp = "2026-03-0" + std::to_string(number) + "T00:00:00Z";
    row.batch_size = 4;
    row.process = Process::kFresh;
    row.status = CellStatus::kCompleted;
    row.verification = Verification::kVerified;
    summarise_again();
  }
  void add(SampleKind kind, std::int64_t duration, std::uint32_t stream = 0) {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < samples.size(); ++i)
      if (samples.stream[i] == stream && samples.kind[i] == 0) start += samples.duration_ns[i];
    samples.kind.push_back(static_cast<std::uint8_t>(kind));
    samples.stream.push_back(stream);
    samples.start_ns.push_back(start);
    samples.duration_ns.push_back(duration);
  }
  void summarise_again() {
    Measurement measurement;
    measurement.window_ns = 1'000 * kMs;
    measurement.warmup_iterations = 10;
    summarise(measurement, samples, 4, row);
  }
  [[nodiscard]] LaunchSamples input() const { return {&row, &samples}; }
};

Record combined(const std::vector<MeasuredLaunch>& launches) {
  std::vector<LaunchSamples> inputs;
  inputs.reserve(launches.size());
  for (const MeasuredLaunch& launch : launches) inputs.push_back(launch.input());
  return combine_launches(inputs);
}

TEST(Launches, OneLaunchKeepsItsOwnStatisticsAndSaysThatItIsOneProcess) {
  const MeasuredLaunch only(3, 2 * kMs);
  Record expected = only.row;
  expected.launches = 1;
  expected.latency_p50_interval = IntervalScope::kOneProcess;
  expected.launch_p50_ms = {{3, only.row.latency_p50_ms.value()}};
  EXPECT_EQ(to_json(combined({only})), to_json(expected));
}

TEST(Launches, TheMedianIsTheGeometricMeanOfTheLaunchesWithStudentsInterval) {
  const std::vector<MeasuredLaunch> launches{{1, 2 * kMs}, {2, 3 * kMs}, {4, 4 * kMs}};
  const Record cell = combined(launches);
  const std::vector<double> medians{2.019, 3.019, 4.019};
  EXPECT_NEAR(*cell.latency_p50_ms, std::cbrt(2.019 * 3.019 * 4.019), 1e-12);
  EXPECT_EQ(cell.latency_p50_ns, std::llround(*cell.latency_p50_ms * 1e6));
  EXPECT_EQ(cell.launches, 3);
  EXPECT_EQ(cell.latency_p50_interval, IntervalScope::kLaunches);
  EXPECT_EQ(launch_medians_text(cell.launch_p50_ms), "1:2.019 2:3.019 4:4.019");
  const stats::LaunchEstimate estimate = stats::estimate_over_launches(medians);
  EXPECT_EQ(cell.latency_p50_low_ms, estimate.interval->low);
  EXPECT_EQ(cell.latency_p50_high_ms, estimate.interval->high);
  EXPECT_EQ(cell.launch_spread, estimate.spread);
  EXPECT_LT(*cell.latency_p50_low_ms, 2.019) << "the interval covers the difference between processes";
  EXPECT_FALSE(cell.launch_number);
  EXPECT_EQ(cell.attempt_id, "attempt-1");
  EXPECT_EQ(cell.timestamp, "2026-03-04T00:00:00Z") << "of the newest";
}

TEST(Launches, TheOrderOfTheLaunchesDoesNotMatter) {
  std::vector<MeasuredLaunch> launches{{1, 2 * kMs}, {2, 3 * kMs, 50}, {3, 4 * kMs}};
  const Json expected = to_json(combined(launches));
  do EXPECT_EQ(to_json(combined(launches)), expected);
  while (
      std::ranges::next_permutation(launches, {}, [](const auto& launch) { return *launch.row.launch_number; }).found);
}

TEST(Launches, OtherStatisticsAreOverThePooledSamples) {
  const std::vector<MeasuredLaunch> launches{{1, 2 * kMs, 40}, {2, 3 * kMs, 60}};
  const Record cell = combined(launches);
  std::vector<std::int64_t> all;
  double sum = 0;
  for (const MeasuredLaunch& launch : launches)
    for (const std::int64_t duration : launch.samples.duration_ns) {
      all.push_back(duration);
      sum += static_cast<double>(duration);
    }
  std::ranges::sort(all);
  EXPECT_EQ(cell.iterations, 100);
  EXPECT_DOUBLE_EQ(*cell.latency_mean_ms, sum / 100 / 1e6);
  EXPECT_EQ(cell.latency_min_ms, static_cast<double>(all.front()) / 1e6);
  EXPECT_EQ(cell.latency_max_ms, static_cast<double>(all.back()) / 1e6);
  EXPECT_EQ(cell.latency_p90_ms, static_cast<double>(all[89]) / 1e6) << "nearest rank";
  EXPECT_EQ(cell.latency_p99_ms, static_cast<double>(all[98]) / 1e6);
  EXPECT_NEAR(*cell.throughput_ips, 4 * 100 / (sum / 1e9), 1e-6);
  EXPECT_EQ(cell.warmup_iterations, 20) << "of both launches";
}

TEST(Launches, ThroughputOfSeveralStreamsIsOverTheWindowsOfAllLaunches) {
  std::vector<MeasuredLaunch> launches{{1, 10 * kMs, 30}, {2, 20 * kMs, 30}};
  for (MeasuredLaunch& launch : launches) {
    launch.row.streams = 2;
    const std::size_t runs = launch.samples.size();
    for (std::size_t i = 0; i < runs; ++i) launch.add(SampleKind::kRun, launch.samples.duration_ns[i], 1);
    launch.summarise_again();
  }
  const Record& first = launches[0].row;
  const Record& second = launches[1].row;
  ASSERT_TRUE(first.window_ns && second.window_ns);
  const auto seconds = [](const Record& row) { return static_cast<double>(*row.window_ns) / 1e9; };
  const double items = *first.throughput_ips * seconds(first) + *second.throughput_ips * seconds(second);
  const Record cell = combined(launches);
  EXPECT_NEAR(*cell.throughput_ips, items / (seconds(first) + seconds(second)), 1e-9);
  EXPECT_EQ(cell.window_ns, *first.window_ns + *second.window_ns);
}

TEST(Launches, TimesOfTokensArePooledByTheirKind) {
  std::vector<MeasuredLaunch> launches{{1, 100 * kMs, 4}, {2, 100 * kMs, 4}};
  std::int64_t ms = 1;
  for (MeasuredLaunch& launch : launches) {
    for (int i = 0; i < 4; ++i, ++ms) {
      launch.add(SampleKind::kFirstToken, ms * kMs);
      for (int token = 0; token < 3; ++token) launch.add(SampleKind::kToken, 10 * ms * kMs);
    }
    launch.summarise_again();
    launch.row.prompt_tokens_per_second = 128 * 4 * 1e3 / *launch.row.ttft_ms;
    launch.row.total_tokens_per_second = *launch.row.tokens_per_second * 4;
  }
  const Record cell = combined(launches);
  EXPECT_DOUBLE_EQ(*cell.ttft_ms, 4.5) << "mean of 1, 2, … 8";
  EXPECT_DOUBLE_EQ(*cell.tpot_ms, 45);
  EXPECT_EQ(cell.tpot_p99_ms, 80) << "rank 24 of 24";
  EXPECT_NEAR(*cell.tpot_p50_ms, std::sqrt(20.0 * 60.0), 1e-9) << "the geometric mean of the medians of two launches";
  EXPECT_LT(*cell.tpot_p50_low_ms, 20);
  EXPECT_GT(*cell.tpot_p50_high_ms, 60);
  EXPECT_EQ(cell.ttft_samples, 8);
  EXPECT_EQ(cell.tpot_samples, 24);
  EXPECT_NEAR(*cell.tokens_per_second, 1000.0 / 45, 1e-9);
  EXPECT_NEAR(*cell.total_tokens_per_second, 4 * 1000.0 / 45, 1e-9);
  EXPECT_NEAR(*cell.prompt_tokens_per_second, 128 * 4 * 1e3 / 4.5, 1e-9);
}

TEST(Launches, AFlagHoldsIfMoreThanAThirdHasItAndThatOfTheWeightsIfAny) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  launches[0].row.flags.add(Flag::kNoisy);
  launches[0].row.flags.add(Flag::kSeeded);
  EXPECT_EQ(combined(launches).flags, Flags({Flag::kSeeded})) << "one of three is not more than a third";
  launches[2].row.flags.add(Flag::kNoisy);
  EXPECT_EQ(combined(launches).flags, Flags({Flag::kNoisy, Flag::kSeeded}));
}

TEST(Launches, TheSteadyClassFollowsTheSameLimitAsTheFlag) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  for (MeasuredLaunch& launch : launches) launch.row.steady_class = stats::SteadyClass::kFlat;
  launches[0].row.steady_class = stats::SteadyClass::kUnsteady;
  EXPECT_EQ(combined(launches).steady_class, stats::SteadyClass::kFlat);
  launches[1].row.steady_class = stats::SteadyClass::kSlowdown;
  EXPECT_EQ(combined(launches).steady_class, stats::SteadyClass::kSlowdown);
  launches[2].row.steady_class = stats::SteadyClass::kUnsteady;
  EXPECT_EQ(combined(launches).steady_class, stats::SteadyClass::kUnsteady);
}

TEST(Launches, TheWorstStatusAndVerdictWinWithTheirErrors) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  for (MeasuredLaunch& launch : launches) {
    launch.row.message = "padded inputs; 2 sets";
    launch.row.max_abs_error = 0.001;
    launch.row.error_limit = 0.01;
  }
  launches[1].row.status = CellStatus::kWrong;
  launches[1].row.verification = Verification::kWrong;
  launches[1].row.max_abs_error = 7;
  launches[1].row.message = "element 3 is 1 instead of 8; 2 sets";
  const Record cell = combined(launches);
  EXPECT_EQ(cell.status, CellStatus::kWrong);
  EXPECT_EQ(cell.verification, Verification::kWrong);
  EXPECT_EQ(cell.max_abs_error, 7);
  EXPECT_EQ(cell.message, "element 3 is 1 instead of 8; 2 sets; padded inputs") << "each part once, the worst first";
  EXPECT_EQ(cell.launches, 3);
}

TEST(Launches, ALaunchThatFailedMakesTheCellFailAndTheOthersAreMeasured) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, 0, 0}};
  launches[2].row.status = CellStatus::kFailed;
  launches[2].row.reason_code = Reason::kWorkerDied;
  const Record cell = combined(launches);
  EXPECT_EQ(cell.status, CellStatus::kFailed);
  EXPECT_EQ(cell.reason_code, Reason::kWorkerDied);
  EXPECT_EQ(cell.launches, 2);
  EXPECT_EQ(cell.iterations, 80);
}

TEST(Launches, MemoryIsThatOfFreshProcessesIfThereAreAny) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  const auto set = [&](std::size_t i, MemorySource source, double mb) {
    launches[i].row.memory_source = source;
    launches[i].row.memory_mb = mb;
    launches[i].row.memory_model_mb = mb / 2;
    launches[i].row.process = source == MemorySource::kProcess ? Process::kFresh : Process::kWarm;
  };
  set(0, MemorySource::kWarmProcess, 900), set(1, MemorySource::kProcess, 100), set(2, MemorySource::kProcess, 110);
  Record cell = combined(launches);
  EXPECT_EQ(cell.memory_mb, 110);
  EXPECT_EQ(cell.memory_model_mb, 55);
  EXPECT_EQ(cell.memory_source, MemorySource::kProcess);
  EXPECT_EQ(cell.process, Process::kFresh);
  set(1, MemorySource::kWarmProcess, 950), set(2, MemorySource::kWarmProcess, 910);
  cell = combined(launches);
  EXPECT_EQ(cell.memory_mb, 950) << "upper bounds only";
  EXPECT_EQ(cell.memory_source, MemorySource::kWarmProcess);
}

TEST(Launches, LoadTimesAreTheMedianOfTheLaunchesThatHaveThem) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  launches[0].row.model_load_time = 9;
  launches[1].row.model_load_time = 1;
  launches[2].row.model_load_time = 2;
  launches[0].row.load_cold_ms = 500;
  launches[0].row.load_warm_ms = 30;
  launches[1].row.load_warm_ms = 50;
  const Record cell = combined(launches);
  EXPECT_EQ(cell.model_load_time, 2);
  EXPECT_EQ(cell.load_cold_ms, 500);
  EXPECT_EQ(cell.load_warm_ms, 40);
}

TEST(Launches, OfSeveralAttemptsOfALaunchTheNewestThatWasNotCutShortCounts) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {1, kMs}, {1, kMs}, {2, kMs}};
  for (int i = 0; i < 3; ++i) {
    launches[i].row.attempt_number = i + 1;
    launches[i].row.attempt_id = std::string(1, static_cast<char>('a' + i));
  }
  launches[2].row.flags.add(Flag::kPartial);
  std::vector<const Record*> rows;
  rows.reserve(launches.size());
  for (const MeasuredLaunch& launch : launches) rows.push_back(&launch.row);
  EXPECT_THAT(counted_launches(rows), ElementsAre(1, 3));
  launches[0].row.flags.add(Flag::kPartial);
  launches[1].row.flags.add(Flag::kPartial);
  EXPECT_THAT(counted_launches(rows), ElementsAre(3)) << "the other launch is whole";
  launches[3].row.flags.add(Flag::kPartial);
  EXPECT_THAT(counted_launches(rows), ElementsAre(2, 3)) << "nothing else is there";
}

TEST(Launches, AFailureThatResumingRepeatedDoesNotCount) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}, {3, kMs}};
  launches[1].row.status = CellStatus::kFailed;
  std::vector<const Record*> rows;
  rows.reserve(launches.size());
  for (const MeasuredLaunch& launch : launches) rows.push_back(&launch.row);
  EXPECT_THAT(counted_launches(rows), ElementsAre(0, 1, 2)) << "a crash in one of three is a finding";
  launches[2].row.attempt_number = 2;
  EXPECT_THAT(counted_launches(rows), ElementsAre(0, 2));
}

TEST(Launches, TheCellSaysWhyItHasFewerThanPlannedIfItHas) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}};
  for (MeasuredLaunch& launch : launches) launch.row.planned_launches = 3;
  launches[1].row.message = "padded inputs";
  EXPECT_EQ(combined(launches).message, "padded inputs") << "nobody knows why";
  launches[1].row.flags.add(Flag::kLimitedByMaxTime);
  Record cell = combined(launches);
  EXPECT_EQ(cell.flags, Flags({Flag::kLimitedByMaxTime}));
  EXPECT_EQ(cell.message,
            "padded inputs; 2 of 3 launches: a warm-up and three runs take all the time of a cell (--max-time)");
  launches.emplace_back(3, kMs);
  launches[2].row.planned_launches = 3;
  launches[2].row.flags.add(Flag::kLimitedByMaxTime);
  cell = combined(launches);
  EXPECT_EQ(cell.launches, 3);
  EXPECT_EQ(cell.flags, Flags());
  EXPECT_EQ(cell.message, "padded inputs");
}

TEST(Launches, ARefusedLaunchSaysWhyThereAreFewerUntilItWasMade) {
  std::vector<MeasuredLaunch> launches{{1, kMs}, {2, kMs}};
  Record refused;
  refused.status = CellStatus::kSkipped;
  refused.reason_code = Reason::kNoTime;
  refused.message = "no time";
  refused.launch_number = 3;
  refused.attempt_number = 1;
  refused.timestamp = "2026-04-01T00:00:00Z";
  refused.flags.add(Flag::kLimitedByBudget);
  refused.planned_launches = 3;
  EXPECT_TRUE(was_refused(refused));
  const auto cell_of = [&] {
    std::vector<LaunchSamples> inputs{{&refused, nullptr}};
    for (MeasuredLaunch& launch : launches) {
      launch.row.planned_launches = 3;
      EXPECT_FALSE(was_refused(launch.row));
      inputs.push_back(launch.input());
    }
    return combine_launches(inputs);
  };
  Record cell = cell_of();
  EXPECT_EQ(cell.status, CellStatus::kCompleted);
  EXPECT_EQ(cell.launches, 2);
  EXPECT_EQ(cell.flags, Flags({Flag::kLimitedByBudget}));
  EXPECT_EQ(cell.message, "2 of 3 launches: --budget left no time for more");
  EXPECT_EQ(cell.timestamp, launches[1].row.timestamp);
  launches.emplace_back(3, kMs);
  cell = cell_of();
  EXPECT_EQ(cell.launches, 3);
  EXPECT_EQ(cell.flags, Flags());
  EXPECT_EQ(cell.message, "") << "--resume made it, in whatever order they are given";
}

// `db import` of a run's file, then `db ingest` of the same run's bundles, in either order and in parts.
TEST(Launches, AnImportedCellCountsUntilALaunchOfItIsThere) {
  std::vector<MeasuredLaunch> launches;
  for (const std::int64_t number : {1, 2, 3}) launches.emplace_back(number, number * 2 * kMs);
  const Record whole = combined(launches);
  Record imported = whole;
  imported.attempt_id = "imported";
  imported.flags.add(Flag::kImported);
  const auto with_import = [&](std::size_t own) {
    std::vector<LaunchSamples> inputs{{&imported, nullptr}};
    for (std::size_t i = 0; i < own; ++i) inputs.push_back(launches[i].input());
    return combine_launches(inputs);
  };
  EXPECT_EQ(to_json(with_import(0)), to_json(imported));
  for (const std::size_t own : {1U, 2U}) EXPECT_FALSE(with_import(own).flags.has(Flag::kImported)) << own;
  EXPECT_EQ(with_import(2).iterations, 80);
  EXPECT_EQ(to_json(with_import(3)), to_json(whole));
  EXPECT_EQ(with_import(3).iterations, 120);
}

TEST(Launches, AnImportedCellWithoutATimeDoesNotHideItsLaunches) {
  MeasuredLaunch one(1, kMs), failed(2, kMs);
  failed.row.latency_p50_ms.reset();
  failed.row.status = CellStatus::kFailed;
  for (const MeasuredLaunch* launch : {&one, &failed}) {
    Record imported = launch->row;
    imported.launch_number.reset();
    imported.timestamp = "2026-04-01T00:00:00Z";
    imported.flags.add(Flag::kImported);
    const std::vector<LaunchSamples> inputs{{&imported, nullptr}, launch->input()};
    EXPECT_FALSE(combine_launches(inputs).flags.has(Flag::kImported));
  }
}

TEST(Launches, ACellThatWasNotMeasuredHasNoLaunches) {
  Record refused;
  refused.status = CellStatus::kUnsupported;
  refused.reason_code = Reason::kUnsupported;
  refused.launch_number = 1;
  const LaunchSamples inputs[] = {{&refused, nullptr}};
  EXPECT_EQ(to_json(combine_launches(inputs)), to_json(refused));
}

}  // namespace
}  // namespace assay
