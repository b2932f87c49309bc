// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/hardware/host.hpp"
#include "core/base/json.hpp"
#include "core/result/hardware_words.hpp"
#include "core/result/status.hpp"
#include "core/traits/engine_entry.hpp"

namespace assay {

/// The hardware of this machine, and the reasons why other hardware is not available. Out of scope: whether runtimes
/// are installed (bench/engine/registry.hpp), measuring.

struct CpuCache {
  int level = 0;
  std::string type;  ///< Data, Instruction, Unified
  std::uint64_t bytes = 0;
  int instances = 0;  ///< number of such caches in the machine
};

struct CpuInfo {
  std::string model;  ///< "AMD EPYC 9354 32-Core Processor"; "" if the kernel does not report it
  std::string vendor;
  int sockets = 0, cores = 0, threads = 0, numa_nodes = 0;  ///< online ones
  std::vector<CpuCache> caches;
  std::vector<std::string> isa;  ///< instruction sets that matter for inference, as the kernel names them
  std::uint64_t memory_bytes = 0;
  bool virtualised = false;  ///< the hypervisor bit
};
[[nodiscard]] CpuInfo detect_cpu(const Host& host = Host());
/// Whether the CPU reports a hypervisor.
[[nodiscard]] bool is_virtualised(const Host& host = Host());

struct HardwareDevice {
  std::string id;  ///< "0", "cpu", "NPU": as in the vendor's tools
  std::string name;
  std::optional<std::uint64_t> memory_bytes;
  std::string driver;              ///< version, "" when unknown
  std::string compute_capability;  ///< "9.0" (CUDA), "gfx942" (ROCm), "" elsewhere
  bool simulated = false;
};

/// One kind of hardware on this machine.
struct HardwareEntry {
  std::string word;
  bool available = false;             ///< the machine has it; it may also need a runtime (needs_runtime)
  std::optional<Reason> reason_code;  ///< set if not available: no_hardware or not_built
  std::string why_not;                ///< set if not available: what assay looked for, and where
  std::string how_to_get;             ///< "" if nothing helps
  std::string needs_runtime;          ///< its default engine, if the hardware can be used only with that runtime
  std::vector<HardwareDevice> devices;
};

struct Hardware {
  CpuInfo cpu;
  std::vector<HardwareEntry> entries;  ///< same order as hardware_words()
  std::string cuda_version;            ///< the newest the driver supports, "12.8"; "" without a driver
  [[nodiscard]] const HardwareEntry& entry(std::string_view word) const;
};

/// Reads files, device nodes, environment variables and, on the real machine, NVIDIA's management library. Hardware
/// that no included engine of `engines` supports is not_built. Never fails. Cost: some milliseconds; with an NVIDIA
/// driver about 100.
[[nodiscard]] Hardware detect_hardware(const Host& host = Host(),
                                       const std::vector<EngineEntry>& engines = own_engines());

[[nodiscard]] Json to_json(const CpuInfo& cpu);
[[nodiscard]] Json to_json(const Hardware& hardware);

/// Stable, rounded facts that distinguish kinds of machines: CPU model, sockets, cores, threads, memory class,
/// accelerators' names and memory. No fact changes from boot to boot.
[[nodiscard]] Json machine_facts(const Hardware& hardware);
/// Sixteen hexadecimal digits of the hash of machine_facts(): the key of `hardware_info`.
[[nodiscard]] std::string machine_fingerprint(const Hardware& hardware);

/// The guide's `system_info`: platform, processor, python_version (null: the caller may set it, see
/// python_version.hpp), cuda_available, cuda_version (or null), gpu_count, gpus, and os, memory_gb, cpu_cores,
/// cpu_threads.
[[nodiscard]] Json system_info(const Hardware& hardware, const Host& host = Host());

}  // namespace assay
