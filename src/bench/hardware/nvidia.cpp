// SPDX-License-Identifier: Apache-2.0
#include "bench/hardware/nvidia.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <memory>

#include "core/base/text.hpp"

namespace assay {
namespace {

// The few declarations of nvml.h (documented and stable since NVML 5) that are used here.
using NvmlDevice = struct NvmlDeviceTag*;
struct NvmlMemory {
  unsigned long long total, free, used;
};

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <class Function>
Function* find(const Library& library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library.get(), name));
}

template <class Ask>
std::string text_of(Ask ask) {
  std::array<char, 96> buffer{};
  if (!ask(buffer.data(), static_cast<unsigned>(buffer.size() - 1))) return {};
  return sanitise(buffer.data());
}

}  // namespace

Result<NvidiaReport> ask_nvml(const std::string& path) {
  const Library library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    const char* reason = dlerror();
    return fail(ErrorCode::kNotFound,
                fmt::format("cannot load {}: {}", path, reason != nullptr ? reason : "no reason given"));
  }
  auto* const init = find<int()>(library, "nvmlInit_v2");
  auto* const shutdown = find<int()>(library, "nvmlShutdown");
  auto* const count_of = find<int(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  auto* const device_at = find<int(unsigned, NvmlDevice*)>(library, "nvmlDeviceGetHandleByIndex_v2");
  auto* const name_of = find<int(NvmlDevice, char*, unsigned)>(library, "nvmlDeviceGetName");
  auto* const uuid_of = find<int(NvmlDevice, char*, unsigned)>(library, "nvmlDeviceGetUUID");
  auto* const memory_of = find<int(NvmlDevice, NvmlMemory*)>(library, "nvmlDeviceGetMemoryInfo");
  auto* const capability_of = find<int(NvmlDevice, int*, int*)>(library, "nvmlDeviceGetCudaComputeCapability");
  auto* const driver_of = find<int(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
  auto* const cuda_of = find<int(int*)>(library, "nvmlSystemGetCudaDriverVersion");
  if (!init || !shutdown || !count_of || !device_at || !name_of || !uuid_of || !memory_of || !capability_of ||
      !driver_of || !cuda_of)
    return fail(ErrorCode::kUnsupported, fmt::format("{} lacks a function of NVML 5", path));
  if (const int status = init(); status != 0)
    return fail(ErrorCode::kUnsupported, fmt::format("{} does not start: nvmlInit_v2 returned {}", path, status));

  NvidiaReport report;
  report.driver = text_of([&](char* out, unsigned size) { return driver_of(out, size) == 0; });
  if (int version = 0; cuda_of(&version) == 0)
    report.cuda_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  unsigned count = 0;
  if (count_of(&count) != 0) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    if (device_at(i, &device) != 0) continue;
    NvidiaGpu gpu;
    gpu.name = text_of([&](char* out, unsigned size) { return name_of(device, out, size) == 0; });
    gpu.uuid = text_of([&](char* out, unsigned size) { return uuid_of(device, out, size) == 0; });
    if (NvmlMemory memory{}; memory_of(device, &memory) == 0) gpu.memory_bytes = memory.total;
    if (int major = 0, minor = 0; capability_of(device, &major, &minor) == 0)
      gpu.compute_capability = fmt::format("{}.{}", major, minor);
    report.gpus.push_back(std::move(gpu));
  }
  shutdown();
  return report;
}

}  // namespace assay
