// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/hardware/host.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"

namespace assay {

/// The part of the machine that cgroups and schedulers allow.
struct CpuLimits {
  std::vector<int> allowed_cpus;           ///< the affinity mask
  std::optional<double> quota_cpus;        ///< cgroup CPU quota, in CPUs; absent: none
  std::optional<std::int64_t> slurm_cpus;  ///< SLURM_CPUS_PER_TASK
};
[[nodiscard]] CpuLimits cpu_limits(const Host& host = Host());
/// The threads that one inference should use: the minimum of allowed CPUs, quota (rounded up) and Slurm's share; at
/// least 1.
[[nodiscard]] int usable_threads(const Host& host = Host());
/// The smallest memory limit of this process's cgroups, bytes; absent: none.
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory_limit(const Host& host = Host());

/// Bytes that a new process may use: the available memory of the kernel, within the cgroup's limit.
[[nodiscard]] std::uint64_t free_memory(const Host& host = Host());

/// The settings and counters that may explain a number, as one JSON object (docs/metrics.md, "Environment"). Settings:
/// kernel, clock_source, governor, turbo, smt, numa_nodes, transparent_huge_pages, aslr, microcode, isolated_cpus,
/// virtualised, container, cpus (allowed, quota, slurm, usable), memory (total, available, swap, cgroup limit),
/// load_average. "counters" contains values that grow or change: CPU time of the machine and of this process, thermal
/// and cgroup throttling, context switches, page faults, the clock's frequency. Unknown values are null. Cost: a few
/// milliseconds; call it outside of the window.
[[nodiscard]] Json capture_environment(const Host& host = Host());

/// Disturbances of a window, from the records at its start and end: steal_share, others_busy_share (of all CPUs' time,
/// by other processes), involuntary_switches_per_s (per usable thread), voluntary_switches_per_s, minor_faults_per_s,
/// major_faults_per_s, throttle_events, cgroup_throttled_share, frequency_change; null if a counter is missing.
/// "reasons" names those above their limit: steal > 1 %, others > 10 %, involuntary switches > 100/s, major faults
/// > 10/s, any thermal throttling, cgroup throttling > 0.1 %, frequency drop > 5 %. A result with reasons is `noisy`.
[[nodiscard]] Json noise(const Json& before, const Json& after, std::int64_t window_ns);

/// The quality of the clock: the smallest step and the cost of one reading, ns.
struct ClockQuality {
  std::int64_t resolution_ns = 0;
  double read_cost_ns = 0;
};
/// Reads the clock 10,000 times.
[[nodiscard]] ClockQuality test_clock(const Clock& clock);

}  // namespace assay
