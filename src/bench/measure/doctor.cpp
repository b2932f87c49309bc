// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "core/stats/stats.hpp"

namespace assay {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::int64_t kChunkNs = 100'000;

// The weight of each item if it is bad: its usual effect on medians; noise counts more than bias.
constexpr int kHeavy = 25;
constexpr int kMedium = 15;
constexpr int kLight = 6;

std::optional<double> number(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!json.contains(where) || !json.at(where).is_number()) return std::nullopt;
  return json.at(where).get<double>();
}

std::optional<bool> boolean(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!json.contains(where) || !json.at(where).is_boolean()) return std::nullopt;
  return json.at(where).get<bool>();
}

std::string text(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  return json.contains(where) && json.at(where).is_string() ? json.at(where).get<std::string>()
                                                            : std::string("unknown");
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

Health above(double value, double warn, double bad) {
  if (value > bad) return Health::kBad;
  return value > warn ? Health::kWarn : Health::kOk;
}

Health below(double value, double warn, double bad) {
  if (value < bad) return Health::kBad;
  return value < warn ? Health::kWarn : Health::kOk;
}

class Examination {
 public:
  void add(int weight, std::string item, std::string value, Health verdict, std::string remedy) {
    if (verdict == Health::kOk) remedy.clear();
    if (verdict == Health::kBad) cost_ += weight;
    if (verdict == Health::kWarn) cost_ += weight / 3;
    findings_.push_back({std::move(item), std::move(value), verdict, std::move(remedy)});
  }
  /// For what disturbs every timing now: if it is bad, nothing else makes up for it.
  void add_disturbance(int weight, std::string item, std::string value, Health verdict, std::string remedy) {
    disturbed_ |= verdict == Health::kBad;
    add(weight, std::move(item), std::move(value), verdict, std::move(remedy));
  }
  Diagnosis result() && {
    return {std::clamp(100 - cost_, 0, disturbed_ ? kUnreliableScore : 100), std::move(findings_)};
  }

 private:
  int cost_ = 0;
  bool disturbed_ = false;
  std::vector<HealthFinding> findings_;
};

void examine_cpu_settings(const Json& now, Examination& out) {
  const std::string governor = text(now, "/governor");
  const bool steady = governor == "performance" || governor == "unknown";
  out.add(kMedium, "governor", governor, steady ? Health::kOk : Health::kBad,
          "run `cpupower frequency-set -g performance` as root");
  const auto turbo = boolean(now, "/turbo");
  out.add(kMedium, "turbo", turbo ? (*turbo ? "on" : "off") : "unknown",
          turbo.value_or(false) ? Health::kWarn : Health::kOk,
          "the clock frequency depends on heat and other cores: write 1 to "
          "/sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to "
          "/sys/devices/system/cpu/cpufreq/boost, as root");
  const auto smt = boolean(now, "/smt");
  out.add(kLight, "smt", smt ? (*smt ? "on" : "off") : "unknown", smt.value_or(false) ? Health::kWarn : Health::kOk,
          "two threads share a core: write off to /sys/devices/system/cpu/smt/control as root, or pin to one thread "
          "per core");
  const std::string pages = text(now, "/transparent_huge_pages");
  out.add(kLight, "huge_pages", pages, pages == "always" ? Health::kWarn : Health::kOk,
          "pages are merged in the background: write madvise to /sys/kernel/mm/transparent_hugepage/enabled as root");
  const auto virtualised = boolean(now, "/virtualised").value_or(false);
  out.add(kLight, "virtualised", virtualised ? "yes" : "no", virtualised ? Health::kWarn : Health::kOk,
          "other virtual machines share this host: compare only results of the same machine, best interleaved");
}

// The load average forgets slowly: minutes after a build it is still high. What others use now decides, if it is known.
void examine_load(const Json& before, const Json& after, std::size_t cpus, Examination& out) {
  constexpr double kEnoughSeconds = 0.3;  // of all CPUs: thirty ticks
  const auto load = number(before, "/load_average");
  const double per_cpu = load.value_or(0) / static_cast<double>(std::max<std::size_t>(cpus, 1));
  const auto seconds =
      number(after, "/counters/machine/total_s").value_or(0) - number(before, "/counters/machine/total_s").value_or(0);
  const auto others = seconds >= kEnoughSeconds ? number(noise(before, after, 1), "/others_busy_share") : std::nullopt;
  std::string value = load ? fmt::format("{:.2f}, {:.2f} per CPU", *load, per_cpu) : "unknown";
  Health verdict = above(per_cpu, 0.3, 0.8);
  if (others) {
    value += fmt::format(", average of the last minute; others use {} of all CPUs now", percent(*others));
    verdict = std::max(above(*others, 0.1, 0.3), verdict == Health::kOk ? Health::kOk : Health::kWarn);
  }
  out.add_disturbance(kMedium, "load", value, verdict, "other programs use the CPUs: end them, or wait");
}

void examine_share(const Host& host, Examination& out) {
  const CpuLimits limits = cpu_limits(host);
  const auto allowed = limits.allowed_cpus.size();
  const bool limited = limits.quota_cpus && *limits.quota_cpus < static_cast<double>(allowed);
  out.add(kMedium, "cpu_quota",
          limits.quota_cpus ? fmt::format("{:.2f} of {} CPUs", *limits.quota_cpus, allowed) : "none",
          limited ? Health::kBad : Health::kOk,
          "the kernel pauses this process when its quota is used up: raise the container's CPU limit, or pin it to "
          "whole CPUs");
  out.add(0, "affinity", fmt::format("{} CPUs, {} usable threads", allowed, usable_threads(host)), Health::kOk, "");
}

void examine_memory(const Json& now, Examination& out) {
  const auto total = number(now, "/memory/total_bytes");
  const auto free = number(now, "/memory/available_bytes");
  const bool known = total && free && *total > 0;
  const auto limit = number(now, "/memory/cgroup_limit_bytes");
  out.add(kMedium, "memory_free",
          known ? fmt::format("{:.1f} of {:.1f} GiB{}", *free / kGiB, *total / kGiB,
                              limit ? fmt::format(", limit {:.1f} GiB", *limit / kGiB) : "")
                : "unknown",
          known ? below(*free / *total, 0.3, 0.1) : Health::kOk,
          "end programs that use memory: large models will be skipped or swapped");
  const auto swap_total = number(now, "/memory/swap_total_bytes").value_or(0);
  const double used = swap_total - number(now, "/memory/swap_free_bytes").value_or(swap_total);
  constexpr double kMiB = 1024.0 * 1024.0;
  out.add(kMedium, "swap",
          swap_total > 0 ? fmt::format("{:.0f} of {:.0f} MiB used", used / kMiB, swap_total / kMiB) : "none",
          above(used, kMiB, 256 * kMiB), "memory ran low: free some, then `swapoff -a && swapon -a` as root");
}

void examine_disk(const SpoolDisk& disk, Examination& out) {
  const double free = static_cast<double>(disk.free_bytes.value_or(0));
  out.add(kHeavy, "spool_disk",
          disk.free_bytes ? fmt::format("{:.1f} GiB free at {}", free / kGiB, disk.folder.string())
                          : fmt::format("unknown: {}: {}", disk.folder.string(), disk.why_unknown),
          disk.free_bytes ? below(free, 2 * kGiB, 0.2 * kGiB) : Health::kWarn,
          "free disk space, or move the spool with --spool");
}

void examine_clock(const Json& now, const ClockQuality& clock, Examination& out) {
  const std::string source = text(now, "/clock_source");
  const bool fast = source == "tsc" || source == "arch_sys_counter" || source == "kvm-clock" || source == "unknown" ||
                    source == "hyperv_clocksource_tsc_page";
  out.add(kMedium, "clock_source", source, fast ? Health::kOk : Health::kBad,
          "reading this clock is slow: boot with clocksource=tsc if the CPU's tsc is stable");
  const double worst = std::max(static_cast<double>(clock.resolution_ns), clock.read_cost_ns);
  out.add(kMedium, "clock_resolution", fmt::format("{} ns, {:.0f} ns to read", clock.resolution_ns, clock.read_cost_ns),
          above(worst, 100, 1'000), "runs shorter than a hundred times this are not measured accurately");
}

void examine_noise(const Json& before, const Json& after, const SpinTest& spin, Examination& out) {
  const auto machine_s =
      number(after, "/counters/machine/total_s").value_or(0) - number(before, "/counters/machine/total_s").value_or(0);
  // Ticks of 10 ms are too coarse for a share of 1 % in a short test: the share since boot is used instead.
  const bool enough = machine_s >= 2;
  const auto steal_now = number(noise(before, after, 1), "/steal_share");
  std::optional<double> steal = enough ? steal_now : std::nullopt;
  const auto total = number(after, "/counters/machine/total_s");
  if (!steal && total && *total > 0) steal = number(after, "/counters/machine/steal_s").value_or(0) / *total;
  out.add_disturbance(kHeavy, "steal", steal ? percent(*steal) + (enough ? "" : " since boot") : "unknown",
                      above(steal.value_or(0), 0.005, 0.02),
                      "the hypervisor gives CPU time of this machine to others: use a dedicated machine");
  out.add_disturbance(
      kHeavy, "spin_test",
      fmt::format("the time of fixed work varies by {}; the slowest of all took {:.3g} times the median",
                  percent(spin.spread), 1 + spin.worst),
      above(spin.spread, 0.02, 0.1), "something uses the CPU or changes its clock: see the items above");
}

/// Fixed integer work that no compiler can shorten: each step needs the previous one.
std::uint64_t spin(std::uint64_t steps, std::uint64_t seed) {
  for (std::uint64_t i = 0; i < steps; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    seed ^= seed >> 29;
  }
  return seed;
}

}  // namespace

std::string_view to_string(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kWarn:
      return "warn";
    case Health::kBad:
      return "bad";
  }
  return "bad";
}

std::string_view score_words(int score) {
  constexpr int kGood = 80;
  if (score <= kUnreliableScore) return "timings on this machine are not reliable now";
  return score < kGood ? "some of what was found disturbs timings" : "little was found that disturbs timings";
}

SpinTest spin_test(const Clock& clock, std::int64_t duration_ns) {
  constexpr int kMinChunks = 20;
  constexpr int kMaxChunks = 100'000;
  constexpr std::uint64_t kMaxSteps = 1 << 20;
  volatile std::uint64_t sink = 1;
  std::uint64_t steps = 1'024;
  std::int64_t took = 0;
  while (took < kChunkNs && steps < kMaxSteps) {
    steps *= 2;
    const std::int64_t begin = clock.now_ns();
    sink = spin(steps, sink);
    took = clock.now_ns() - begin;
  }
  SpinTest test;
  std::vector<double> chunks;
  const std::int64_t begin = clock.now_ns();
  std::int64_t last = begin;
  while (test.chunks < kMinChunks || (last - begin < duration_ns && test.chunks < kMaxChunks)) {
    sink = spin(steps, sink);
    const std::int64_t now = clock.now_ns();
    chunks.push_back(static_cast<double>(now - last));
    last = now;
    ++test.chunks;
  }
  std::ranges::sort(chunks);
  test.median_ns = stats::quantile_sorted(chunks, 0.5);
  if (test.median_ns > 0) {
    test.spread = (stats::quantile_sorted(chunks, 0.9) - stats::quantile_sorted(chunks, 0.1)) / test.median_ns;
    test.worst = chunks.back() / test.median_ns - 1;
  }
  return test;
}

SpoolDisk find_spool_disk(const std::filesystem::path& spool) {
  std::error_code error;
  SpoolDisk disk;
  disk.folder = std::filesystem::absolute(spool, error);
  while (!std::filesystem::exists(disk.folder, error) && disk.folder.has_relative_path())
    disk.folder = disk.folder.parent_path();
  const auto space = std::filesystem::space(disk.folder, error);
  if (error)
    disk.why_unknown = error.message();
  else
    disk.free_bytes = space.available;
  return disk;
}

Diagnosis diagnose(const Host& host, const Json& before, const Json& after, const ClockQuality& clock,
                   const SpinTest& spin, const SpoolDisk& disk) {
  Examination out;
  examine_cpu_settings(before, out);
  examine_share(host, out);
  examine_load(before, after, cpu_limits(host).allowed_cpus.size(), out);
  examine_memory(before, out);
  examine_disk(disk, out);
  examine_clock(before, clock, out);
  examine_noise(before, after, spin, out);
  return std::move(out).result();
}

Diagnosis examine_machine(const std::filesystem::path& spool) {
  const Host host;
  const SteadyClock clock;
  const Json before = capture_environment(host);
  const SpinTest spin = spin_test(clock);
  const Json after = capture_environment(host);
  return diagnose(host, before, after, test_clock(clock), spin, find_spool_disk(spool));
}

Json to_json(const Diagnosis& diagnosis) {
  Json findings = Json::array();
  for (const HealthFinding& finding : diagnosis.findings)
    findings.push_back({{"item", finding.item},
                        {"value", finding.value},
                        {"verdict", to_string(finding.verdict)},
                        {"remedy", finding.remedy.empty() ? Json(nullptr) : Json(finding.remedy)}});
  return {{"schema_version", "1.0"}, {"score", diagnosis.score}, {"findings", std::move(findings)}};
}

}  // namespace assay
