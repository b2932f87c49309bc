// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "bench/hardware/hardware.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::string_view kCpuFolder = "/sys/devices/system/cpu";

// x86-64 by `flags`, AArch64 by `Features` in /proc/cpuinfo.
constexpr std::array<std::string_view, 26> kInstructionSets{
    "sse4_2",      "avx",         "f16c",        "fma",      "avx2",     "avx_vnni", "avx512f",  "avx512bw", "avx512vl",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "avx10",    "asimd",
    "asimddp",     "fphp",        "asimdhp",     "i8mm",     "bf16",     "sve",      "sve2",     "sme"};

std::vector<std::string> instruction_sets(const Host& host) {
  auto flags = host.field("/proc/cpuinfo", "flags");
  if (!flags) flags = host.field("/proc/cpuinfo", "Features");
  if (!flags) return {};
  const std::vector<std::string> list = split(*flags, ' ');
  const std::set<std::string, std::less<>> present(list.begin(), list.end());
  std::vector<std::string> found;
  for (const std::string_view name : kInstructionSets) {
    if (present.contains(name)) found.emplace_back(name);
  }
  return found;
}

std::vector<int> online_cpus(const Host& host) {
  if (const auto text = host.text(fmt::format("{}/online", kCpuFolder))) {
    if (auto cpus = parse_cpu_list(*text); cpus && !cpus->empty()) return std::move(*cpus);
  }
  // Without sysfs: one "processor" line each.
  std::vector<int> cpus;
  const auto info = host.content("/proc/cpuinfo");
  if (info) {
    for (const std::string& line : split(*info, '\n')) {
      if (line.starts_with("processor")) cpus.push_back(static_cast<int>(cpus.size()));
    }
  }
  return cpus;
}

/// "512K", "32M" as bytes.
std::uint64_t cache_bytes(std::string_view text) {
  std::uint64_t unit = 1;
  if (text.ends_with('K')) unit = 1024;
  if (text.ends_with('M')) unit = 1U << 20;
  if (unit > 1) text.remove_suffix(1);
  return parse_number<std::uint32_t>(text).value_or(0) * unit;
}

std::vector<CpuCache> detect_caches(const Host& host, const std::vector<int>& cpus) {
  std::map<std::tuple<std::int64_t, std::string, std::uint64_t>, std::set<std::string>> found;
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("{}/cpu{}/cache", kCpuFolder, cpu);
    for (const std::string& name : host.list(folder)) {
      if (!name.starts_with("index")) continue;
      const std::string cache = fmt::format("{}/{}", folder, name);
      const auto level = host.integer(cache + "/level");
      const auto type = host.text(cache + "/type");
      const auto size = host.text(cache + "/size");
      if (!level || !type || !size) continue;
      found[{*level, *type, cache_bytes(*size)}].insert(
          host.text(cache + "/shared_cpu_list").value_or(std::to_string(cpu)));
    }
  }
  std::vector<CpuCache> caches;
  for (const auto& [key, sharers] : found) {
    const auto& [level, type, bytes] = key;
    caches.push_back({static_cast<int>(level), type, bytes, static_cast<int>(sharers.size())});
  }
  return caches;
}

}  // namespace

CpuInfo detect_cpu(const Host& host) {
  CpuInfo cpu;
  for (const std::string_view key : {"model name", "Model", "Hardware", "cpu model"}) {
    if (!cpu.model.empty()) break;
    cpu.model = host.field("/proc/cpuinfo", key).value_or("");
  }
  cpu.vendor =
      host.field("/proc/cpuinfo", "vendor_id").value_or(host.field("/proc/cpuinfo", "CPU implementer").value_or(""));
  const std::vector<int> cpus = online_cpus(host);
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  for (const int number : cpus) {
    const std::string topology = fmt::format("{}/cpu{}/topology", kCpuFolder, number);
    const std::int64_t socket = host.integer(topology + "/physical_package_id").value_or(0);
    sockets.insert(socket);
    cores.insert({socket, host.integer(topology + "/core_id").value_or(number)});
  }
  cpu.sockets = static_cast<int>(sockets.size());
  cpu.cores = static_cast<int>(cores.size());
  cpu.threads = static_cast<int>(cpus.size());
  const auto nodes = host.list("/sys/devices/system/node");
  cpu.numa_nodes = static_cast<int>(std::ranges::count_if(
      nodes, [](const std::string& name) { return name.starts_with("node") && parse_number<int>(name.substr(4)); }));
  cpu.caches = detect_caches(host, cpus);
  cpu.isa = instruction_sets(host);
  cpu.memory_bytes = host.field_bytes("/proc/meminfo", "MemTotal").value_or(0);
  cpu.virtualised = is_virtualised(host);
  return cpu;
}

bool is_virtualised(const Host& host) {
  const auto flags = host.field("/proc/cpuinfo", "flags").value_or("");
  return fmt::format(" {} ", flags).find(" hypervisor ") != std::string::npos;
}

}  // namespace assay
