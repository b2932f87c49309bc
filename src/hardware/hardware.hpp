// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "engine/engine_entry.hpp"
#include "hardware/host.hpp"
#include "result/hardware_words.hpp"

namespace assay {

/// What is on this machine and why the rest is not. Out of scope: whether runtimes are installed (engine/registry.hpp),
/// measuring.

struct CpuCache {
  int level = 0;
  std::string type;  ///< Data, Instruction, Unified
  std::uint64_t bytes = 0;
  int instances = 0;  ///< how many there are of it
};

struct CpuInfo {
  std::string model;  ///< "AMD EPYC 9354 32-Core Processor"; "" when the kernel does not tell
  std::string vendor;
  int sockets = 0, cores = 0, threads = 0, numa_nodes = 0;  ///< what is online
  std::vector<CpuCache> caches;
  std::vector<std::string> isa;  ///< instruction sets that matter to inference, as the kernel names them
  std::uint64_t memory_bytes = 0;
  bool virtualised = false;  ///< the hypervisor bit
};
[[nodiscard]] CpuInfo detect_cpu(const Host& host = Host());
/// Whether the CPU tells of a hypervisor under it.
[[nodiscard]] bool is_virtualised(const Host& host = Host());

struct HardwareDevice {
  std::string id;  ///< "0", "cpu", "NPU": as the vendor's tools count
  std::string name;
  std::optional<std::uint64_t> memory_bytes;
  std::string driver;              ///< version, "" when unknown
  std::string compute_capability;  ///< "9.0" (CUDA), "gfx942" (ROCm), "" elsewhere
  bool simulated = false;
};

/// One hardware word on this machine.
struct HardwareEntry {
  std::string word;
  bool available = false;     ///< the machine has it; needs_runtime says when that is not enough
  std::string reason_code;    ///< when not: no_hardware or not_built
  std::string why_not;        ///< when not: what was looked for, where
  std::string how_to_get;     ///< "" when nothing helps
  std::string needs_runtime;  ///< the word is a runtime's: usable where this engine, its default, is found
  std::vector<HardwareDevice> devices;
};

struct Hardware {
  CpuInfo cpu;
  std::vector<HardwareEntry> entries;  ///< one per word, in the order of hardware_words()
  std::string cuda_version;            ///< the newest the driver supports, "12.8"; "" without a driver
  [[nodiscard]] const HardwareEntry& entry(std::string_view word) const;
};

/// Looks at files, device nodes, environment variables and, on the real machine, NVIDIA's management library. A word
/// that none of the built ones among `engines` serves is not_built.
/// Never fails. Cost: some milliseconds; with an NVIDIA driver about 100.
[[nodiscard]] Hardware detect_hardware(const Host& host = Host(),
                                       const std::vector<EngineEntry>& engines = own_engines());

[[nodiscard]] Json to_json(const CpuInfo& cpu);
[[nodiscard]] Json to_json(const Hardware& hardware);

/// Stable, bucketed facts that tell one kind of machine from another: CPU model, sockets, cores, threads, memory class,
/// accelerators' names and memory. Nothing that changes from boot to boot.
[[nodiscard]] Json machine_facts(const Hardware& hardware);
/// Sixteen hexadecimal digits of the hash of machine_facts(): the key of `hardware_info`.
[[nodiscard]] std::string machine_fingerprint(const Hardware& hardware);

/// Of the `python3` that a shell would start; "" without one. Cost: a process, which may take 100 ms where python3 is a
/// script that looks for the real one.
[[nodiscard]] std::string python_version();

/// The guide's `system_info`: platform, processor, python_version (null: the caller may set it to python_version()),
/// cuda_available, cuda_version (or null), gpu_count, gpus, and os, memory_gb, cpu_cores, cpu_threads.
[[nodiscard]] Json system_info(const Hardware& hardware, const Host& host = Host());

}  // namespace assay
