// SPDX-License-Identifier: Apache-2.0
#include "bench/hardware/hardware.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/hardware/nvidia.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::string_view kIntel = "0x8086";

HardwareEntry missing(std::string_view word, Reason reason, std::string why, std::string how = {}) {
  HardwareEntry entry;
  entry.word = word;
  entry.reason_code = reason;
  entry.why_not = std::move(why);
  entry.how_to_get = std::move(how);
  return entry;
}

HardwareEntry present(std::string_view word, std::vector<HardwareDevice> devices) {
  HardwareEntry entry;
  entry.word = word;
  entry.available = true;
  entry.devices = std::move(devices);
  return entry;
}

/// Hardware that needs a runtime: it can be used if the engine whose default it is was found.
HardwareEntry present_in_runtime(std::string_view word, std::vector<HardwareDevice> devices,
                                 const std::vector<EngineEntry>& engines) {
  HardwareEntry entry = present(word, std::move(devices));
  const std::vector<std::string> names = engines_for(word, engines);
  if (!names.empty()) entry.needs_runtime = names.front();
  return entry;
}

/// Hardware that no included engine supports cannot be used, whatever the machine has.
void require_engine(HardwareEntry& entry, const std::vector<EngineEntry>& engines) {
  std::vector<std::string> planned;
  for (const EngineEntry& engine : engines) {
    if (!engine.serves(entry.word)) continue;
    if (engine.built) return;
    planned.push_back(engine.name);
  }
  const std::string found = entry.available ? "the machine has it" : entry.why_not;
  entry.available = false;
  entry.needs_runtime.clear();
  entry.reason_code = Reason::kNotBuilt;
  entry.how_to_get.clear();
  entry.why_not = fmt::format("no engine for {} is part of this version of assay{}; {}", entry.word,
                              planned.empty() ? "" : fmt::format(" (planned: {})", join(planned, ", ")), found);
}

HardwareDevice cpu_device(const CpuInfo& cpu) {
  HardwareDevice device;
  device.id = "cpu";
  device.name = cpu.model.empty() ? "CPU" : cpu.model;
  device.memory_bytes = cpu.memory_bytes;
  return device;
}

/// NVIDIA GPUs from the kernel's files: if the management library is missing, and in fake trees.
NvidiaReport nvidia_files(const Host& host) {
  NvidiaReport report;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 …"
  const std::string version = host.field("/proc/driver/nvidia/version", "NVRM version").value_or("");
  for (const std::string& word : split(version, ' ')) {
    if (!word.empty() && word.find_first_not_of("0123456789.") == std::string::npos &&
        word.find('.') != std::string::npos)
      report.driver = word;
    if (!report.driver.empty()) break;
  }
  for (const std::string& address : host.list("/proc/driver/nvidia/gpus")) {
    const std::string file = fmt::format("/proc/driver/nvidia/gpus/{}/information", address);
    NvidiaGpu gpu;
    gpu.name = host.field(file, "Model").value_or("NVIDIA GPU");
    gpu.uuid = host.field(file, "GPU UUID").value_or("");
    report.gpus.push_back(std::move(gpu));
  }
  return report;
}

HardwareEntry detect_cuda(const Host& host, std::string& cuda_version) {
  const auto asked = host.real() ? ask_nvml() : Result<NvidiaReport>(nvidia_files(host));
  const NvidiaReport report = asked.value_or(nvidia_files(host));
  cuda_version = report.cuda_version;
  if (report.gpus.empty()) {
    const bool driver = !report.driver.empty() || host.exists("/proc/driver/nvidia/version");
    std::string why = driver ? fmt::format("the NVIDIA driver {} finds no GPU", report.driver)
                             : "no NVIDIA driver: /proc/driver/nvidia/version is missing";
    if (!asked) why += "; " + asked.error().message;
    return missing("cuda", Reason::kNoHardware, std::move(why),
                   "an NVIDIA GPU with its driver; in a container, pass the GPU through");
  }
  std::vector<HardwareDevice> devices;
  for (const NvidiaGpu& gpu : report.gpus) {
    HardwareDevice device;
    device.id = std::to_string(devices.size());
    device.name = gpu.name;
    if (gpu.memory_bytes > 0) device.memory_bytes = gpu.memory_bytes;
    device.driver = report.driver;
    device.compute_capability = gpu.compute_capability;
    devices.push_back(std::move(device));
  }
  return present("cuda", std::move(devices));
}

/// "90402" as "gfx942": major, minor and stepping are decimal pairs, stepping is written in hexadecimal.
std::string gfx_name(std::int64_t version) {
  return fmt::format("gfx{}{:x}{:x}", version / 10'000, version / 100 % 100, version % 100);
}

/// The value after `key` and a blank in a KFD `properties` file.
std::optional<std::int64_t> kfd_property(const Host& host, const std::string& file, std::string_view key) {
  const auto content = host.content(file);
  if (!content) return std::nullopt;
  for (const std::string& line : split(*content, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos && line.substr(0, blank) == key)
      return parse_number<std::int64_t>(trim(line.substr(blank)));
  }
  return std::nullopt;
}

HardwareEntry detect_rocm(const Host& host) {
  constexpr std::string_view kNodes = "/sys/class/kfd/kfd/topology/nodes";
  const std::string how = "an AMD GPU with the amdgpu driver; in a container, pass /dev/kfd and /dev/dri through";
  if (!host.exists("/dev/kfd"))
    return missing("rocm", Reason::kNoHardware, "no AMD compute driver: /dev/kfd is missing", how);
  std::vector<HardwareDevice> devices;
  for (const std::string& node : host.list(kNodes)) {
    const std::string folder = fmt::format("{}/{}", kNodes, node);
    if (kfd_property(host, folder + "/properties", "simd_count").value_or(0) == 0) continue;  // a CPU
    HardwareDevice device;
    device.id = std::to_string(devices.size());
    if (const auto version = kfd_property(host, folder + "/properties", "gfx_target_version"); version && *version > 0)
      device.compute_capability = gfx_name(*version);
    const std::string name = host.text(folder + "/name").value_or("");
    device.name = fmt::format("AMD GPU {}", name.empty() ? device.compute_capability : name);
    std::int64_t bytes = 0;
    for (const std::string& bank : host.list(folder + "/mem_banks"))
      bytes += kfd_property(host, fmt::format("{}/mem_banks/{}/properties", folder, bank), "size_in_bytes").value_or(0);
    if (bytes > 0) device.memory_bytes = static_cast<std::uint64_t>(bytes);
    device.driver = host.text("/sys/module/amdgpu/version").value_or("");
    devices.push_back(std::move(device));
  }
  if (devices.empty())
    return missing("rocm", Reason::kNoHardware, fmt::format("/dev/kfd exists, but {} lists no GPU", kNodes), how);
  return present("rocm", std::move(devices));
}

HardwareEntry detect_openvino(const Host& host, const CpuInfo& cpu, const std::vector<EngineEntry>& engines) {
  std::vector<HardwareDevice> devices;
  HardwareDevice processor = cpu_device(cpu);
  processor.id = "CPU";
  devices.push_back(std::move(processor));
  for (const std::string& card : host.list("/sys/class/drm")) {
    if (!card.starts_with("card") || card.find('-') != std::string::npos) continue;
    if (host.text(fmt::format("/sys/class/drm/{}/device/vendor", card)) != kIntel) continue;
    const auto id = host.text(fmt::format("/sys/class/drm/{}/device/device", card)).value_or("");
    HardwareDevice gpu;
    gpu.id = "GPU";
    gpu.name = fmt::format("Intel GPU {}", id);
    devices.push_back(std::move(gpu));
  }
  for (const std::string& accelerator : host.list("/sys/class/accel")) {
    if (host.text(fmt::format("/sys/class/accel/{}/device/vendor", accelerator)) != kIntel) continue;
    HardwareDevice npu;
    npu.id = "NPU";
    npu.name = fmt::format("Intel NPU {}",
                           host.text(fmt::format("/sys/class/accel/{}/device/device", accelerator)).value_or(""));
    devices.push_back(std::move(npu));
  }
  return present_in_runtime(kOpenvinoWord, std::move(devices), engines);
}

HardwareEntry detect_qnn(const Host& host, const std::vector<EngineEntry>& engines) {
  std::vector<HardwareDevice> devices;
  for (const std::string& node : host.list("/dev")) {
    if (!node.starts_with("fastrpc")) continue;
    HardwareDevice device;
    device.id = node;
    device.name = "Qualcomm DSP";
    devices.push_back(std::move(device));
  }
  std::string looked_for = "no DSP (/dev/fastrpc*)";
  constexpr std::array<const char*, 4> kVariables{"QNN_SDK", "QNN_SDK_ROOT", "QTI_SDK", "QTI_SDK_ROOT"};
  bool any = false;
  for (const char* variable : kVariables) {
    const auto folder = host.variable(variable);
    if (!folder) continue;
    any = true;
    if (host.exists(*folder + "/lib")) {
      if (devices.empty()) {
        HardwareDevice simulator;
        simulator.id = "htp-simulator";
        simulator.name = fmt::format("HTP simulator of the SDK in {}", *folder);
        simulator.simulated = true;
        devices.push_back(std::move(simulator));
      }
    } else {
      looked_for += fmt::format("; {}={} has no folder lib", variable, *folder);
    }
  }
  if (!devices.empty()) return present_in_runtime("qnn", std::move(devices), engines);
  if (!any) looked_for += "; neither a QNN nor a QTI SDK: QNN_SDK, QNN_SDK_ROOT, QTI_SDK and QTI_SDK_ROOT are not set";
  return missing("qnn", Reason::kNoHardware, std::move(looked_for),
                 "a Qualcomm device, or the QNN SDK with QNN_SDK set to its folder");
}

std::vector<HardwareEntry> detect_web(const Host& host, const std::vector<EngineEntry>& engines) {
  bool found = false;
  for (const std::string& folder : split(host.variable("PATH").value_or("/usr/bin"), ':')) {
    for (const std::string_view name : {"chromium", "chromium-browser", "google-chrome"})
      found |= !folder.empty() && host.exists(fmt::format("{}/{}", folder, name));
  }
  std::vector<HardwareEntry> entries;
  for (const std::string_view word : {"webgpu", "webnn", "wasm"})
    entries.push_back(found ? present_in_runtime(word, {}, engines)
                            : missing(word, Reason::kNoHardware,
                                      "no chromium, chromium-browser or google-chrome in PATH", "install Chromium"));
  return entries;
}

HardwareEntry detect_tpu(const Host& host) {
  std::vector<HardwareDevice> devices;
  for (const std::string& node : host.list("/dev")) {
    // Google's driver creates /dev/accel0; the kernel's own accelerators (Intel's NPU) are in the folder /dev/accel.
    if (!node.starts_with("accel") || !parse_number<unsigned>(std::string_view(node).substr(5))) continue;
    HardwareDevice device;
    device.id = node;
    device.name = "Google TPU";
    devices.push_back(std::move(device));
  }
  if (devices.empty())
    return missing("tpu", Reason::kNoHardware, "no TPU: there is no /dev/accel0", "a Google Cloud TPU machine");
  return present("tpu", std::move(devices));
}

HardwareEntry detect_mps() {
  utsname system{};
  uname(&system);
  return missing("mps", Reason::kNoHardware,
                 fmt::format("Metal needs macOS on Apple hardware; this is {} on {}", system.sysname, system.machine));
}

}  // namespace

const HardwareEntry& Hardware::entry(std::string_view word) const {
  const auto found = std::ranges::find(entries, word, &HardwareEntry::word);
  ASSAY_CHECK(found != entries.end(), "the hardware is one of hardware_words()");
  return *found;
}

Hardware detect_hardware(const Host& host, const std::vector<EngineEntry>& engines) {
  Hardware hardware;
  hardware.cpu = detect_cpu(host);
  auto& entries = hardware.entries;
  entries.push_back(present("cpu", {cpu_device(hardware.cpu)}));
  entries.push_back(detect_cuda(host, hardware.cuda_version));
  entries.push_back(detect_rocm(host));
  entries.push_back(detect_mps());
  entries.push_back(detect_openvino(host, hardware.cpu, engines));
  entries.push_back(detect_qnn(host, engines));
  std::ranges::move(detect_web(host, engines), std::back_inserter(entries));
  entries.push_back(detect_tpu(host));
  for (HardwareEntry& entry : entries) require_engine(entry, engines);
  return hardware;
}

}  // namespace assay
