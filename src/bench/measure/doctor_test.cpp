// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/doctor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "bench/hardware/fake_tree.hpp"
#include "core/base/fake_clock.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

FakeTree quiet_server() {
  FakeTree tree;
  tree.file("/proc/self/status", "Cpus_allowed_list:\t0-3\n").file("/proc/loadavg", "0.10 0.1 0.1 1/9 9\n");
  tree.file("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 15000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
  tree.file("/proc/stat", "cpu  1000 0 500 8000 0 0 0 0 0 0\n").file("/proc/cpuinfo", "flags : fpu avx2\n");
  tree.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  tree.file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n").file("/sys/devices/system/cpu/smt/active", "0\n");
  tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  tree.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  return tree;
}

constexpr ClockQuality kGoodClock{20, 22.0};
constexpr SpinTest kSteadySpin{2'000, 100'000, 0.004, 0.05};
constexpr std::uint64_t kGiB = 1024ULL * 1024 * 1024;
const SpoolDisk kRoomyDisk{"/data", 100 * kGiB, ""};

Diagnosis examined(const FakeTree& tree, ClockQuality clock = kGoodClock, SpinTest spin = kSteadySpin,
                   const SpoolDisk& disk = kRoomyDisk) {
  const Json record = capture_environment(tree.host());
  return diagnose(tree.host(), record, record, clock, spin, disk);
}

HealthFinding finding(const Diagnosis& diagnosis, std::string_view item) {
  const auto found = std::ranges::find(diagnosis.findings, item, &HealthFinding::item);
  EXPECT_NE(found, diagnosis.findings.end()) << item;
  return found != diagnosis.findings.end() ? *found : HealthFinding{};
}

TEST(Doctor, GivesAQuietServerTheFullScore) {
  const Diagnosis diagnosis = examined(quiet_server());
  EXPECT_EQ(diagnosis.score, 100) << to_json(diagnosis).dump(1);
  for (const HealthFinding& f : diagnosis.findings) EXPECT_THAT(f.remedy, IsEmpty()) << f.item;
}

TEST(Doctor, NamesEachFaultWithItsRemedy) {
  const struct {
    const char* item;
    const char* file;
    const char* content;
    Health verdict;
  } faults[] = {
      {"governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n", Health::kBad},
      {"turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", Health::kWarn},
      {"smt", "/sys/devices/system/cpu/smt/active", "1\n", Health::kWarn},
      {"load", "/proc/loadavg", "3.90 1 1 1/9 9\n", Health::kBad},
      {"huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n", Health::kWarn},
      {"clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", Health::kBad},
      {"virtualised", "/proc/cpuinfo", "flags : fpu hypervisor avx2\n", Health::kWarn},
      {"steal", "/proc/stat", "cpu  1000 0 500 8000 0 0 0 400 0 0\n", Health::kBad},
      {"memory_free", "/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 1000000 kB\n", Health::kBad},
      {"swap", "/proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 9 kB\nSwapTotal: 1000000 kB\nSwapFree: 990000 kB\n",
       Health::kWarn},
  };
  for (const auto& fault : faults) {
    FakeTree tree = quiet_server();
    tree.file(fault.file, fault.content);
    const Diagnosis diagnosis = examined(tree);
    const HealthFinding found = finding(diagnosis, fault.item);
    EXPECT_EQ(found.verdict, fault.verdict) << fault.item << ": " << found.value;
    EXPECT_THAT(found.remedy, Not(IsEmpty())) << fault.item;
    EXPECT_LT(diagnosis.score, 100) << fault.item;
  }
}

TEST(Doctor, WhatOthersUseNowCountsMoreThanTheLoadOfTheLastMinute) {
  FakeTree tree = quiet_server();
  tree.file("/proc/loadavg", "9.00 5 3 1/9 9\n");
  const auto judged = [&](const char* later) {
    tree.file("/proc/stat", "cpu  1000 0 500 8000 0 0 0 0 0 0\n");
    Json before = capture_environment(tree.host());
    tree.file("/proc/stat", later);
    Json after = capture_environment(tree.host());
    before["counters"]["process"] = {{"cpu_s", 1.0}};
    after["counters"]["process"] = {{"cpu_s", 1.0}};
    return finding(diagnose(tree.host(), before, after, kGoodClock, kSteadySpin, kRoomyDisk), "load");
  };
  // 100 ticks later, of which others used 4, 20 and 60.
  EXPECT_EQ(judged("cpu  1004 0 500 8096 0 0 0 0 0 0\n").verdict, Health::kWarn) << "after a build, for instance";
  EXPECT_EQ(judged("cpu  1020 0 500 8080 0 0 0 0 0 0\n").verdict, Health::kWarn);
  EXPECT_EQ(judged("cpu  1060 0 500 8040 0 0 0 0 0 0\n").verdict, Health::kBad);
  EXPECT_THAT(judged("cpu  1060 0 500 8040 0 0 0 0 0 0\n").value,
              HasSubstr("9.00, 2.25 per CPU, average of the last minute; others use 60.0 % of all CPUs now"));
  tree.file("/proc/loadavg", "0.10 5 3 1/9 9\n");
  EXPECT_EQ(judged("cpu  1004 0 500 8096 0 0 0 0 0 0\n").verdict, Health::kOk);
  EXPECT_EQ(judged("cpu  1060 0 500 8040 0 0 0 0 0 0\n").verdict, Health::kBad) << "it has just begun";
}

TEST(Doctor, FindsACpuQuotaBelowTheAllowedCpus) {
  FakeTree tree = quiet_server();
  tree.file("/proc/self/cgroup", "0::/\n").file("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
  tree.file("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  const HealthFinding quota = finding(examined(tree), "cpu_quota");
  EXPECT_EQ(quota.verdict, Health::kBad);
  EXPECT_EQ(quota.value, "2.50 of 4 CPUs");
}

TEST(Doctor, RatesClockAndSpinTest) {
  EXPECT_EQ(finding(examined(quiet_server(), {4'000'000, 900}), "clock_resolution").verdict, Health::kBad);
  SpinTest shaky = kSteadySpin;
  shaky.spread = 0.05;
  EXPECT_EQ(finding(examined(quiet_server(), kGoodClock, shaky), "spin_test").verdict, Health::kWarn);
  shaky.spread = 0.3;
  EXPECT_EQ(finding(examined(quiet_server(), kGoodClock, shaky), "spin_test").verdict, Health::kBad);
}

TEST(Doctor, NothingMakesUpForWhatDisturbsEveryTiming) {
  FakeTree loaded = quiet_server();
  loaded.file("/proc/loadavg", "10.00 1 1 1/9 9\n");
  SpinTest shaky = kSteadySpin;
  shaky.spread = 0.3;
  for (const Diagnosis& diagnosis : {examined(loaded), examined(quiet_server(), kGoodClock, shaky)}) {
    EXPECT_LE(diagnosis.score, kUnreliableScore);
    EXPECT_EQ(score_words(diagnosis.score), "timings on this machine are not reliable now");
  }
  EXPECT_EQ(score_words(100), "little was found that disturbs timings");
}

TEST(Doctor, AnUnknownMachineLosesNoPointsAndTheScoreHasAMinimum) {
  const Diagnosis diagnosis = examined(FakeTree());
  EXPECT_EQ(finding(diagnosis, "governor").value, "unknown");
  EXPECT_EQ(diagnosis.score, 100);

  FakeTree tree = quiet_server();
  tree.file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
      .file("/proc/loadavg", "99 1 1 1/9 9\n");
  tree.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  tree.file("/proc/stat", "cpu  10 0 5 80 0 0 0 400 0 0\n")
      .file("/proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 1 kB\n");
  EXPECT_EQ(examined(tree, {4'000'000, 900}, {20, 1, 9, 9}).score, 0);
}

TEST(Doctor, RatesTheFreeSpaceOnTheSpoolsDisk) {
  const auto judged = [](const SpoolDisk& disk) {
    return finding(examined(quiet_server(), kGoodClock, kSteadySpin, disk), "spool_disk");
  };
  EXPECT_EQ(judged(kRoomyDisk).value, "100.0 GiB free at /data");
  EXPECT_EQ(judged(kRoomyDisk).verdict, Health::kOk);
  EXPECT_EQ(judged({"/data", kGiB, ""}).verdict, Health::kWarn);
  EXPECT_EQ(judged({"/data", kGiB / 10, ""}).verdict, Health::kBad);
  EXPECT_EQ(judged({"/data", std::nullopt, "Permission denied"}).value, "unknown: /data: Permission denied");
}

TEST(Doctor, UsesTheDiskOfASpoolThatDoesNotExistYet) {
  const auto folder = TemporaryDirectory::create().value();
  const SpoolDisk disk = find_spool_disk(folder.path() / "not/yet/made.spool");
  EXPECT_EQ(disk.folder, folder.path());
  EXPECT_TRUE(disk.free_bytes) << disk.why_unknown;
}

TEST(SpinTest, MeasuresTheSpreadOfFixedWork) {
  FakeClock clock;
  clock.set_read_cost(100'000);
  const SpinTest test = spin_test(clock, 5'000'000);
  EXPECT_EQ(test.chunks, 50);
  EXPECT_EQ(test.median_ns, 100'000);
  EXPECT_EQ(test.spread, 0);
  EXPECT_EQ(test.worst, 0);
  FakeClock stopped;
  EXPECT_EQ(spin_test(stopped, 0).chunks, 20) << "it does not hang with a clock that stopped";
}

TEST(Doctor, WritesJson) {
  const Json json = to_json(examined(quiet_server()));
  EXPECT_EQ(json["score"], 100);
  EXPECT_EQ(json["findings"][0]["item"], "governor");
  EXPECT_EQ(json["findings"][0]["verdict"], "ok");
  EXPECT_TRUE(json["findings"][0]["remedy"].is_null());
}

}  // namespace
}  // namespace assay
