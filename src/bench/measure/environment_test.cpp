// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/hardware/fake_tree.hpp"
#include "core/base/fake_clock.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;

FakeTree four_cpus() {
  FakeTree tree;
  tree.file("/proc/self/status", "Name:\tassay\nCpus_allowed_list:\t0-3\n");
  tree.file("/sys/devices/system/cpu/online", "0-7\n");
  return tree;
}

TEST(Environment, UsesTheAllowedCpus) {
  EXPECT_EQ(usable_threads(four_cpus().host()), 4);
  EXPECT_EQ(usable_threads(four_cpus().remove("/proc").host()), 8) << "without a mask, the online CPUs";
  EXPECT_EQ(usable_threads(FakeTree().host()), 1);
}

TEST(Environment, TheQuotaOfAnyParentGroupCounts) {
  FakeTree tree = four_cpus();
  tree.file("/proc/self/cgroup", "0::/system.slice/job.scope\n")
      .file("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  tree.file("/sys/fs/cgroup/system.slice/job.scope/cpu.max", "max 100000\n");
  EXPECT_EQ(usable_threads(tree.host()), 4);
  tree.file("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(usable_threads(tree.host()), 2) << "1.5 CPUs, rounded up";
  EXPECT_EQ(cpu_limits(tree.host()).quota_cpus, 1.5);
}

TEST(Environment, AContainersOwnRootCountsIfItsPathIsHidden) {
  FakeTree tree = four_cpus();
  tree.file("/proc/self/cgroup", "0::/docker/abc\n").file("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
  tree.file("/sys/fs/cgroup/cpu.max", "100000 100000\n").file("/sys/fs/cgroup/memory.max", "2000000\n");
  EXPECT_EQ(usable_threads(tree.host()), 1);
  EXPECT_EQ(cgroup_memory_limit(tree.host()), 2'000'000U);
}

TEST(Environment, ReadsTheFirstVersionOfCgroupsToo) {
  FakeTree tree = four_cpus();
  tree.file("/proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n");
  tree.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
  tree.file("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  tree.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  tree.file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(usable_threads(tree.host()), 2);
  EXPECT_EQ(cgroup_memory_limit(tree.host()), std::nullopt) << "the number that means no limit";
}

TEST(Environment, SlurmsShareCounts) {
  EXPECT_EQ(usable_threads(four_cpus().variable("SLURM_CPUS_PER_TASK", "3").host()), 3);
  EXPECT_EQ(usable_threads(four_cpus().variable("SLURM_CPUS_PER_TASK", "many").host()), 4);
}

TEST(Environment, RecordsTheSettings) {
  FakeTree tree = four_cpus();
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    tree.file(folder + "/cpufreq/scaling_governor", "powersave\n");
    tree.file(folder + "/cpufreq/scaling_cur_freq", std::to_string(2'000'000 + cpu * 100'000) + "\n");
    tree.file(folder + "/thermal_throttle/core_throttle_count", "2\n");
  }
  tree.file("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n").file("/sys/devices/system/cpu/smt/active", "1\n");
  tree.file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
      .file("/proc/loadavg", "1.50 1.0 0.5 4/114 9\n");
  tree.file("/proc/stat", "cpu  100 0 50 800 10 5 5 30 0 0\ncpu0 1 2 3\n").file("/.dockerenv", "");
  const Json record = capture_environment(tree.host());
  EXPECT_EQ(record["governor"], "powersave");
  EXPECT_EQ(record["turbo"], false);
  EXPECT_EQ(record["smt"], true);
  EXPECT_EQ(record["transparent_huge_pages"], "madvise");
  EXPECT_EQ(record["load_average"], 1.5);
  EXPECT_EQ(record["container"], "docker");
  EXPECT_EQ(record["cpus"]["usable"], 4);
  EXPECT_EQ(record["counters"]["thermal_throttles"], 8);
  EXPECT_EQ(record["counters"]["frequency_mhz"], 2150.0);
  EXPECT_EQ(record["counters"]["machine"]["total_s"], 10.0);
  EXPECT_EQ(record["counters"]["machine"]["steal_s"], 0.3);
  EXPECT_NEAR(record["counters"]["machine"]["busy_s"].get<double>(), 1.6, 1e-9);
}

TEST(Environment, UnknownValuesAreNull) {
  const Json record = capture_environment(FakeTree().host());
  for (const char* key : {"kernel", "governor", "turbo", "smt", "numa_nodes", "aslr", "container", "load_average"})
    EXPECT_TRUE(record[key].is_null()) << key;
  EXPECT_TRUE(record["counters"]["machine"].is_null());
  EXPECT_THAT(noise(record, record, kSecond)["reasons"], IsEmpty());
  EXPECT_TRUE(noise(record, record, kSecond)["steal_share"].is_null());
}

Json counters(double total, double busy, double steal, double own) {
  return {{"cpus", {{"usable", 2}}},
          {"counters",
           {{"machine", {{"total_s", total}, {"busy_s", busy}, {"steal_s", steal}}},
            {"process",
             {{"cpu_s", own},
              {"voluntary_switches", 0},
              {"involuntary_switches", 0},
              {"minor_faults", 0},
              {"major_faults", 0}}},
            {"thermal_throttles", 5},
            {"cgroup_throttled_ns", 0},
            {"frequency_mhz", 3000.0}}}};
}

TEST(Noise, AQuietWindowHasNoReasons) {
  // Ten seconds on two CPUs, all of the busy time our own.
  const Json quiet = noise(counters(100, 50, 1, 20), counters(120, 65, 1.1, 35), 10 * kSecond);
  EXPECT_THAT(quiet["reasons"], IsEmpty()) << quiet.dump();
  EXPECT_NEAR(quiet["steal_share"].get<double>(), 0.005, 1e-12);
  EXPECT_NEAR(quiet["others_busy_share"].get<double>(), 0, 1e-12);
  EXPECT_EQ(quiet["throttle_events"], 0.0);
}

TEST(Noise, NamesTheDisturbancesOfTheWindow) {
  Json after = counters(120, 70, 2, 35);
  after["counters"]["process"]["involuntary_switches"] = 4'000;
  after["counters"]["thermal_throttles"] = 6;
  after["counters"]["frequency_mhz"] = 2'700.0;
  after["counters"]["cgroup_throttled_ns"] = kSecond;
  const Json noisy = noise(counters(100, 50, 1, 20), after, 10 * kSecond);
  EXPECT_THAT(noisy["reasons"], ElementsAre("steal_share", "others_busy_share", "involuntary_switches_per_s",
                                            "throttle_events", "cgroup_throttled_share", "frequency_change"));
  EXPECT_EQ(noisy["involuntary_switches_per_s"], 200.0) << "per usable thread";
  EXPECT_NEAR(noisy["frequency_change"].get<double>(), -0.1, 1e-12);
}

TEST(ClockTest, FindsResolutionAndCostOfAReading) {
  FakeClock clock;
  clock.set_read_cost(25);
  const ClockQuality quality = test_clock(clock);
  EXPECT_EQ(quality.resolution_ns, 25);
  EXPECT_DOUBLE_EQ(quality.read_cost_ns, 25);
}

TEST(Environment, ThisMachineHasCounters) {
  const Json record = capture_environment();
  EXPECT_GE(record["cpus"]["usable"].get<int>(), 1);
  EXPECT_GE(record["counters"]["process"]["cpu_s"].get<double>(), 0);
  // A sandbox may have no /proc/stat, or one of zeros.
  if (Host().exists("/proc/stat")) {
    EXPECT_GE(record["counters"]["machine"]["total_s"].get<double>(), 0);
  }
}

}  // namespace
}  // namespace assay
