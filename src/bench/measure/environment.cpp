// SPDX-License-Identifier: Apache-2.0
#include "bench/measure/environment.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "bench/hardware/hardware.hpp"
#include "core/base/clock.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::string_view kCpuFolder = "/sys/devices/system/cpu";

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Folders of this process's cgroup and its parents, innermost first. `controller` is that of version 1. A container
/// often shows its own group as the root, so the mount's root is always last.
std::vector<std::string> cgroup_folders(const Host& host, std::string_view controller) {
  std::vector<std::string> folders;
  for (const std::string& line : split(host.content("/proc/self/cgroup").value_or(""), '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string mount;
    if (controllers.empty()) {
      mount = host.exists("/sys/fs/cgroup/cgroup.controllers") ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
    } else if (const auto names = split(controllers, ','); std::ranges::find(names, controller) != names.end()) {
      mount = fmt::format("/sys/fs/cgroup/{}",
                          host.exists(fmt::format("/sys/fs/cgroup/{}", controllers)) ? controllers : controller);
    } else {
      continue;
    }
    std::string path(trim(std::string_view(line).substr(second + 1)));
    while (path.starts_with('/') && path.size() > 1) {
      folders.push_back(mount + path);
      path.resize(path.rfind('/'));
    }
    folders.push_back(mount);
  }
  return folders;
}

std::optional<double> cpu_quota(const Host& host) {
  std::optional<double> least;
  const auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0) least = std::min(least.value_or(quota / period), quota / period);
  };
  for (const std::string& folder : cgroup_folders(host, "cpu")) {
    if (const auto text = host.text(folder + "/cpu.max")) {
      const auto parts = split(*text, ' ');  // "max 100000" or "150000 100000"
      if (parts.size() == 2)
        consider(parse_number<double>(parts[0]).value_or(0), parse_number<double>(parts[1]).value_or(0));
    }
    consider(static_cast<double>(host.integer(folder + "/cpu.cfs_quota_us").value_or(-1)),
             static_cast<double>(host.integer(folder + "/cpu.cfs_period_us").value_or(0)));
  }
  return least;
}

/// "always [madvise] never" as "madvise".
std::optional<std::string> chosen(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::size_t open = text->find('[');
  const std::size_t close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return text;
  return text->substr(open + 1, close - open - 1);
}

/// The governor of all CPUs; several are joined by commas.
std::optional<std::string> governors(const Host& host, const std::vector<int>& cpus) {
  std::set<std::string> names;
  for (const int cpu : cpus) {
    if (auto name = host.text(fmt::format("{}/cpu{}/cpufreq/scaling_governor", kCpuFolder, cpu))) names.insert(*name);
  }
  return names.empty() ? std::nullopt : std::optional(join({names.begin(), names.end()}, ","));
}

std::optional<bool> turbo(const Host& host) {
  if (const auto off = host.integer(fmt::format("{}/intel_pstate/no_turbo", kCpuFolder))) return *off == 0;
  if (const auto on = host.integer(fmt::format("{}/cpufreq/boost", kCpuFolder))) return *on != 0;
  return std::nullopt;
}

std::optional<bool> smt(const Host& host) {
  const auto active = host.integer(fmt::format("{}/smt/active", kCpuFolder));
  return active ? std::optional(*active != 0) : std::nullopt;
}

std::optional<std::string> container(const Host& host) {
  if (host.exists("/.dockerenv")) return "docker";
  if (host.exists("/run/.containerenv")) return "podman";
  if (host.variable("KUBERNETES_SERVICE_HOST")) return "kubernetes";
  return host.variable("container");
}

std::optional<double> mean_frequency_mhz(const Host& host, const std::vector<int>& cpus) {
  double sum = 0;
  int count = 0;
  for (const int cpu : cpus) {
    const auto khz = host.integer(fmt::format("{}/cpu{}/cpufreq/scaling_cur_freq", kCpuFolder, cpu));
    if (!khz) continue;
    sum += static_cast<double>(*khz) / 1000;
    ++count;
  }
  if (count > 0) return sum / count;
  return parse_number<double>(host.field("/proc/cpuinfo", "cpu MHz").value_or(""));
}

std::optional<std::int64_t> thermal_throttles(const Host& host, const std::vector<int>& cpus) {
  std::optional<std::int64_t> sum;
  for (const int cpu : cpus) {
    for (const std::string_view file : {"core_throttle_count", "package_throttle_count"}) {
      const auto count = host.integer(fmt::format("{}/cpu{}/thermal_throttle/{}", kCpuFolder, cpu, file));
      if (count) sum = sum.value_or(0) + *count;
    }
  }
  return sum;
}

/// The throttled time of the innermost cgroup that reports it, ns.
std::optional<std::int64_t> cgroup_throttled_ns(const Host& host) {
  for (const std::string& folder : cgroup_folders(host, "cpu")) {
    for (const std::string& line : split(host.content(folder + "/cpu.stat").value_or(""), '\n')) {
      const auto parts = split(line, ' ');
      if (parts.size() != 2) continue;
      const auto value = parse_number<std::int64_t>(parts[1]);
      if (value && parts[0] == "throttled_usec") return *value * 1000;
      if (value && parts[0] == "throttled_time") return value;
    }
  }
  return std::nullopt;
}

Json machine_time(const Host& host) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice", in ticks; guest time is part of user.
  const std::string content = host.content("/proc/stat").value_or("");
  std::vector<std::int64_t> ticks;
  for (const std::string& word : split(content.substr(0, content.find('\n')), ' ')) {
    if (const auto value = parse_number<std::int64_t>(word)) ticks.push_back(*value);
  }
  constexpr std::size_t kFields = 8;
  if (ticks.size() < kFields) return nullptr;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < kFields; ++i) total += ticks[i];
  const std::int64_t idle = ticks[3] + ticks[4];
  const std::int64_t steal = ticks[7];
  const double second = static_cast<double>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  return {{"total_s", static_cast<double>(total) / second},
          {"busy_s", static_cast<double>(total - idle - steal) / second},
          {"steal_s", static_cast<double>(steal) / second}};
}

Json process_counters(const Host& host) {
  rusage usage{};
  if (!host.real() || getrusage(RUSAGE_SELF, &usage) != 0) return nullptr;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return {{"cpu_s", seconds(usage.ru_utime) + seconds(usage.ru_stime)},
          {"voluntary_switches", usage.ru_nvcsw},
          {"involuntary_switches", usage.ru_nivcsw},
          {"minor_faults", usage.ru_minflt},
          {"major_faults", usage.ru_majflt}};
}

/// How much a counter grew from `before` to `after`; nullopt if one of them is missing.
std::optional<double> growth(const Json& before, const Json& after, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!before.contains(where) || !after.contains(where)) return std::nullopt;
  const Json& from = before.at(where);
  const Json& to = after.at(where);
  if (!from.is_number() || !to.is_number()) return std::nullopt;
  return to.get<double>() - from.get<double>();
}

std::optional<double> number_at(const Json& json, const char* pointer) {
  const Json::json_pointer where(pointer);
  if (!json.contains(where) || !json.at(where).is_number()) return std::nullopt;
  return json.at(where).get<double>();
}

std::optional<double> ratio(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || !(*whole > 0)) return std::nullopt;
  return *part / *whole;
}

}  // namespace

CpuLimits cpu_limits(const Host& host) {
  CpuLimits limits;
  const auto mask = host.field("/proc/self/status", "Cpus_allowed_list");
  limits.allowed_cpus = parse_cpu_list(mask.value_or("")).value_or(std::vector<int>{});
  if (limits.allowed_cpus.empty()) {
    const auto online = host.text(fmt::format("{}/online", kCpuFolder));
    limits.allowed_cpus = parse_cpu_list(online.value_or("0")).value_or(std::vector<int>{0});
  }
  limits.quota_cpus = cpu_quota(host);
  const auto slurm = parse_number<std::int64_t>(host.variable("SLURM_CPUS_PER_TASK").value_or(""));
  if (slurm && *slurm > 0) limits.slurm_cpus = slurm;
  return limits;
}

int usable_threads(const Host& host) {
  const CpuLimits limits = cpu_limits(host);
  auto threads = static_cast<double>(limits.allowed_cpus.size());
  if (limits.quota_cpus) threads = std::min(threads, std::ceil(*limits.quota_cpus));
  if (limits.slurm_cpus) threads = std::min(threads, static_cast<double>(*limits.slurm_cpus));
  return std::max(1, static_cast<int>(threads));
}

std::optional<std::uint64_t> cgroup_memory_limit(const Host& host) {
  constexpr std::uint64_t kNone = std::uint64_t{1} << 60;  // version 1 writes a huge number for "no limit"
  std::optional<std::uint64_t> least;
  for (const std::string& folder : cgroup_folders(host, "memory")) {
    for (const std::string_view file : {"memory.max", "memory.limit_in_bytes"}) {
      const auto limit = parse_number<std::uint64_t>(host.text(fmt::format("{}/{}", folder, file)).value_or(""));
      if (limit && *limit < kNone) least = std::min(least.value_or(*limit), *limit);
    }
  }
  return least;
}

std::uint64_t free_memory(const Host& host) {
  const std::uint64_t available = host.field_bytes("/proc/meminfo", "MemAvailable").value_or(std::uint64_t{1} << 40);
  return std::min(available, cgroup_memory_limit(host).value_or(available));
}

Json capture_environment(const Host& host) {
  const CpuLimits limits = cpu_limits(host);
  const std::vector<int>& cpus = limits.allowed_cpus;
  const auto nodes = host.text("/sys/devices/system/node/online");
  const auto node_list = nodes ? parse_cpu_list(*nodes) : std::nullopt;
  Json load = nullptr;
  if (const auto text = host.text("/proc/loadavg"))
    load = or_null(parse_number<double>(text->substr(0, text->find(' '))));
  return {{"kernel", or_null(host.text("/proc/sys/kernel/osrelease"))},
          {"clock_source", or_null(host.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"))},
          {"governor", or_null(governors(host, cpus))},
          {"turbo", or_null(turbo(host))},
          {"smt", or_null(smt(host))},
          {"numa_nodes", node_list ? Json(node_list->size()) : Json(nullptr)},
          {"transparent_huge_pages", or_null(chosen(host.text("/sys/kernel/mm/transparent_hugepage/enabled")))},
          {"aslr", or_null(host.integer("/proc/sys/kernel/randomize_va_space"))},
          {"microcode", or_null(host.field("/proc/cpuinfo", "microcode"))},
          {"isolated_cpus", or_null(host.text(fmt::format("{}/isolated", kCpuFolder)))},
          {"virtualised", is_virtualised(host)},
          {"container", or_null(container(host))},
          {"cpus",
           {{"allowed", cpus},
            {"quota", or_null(limits.quota_cpus)},
            {"slurm", or_null(limits.slurm_cpus)},
            {"usable", usable_threads(host)}}},
          {"memory",
           {{"total_bytes", or_null(host.field_bytes("/proc/meminfo", "MemTotal"))},
            {"available_bytes", or_null(host.field_bytes("/proc/meminfo", "MemAvailable"))},
            {"swap_total_bytes", or_null(host.field_bytes("/proc/meminfo", "SwapTotal"))},
            {"swap_free_bytes", or_null(host.field_bytes("/proc/meminfo", "SwapFree"))},
            {"cgroup_limit_bytes", or_null(cgroup_memory_limit(host))}}},
          {"load_average", std::move(load)},
          {"counters",
           {{"machine", machine_time(host)},
            {"process", process_counters(host)},
            {"thermal_throttles", or_null(thermal_throttles(host, cpus))},
            {"cgroup_throttled_ns", or_null(cgroup_throttled_ns(host))},
            {"frequency_mhz", or_null(mean_frequency_mhz(host, cpus))}}}};
}

Json noise(const Json& before, const Json& after, std::int64_t window_ns) {
  const double seconds = static_cast<double>(window_ns) / kNsPerSecond;
  const auto grown = [&](const char* pointer) { return growth(before, after, pointer); };
  const auto per_second = [&](const char* pointer) { return ratio(grown(pointer), seconds); };

  const auto total = grown("/counters/machine/total_s");
  const auto own = grown("/counters/process/cpu_s");
  auto others = grown("/counters/machine/busy_s");
  if (others && own) others = std::max(0.0, *others - *own);
  auto involuntary = per_second("/counters/process/involuntary_switches");
  if (involuntary) *involuntary /= std::max(1.0, number_at(before, "/cpus/usable").value_or(1));

  struct Item {
    const char* name;
    std::optional<double> value;
    std::optional<double> limit;  ///< a value above it makes a result noisy
  };
  auto frequency = ratio(grown("/counters/frequency_mhz"), number_at(before, "/counters/frequency_mhz"));
  const std::array<Item, 9> items{{
      {"steal_share", ratio(grown("/counters/machine/steal_s"), total), 0.01},
      {"others_busy_share", own ? ratio(others, total) : std::nullopt, 0.1},
      {"involuntary_switches_per_s", involuntary, 100},
      {"voluntary_switches_per_s", per_second("/counters/process/voluntary_switches"), std::nullopt},
      {"minor_faults_per_s", per_second("/counters/process/minor_faults"), std::nullopt},
      {"major_faults_per_s", per_second("/counters/process/major_faults"), 10},
      {"throttle_events", grown("/counters/thermal_throttles"), 0},
      {"cgroup_throttled_share", ratio(grown("/counters/cgroup_throttled_ns"), static_cast<double>(window_ns)), 0.001},
      {"frequency_change", frequency, std::nullopt},
  }};
  Json json = Json::object();
  Json reasons = Json::array();
  for (const Item& item : items) {
    json[item.name] = or_null(item.value);
    if (item.value && item.limit && *item.value > *item.limit) reasons.push_back(item.name);
  }
  constexpr double kFrequencyDrop = -0.05;
  if (frequency && *frequency < kFrequencyDrop) reasons.push_back("frequency_change");
  json["reasons"] = std::move(reasons);
  return json;
}

ClockQuality test_clock(const Clock& clock) {
  constexpr int kReadings = 10'000;
  ClockQuality quality;
  const std::int64_t begin = clock.now_ns();
  std::int64_t last = begin;
  for (int i = 0; i < kReadings; ++i) {
    const std::int64_t now = clock.now_ns();
    if (now > last && (quality.resolution_ns == 0 || now - last < quality.resolution_ns))
      quality.resolution_ns = now - last;
    last = now;
  }
  quality.read_cost_ns = static_cast<double>(last - begin) / kReadings;
  return quality;
}

}  // namespace assay
