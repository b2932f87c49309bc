// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <cmath>

#include "bench/hardware/hardware.hpp"
#include "core/base/hash.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Bytes as GiB with two decimals, as usual for the memory of a GPU.
Json gibibytes(std::optional<std::uint64_t> bytes) {
  return bytes ? Json(std::round(static_cast<double>(*bytes) / kGiB * 100) / 100) : Json(nullptr);
}

/// The nearest of 1, 1.5, 2, 3, 4, 6, 8, 12, … GiB: the kernel's own share of the memory varies from boot to boot.
std::string memory_class(std::uint64_t bytes) {
  if (bytes == 0) return "unknown";
  const double exponent = std::log2(static_cast<double>(bytes) / kGiB);
  const double floor = std::exp2(std::floor(exponent));
  double best = floor;
  for (const double candidate : {1.5 * floor, 2 * floor}) {
    if (std::abs(std::log2(candidate) - exponent) < std::abs(std::log2(best) - exponent)) best = candidate;
  }
  return fmt::format("{:g} GiB", best);
}

// "Debian GNU/Linux 12 (bookworm)", as the system calls itself; "" when it does not say.
std::string os_name(const Host& host) {
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"}) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    for (const std::string& line : split(host.content(file).value_or(""), '\n')) {
      if (!line.starts_with(kKey)) continue;
      std::string name = line.substr(kKey.size());
      std::erase_if(name, [](char c) { return c == '"' || c == '\''; });
      return sanitise(name);
    }
  }
  return {};
}

Json to_json(const HardwareDevice& device) {
  Json json = {{"id", device.id},
               {"name", device.name},
               {"memory_bytes", device.memory_bytes ? Json(*device.memory_bytes) : Json(nullptr)},
               {"driver", text_or_null(device.driver)},
               {"compute_capability", text_or_null(device.compute_capability)}};
  if (device.simulated) json["simulated"] = true;
  return json;
}

}  // namespace

Json to_json(const CpuInfo& cpu) {
  Json caches = Json::array();
  for (const CpuCache& cache : cpu.caches)
    caches.push_back(
        {{"level", cache.level}, {"type", cache.type}, {"bytes", cache.bytes}, {"instances", cache.instances}});
  return {{"model", text_or_null(cpu.model)}, {"vendor", text_or_null(cpu.vendor)},
          {"sockets", cpu.sockets},           {"cores", cpu.cores},
          {"threads", cpu.threads},           {"numa_nodes", cpu.numa_nodes},
          {"virtualised", cpu.virtualised},   {"isa", cpu.isa},
          {"caches", std::move(caches)},      {"memory_bytes", cpu.memory_bytes}};
}

Json to_json(const Hardware& hardware) {
  Json entries = Json::array();
  for (const HardwareEntry& entry : hardware.entries) {
    Json json = {{"hardware", entry.word}, {"available", entry.available}};
    if (!entry.available) {
      json["reason_code"] = to_string(entry.reason_code);
      json["why_not"] = entry.why_not;
      if (!entry.how_to_get.empty()) json["how_to_get"] = entry.how_to_get;
    }
    if (!entry.needs_runtime.empty()) json["needs_runtime"] = entry.needs_runtime;
    json["devices"] = Json::array();
    for (const HardwareDevice& device : entry.devices) json["devices"].push_back(to_json(device));
    entries.push_back(std::move(json));
  }
  return {{"schema_version", "1.0"},
          {"fingerprint", machine_fingerprint(hardware)},
          {"cpu", to_json(hardware.cpu)},
          {"cuda_version", text_or_null(hardware.cuda_version)},
          {"hardware", std::move(entries)}};
}

Json machine_facts(const Hardware& hardware) {
  Json accelerators = Json::array();
  for (const HardwareEntry& entry : hardware.entries) {
    if (entry.word == "cpu") continue;
    for (const HardwareDevice& device : entry.devices) {
      if (entry.word == kOpenvinoWord && device.id == "CPU") continue;
      accelerators.push_back(
          fmt::format("{}: {}, {}", entry.word, device.name, memory_class(device.memory_bytes.value_or(0))));
    }
  }
  return {{"cpu", hardware.cpu.model},
          {"sockets", hardware.cpu.sockets},
          {"cores", hardware.cpu.cores},
          {"threads", hardware.cpu.threads},
          {"memory_class", memory_class(hardware.cpu.memory_bytes)},
          {"accelerators", std::move(accelerators)}};
}

std::string machine_fingerprint(const Hardware& hardware) {
  constexpr std::size_t kDigits = 16;
  return sha256_hex(json_text(machine_facts(hardware))).substr(0, kDigits);
}

Json system_info(const Hardware& hardware, const Host& host) {
  utsname system{};
  uname(&system);
  const HardwareEntry& cuda = hardware.entry("cuda");
  Json gpus = Json::array();
  for (const std::string_view word : {"cuda", "rocm"}) {
    for (const HardwareDevice& device : hardware.entry(word).devices) {
      gpus.push_back({{"name", device.name},
                      {"memory_gb", gibibytes(device.memory_bytes)},
                      {"compute_capability", text_or_null(device.compute_capability)},
                      {"driver", text_or_null(device.driver)}});
    }
  }
  return {{"platform", fmt::format("{}-{}-{}-with-glibc{}", system.sysname, system.release, system.machine,
                                   gnu_get_libc_version())},
          {"os", text_or_null(os_name(host))},
          {"processor", hardware.cpu.model.empty() ? std::string(system.machine) : hardware.cpu.model},
          {"python_version", nullptr},
          {"cuda_available", cuda.available},
          {"cuda_version", text_or_null(hardware.cuda_version)},
          {"gpu_count", gpus.size()},
          {"gpus", std::move(gpus)},
          {"cpu_cores", hardware.cpu.cores},
          {"cpu_threads", hardware.cpu.threads},
          {"memory_gb", gibibytes(hardware.cpu.memory_bytes)}};
}

}  // namespace assay
