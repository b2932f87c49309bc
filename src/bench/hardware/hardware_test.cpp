// SPDX-License-Identifier: Apache-2.0
#include "bench/hardware/hardware.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "bench/hardware/fake_tree.hpp"
#include "bench/hardware/nvidia.hpp"
#include "bench/hardware/python_version.hpp"
#include "core/base/files.hpp"

namespace assay {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Two sockets of two cores with two threads each, 24 GiB without the kernel's share.
FakeTree server() {
  FakeTree tree;
  std::string info;
  for (int cpu = 0; cpu < 8; ++cpu) {
    info += "processor\t: " + std::to_string(cpu) + "\nvendor_id\t: GenuineIntel\nmodel name\t: Test CPU @ 2.00GHz\n" +
            "flags\t\t: fpu sse4_2 avx avx2 fma avx512f avx512_bf16 amx_tile amx_bf16 hypervisor\n\n";
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    const int core = cpu % 4;
    tree.file(folder + "/topology/physical_package_id", std::to_string(core / 2) + "\n");
    tree.file(folder + "/topology/core_id", std::to_string(core % 2) + "\n");
    tree.file(folder + "/cache/index0/level", "1\n").file(folder + "/cache/index0/type", "Data\n");
    tree.file(folder + "/cache/index0/size", "32K\n");
    tree.file(folder + "/cache/index0/shared_cpu_list", std::to_string(core) + "," + std::to_string(core + 4) + "\n");
    tree.file(folder + "/cache/index3/level", "3\n").file(folder + "/cache/index3/type", "Unified\n");
    tree.file(folder + "/cache/index3/size", "32M\n");
    tree.file(folder + "/cache/index3/shared_cpu_list", core < 2 ? "0-1,4-5\n" : "2-3,6-7\n");
  }
  tree.file("/proc/cpuinfo", info).file("/sys/devices/system/cpu/online", "0-7\n");
  tree.file("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n")
      .file("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  tree.file("/proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB\n");
  tree.file("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  return tree;
}

TEST(CpuList, ReadsTheKernelsFormat) {
  EXPECT_THAT(*parse_cpu_list("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_cpu_list("5,2-3,2"), ElementsAre(2, 3, 5));
  EXPECT_THAT(*parse_cpu_list(""), IsEmpty());
  for (const auto* bad : {"x", "3-1", "1-", "-1", "0-99999999", "1,,2"})
    EXPECT_EQ(parse_cpu_list(bad), std::nullopt) << bad;
}

TEST(Host, SortsNamesByTheirNumbers) {
  FakeTree tree;
  for (const auto* name : {"/d/cpu10", "/d/cpu2", "/d/online", "/d/cpu1"}) tree.file(name, "");
  EXPECT_THAT(tree.host().list("/d"), ElementsAre("cpu1", "cpu2", "cpu10", "online"));
  EXPECT_THAT(tree.host().list("/nowhere"), IsEmpty());
}

TEST(Host, ReadsFieldsAndReturnsNothingForMissingOnes) {
  FakeTree tree;
  tree.file("/proc/meminfo", "MemTotal:       1000 kB\nBad: x kB\nHuge: 99999999999999999999 kB\n");
  EXPECT_EQ(tree.host().field_bytes("/proc/meminfo", "MemTotal"), 1'024'000U);
  EXPECT_EQ(tree.host().field_bytes("/proc/meminfo", "Bad"), std::nullopt);
  EXPECT_EQ(tree.host().field_bytes("/proc/meminfo", "Huge"), std::nullopt);
  EXPECT_EQ(tree.host().field_bytes("/proc/meminfo", "Swap"), std::nullopt);
  EXPECT_EQ(tree.host().text("/proc"), std::nullopt) << "a folder";
}

TEST(Cpu, CountsSocketsCoresThreadsAndCaches) {
  const CpuInfo cpu = detect_cpu(server().host());
  EXPECT_EQ(cpu.model, "Test CPU @ 2.00GHz");
  EXPECT_EQ(cpu.sockets, 2);
  EXPECT_EQ(cpu.cores, 4);
  EXPECT_EQ(cpu.threads, 8);
  EXPECT_EQ(cpu.numa_nodes, 2);
  EXPECT_TRUE(cpu.virtualised);
  EXPECT_THAT(cpu.isa, ElementsAre("sse4_2", "avx", "fma", "avx2", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16"));
  ASSERT_EQ(cpu.caches.size(), 2U);
  EXPECT_EQ(cpu.caches[0].bytes, 32U * 1024);
  EXPECT_EQ(cpu.caches[0].instances, 4);
  EXPECT_EQ(cpu.caches[1].bytes, 32U * 1024 * 1024);
  EXPECT_EQ(cpu.caches[1].instances, 2);
}

TEST(Cpu, AnEmptyMachineDoesNotCrash) {
  const CpuInfo cpu = detect_cpu(FakeTree().host());
  EXPECT_EQ(cpu.model, "");
  EXPECT_EQ(cpu.threads, 0);
}

TEST(Hardware, HasOneEntryPerNameAndKnowsTheAlias) {
  const Hardware hardware = detect_hardware(server().host());
  ASSERT_EQ(hardware.entries.size(), hardware_words().size());
  for (std::size_t i = 0; i < hardware.entries.size(); ++i) EXPECT_EQ(hardware.entries[i].word, hardware_words()[i]);
  EXPECT_EQ(canonical_hardware("Qualcomm"), "qnn");
  EXPECT_EQ(canonical_hardware("cuda"), "cuda");
}

TEST(Hardware, NamesWhatItLookedForIfNothingIsFound) {
  const Hardware hardware = detect_hardware(server().host());
  for (const HardwareEntry& entry : hardware.entries) {
    if (entry.word == "cpu" || entry.word == "openvino") {
      EXPECT_TRUE(entry.available) << entry.word;
      continue;
    }
    EXPECT_FALSE(entry.available) << entry.word;
    EXPECT_THAT(entry.why_not, Not(IsEmpty())) << entry.word;
    const bool built = std::ranges::any_of(
        own_engines(), [&](const EngineEntry& engine) { return engine.built && engine.serves(entry.word); });
    EXPECT_EQ(entry.reason_code, built ? Reason::kNoHardware : Reason::kNotBuilt) << entry.word;
  }
  EXPECT_THAT(hardware.entry("cuda").why_not, HasSubstr("/proc/driver/nvidia/version"));
  EXPECT_THAT(hardware.entry("rocm").why_not, HasSubstr("/dev/kfd"));
  EXPECT_THAT(hardware.entry("mps").why_not, HasSubstr("macOS"));
  EXPECT_THAT(hardware.entry("qnn").why_not, HasSubstr("QNN_SDK"));
  EXPECT_THAT(hardware.entry("webgpu").why_not, HasSubstr("no chromium"));
  EXPECT_THAT(hardware.entry("tpu").why_not, HasSubstr("/dev/accel0"));
  EXPECT_EQ(hardware.entry("openvino").needs_runtime, "openvino");
}

EngineEntry engine(const std::string& name, const std::string& hardware, bool built) {
  EngineEntry entry;
  entry.name = name;
  entry.hardware = {hardware};
  entry.built = built;
  return entry;
}

TEST(Hardware, NeedsABuiltEngineToBeAvailable) {
  FakeTree tree = server();
  tree.file("/dev/accel0", "").file("/usr/bin/chromium", "");
  const Hardware planned = detect_hardware(tree.host(), {engine("later", "tpu", false), engine("soon", "tpu", false)});
  EXPECT_FALSE(planned.entry("tpu").available);
  EXPECT_EQ(planned.entry("tpu").why_not,
            "no engine for tpu is part of this version of assay (planned: later, soon); the machine has it");
  EXPECT_EQ(planned.entry("tpu").devices.size(), 1U) << "the machine's fingerprint does not depend on engines";
  EXPECT_EQ(planned.entry("wasm").why_not, "no engine for wasm is part of this version of assay; the machine has it");
  const Hardware built = detect_hardware(tree.host(), {engine("now", "tpu", true), engine("page", "wasm", true)});
  EXPECT_TRUE(built.entry("tpu").available);
  EXPECT_EQ(built.entry("tpu").needs_runtime, "");
  EXPECT_TRUE(built.entry("wasm").available);
  EXPECT_EQ(built.entry("wasm").needs_runtime, "page");
  EXPECT_EQ(machine_fingerprint(built), machine_fingerprint(planned));
}

TEST(Hardware, FindsNvidiaGpusInTheKernelsFiles) {
  FakeTree tree = server();
  tree.file("/proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 2025\nGCC version: 12.2\n");
  tree.file("/proc/driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ:   \t\t 12\nGPU UUID: \t GPU-1\n");
  const HardwareEntry cuda = detect_hardware(tree.host()).entry("cuda");
  ASSERT_TRUE(cuda.available);
  ASSERT_EQ(cuda.devices.size(), 1U);
  EXPECT_EQ(cuda.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(cuda.devices[0].driver, "570.86.15");
}

TEST(Hardware, ADriverWithoutGpusIsNotAvailable) {
  FakeTree tree;
  tree.file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu\n");
  const HardwareEntry cuda = detect_hardware(tree.host()).entry("cuda");
  EXPECT_FALSE(cuda.available);
  EXPECT_THAT(cuda.why_not, HasSubstr("570.86.15 finds no GPU"));
}

TEST(Hardware, FindsAmdGpusInTheKernelsTopology) {
  FakeTree tree = server();
  constexpr std::string_view kNodes = "/sys/class/kfd/kfd/topology/nodes/";
  tree.file("/dev/kfd", "").file("/sys/module/amdgpu/version", "6.8.5\n");
  tree.file(std::string(kNodes) + "0/properties", "cpu_cores_count 8\nsimd_count 0\n")
      .file(std::string(kNodes) + "0/name", "\n");
  tree.file(std::string(kNodes) + "1/properties", "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version 90402\n");
  tree.file(std::string(kNodes) + "1/name", "ip discovery\n");
  tree.file(std::string(kNodes) + "1/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 206141652992\n");
  const HardwareEntry rocm = detect_hardware(tree.host()).entry("rocm");
  ASSERT_TRUE(rocm.available);
  ASSERT_EQ(rocm.devices.size(), 1U);
  EXPECT_EQ(rocm.devices[0].compute_capability, "gfx942");
  EXPECT_EQ(rocm.devices[0].memory_bytes, 206'141'652'992U);
  EXPECT_EQ(rocm.devices[0].driver, "6.8.5");
}

TEST(Hardware, ListsIntelsDevicesForOpenvino) {
  FakeTree tree = server();
  tree.file("/sys/class/drm/card0/device/vendor", "0x8086\n").file("/sys/class/drm/card0/device/device", "0x46a6\n");
  tree.file("/sys/class/drm/card0-HDMI-1/device/vendor", "0x8086\n")
      .file("/sys/class/drm/card1/device/vendor", "0x10de\n");
  tree.file("/sys/class/accel/accel0/device/vendor", "0x8086\n")
      .file("/sys/class/accel/accel0/device/device", "0x7d1d\n");
  const HardwareEntry openvino = detect_hardware(tree.host()).entry("openvino");
  ASSERT_EQ(openvino.devices.size(), 3U);
  EXPECT_EQ(openvino.devices[1].name, "Intel GPU 0x46a6");
  EXPECT_EQ(openvino.devices[2].name, "Intel NPU 0x7d1d");
}

TEST(Hardware, FindsADspOrTheSdksSimulator) {
  FakeTree dsp = server();
  dsp.file("/dev/fastrpc-cdsp", "");
  EXPECT_TRUE(detect_hardware(dsp.host()).entry("qnn").available);

  FakeTree sdk = server();
  sdk.variable("QNN_SDK_ROOT", "/opt/qnn").file("/opt/qnn/lib/libQnnHtp.so", "");
  const HardwareEntry qnn = detect_hardware(sdk.host()).entry("qnn");
  ASSERT_TRUE(qnn.available);
  EXPECT_TRUE(qnn.devices.at(0).simulated);

  FakeTree wrong = server();
  wrong.variable("QNN_SDK", "/opt/nothing");
  EXPECT_THAT(detect_hardware(wrong.host()).entry("qnn").why_not, HasSubstr("QNN_SDK=/opt/nothing has no folder lib"));
}

TEST(Hardware, FindsTpusButNoNpus) {
  FakeTree tree = server();
  tree.file("/dev/accel/accel0", "");
  EXPECT_FALSE(detect_hardware(tree.host()).entry("tpu").available);
  tree.file("/dev/accel1", "").file("/dev/accel10", "");
  EXPECT_EQ(detect_hardware(tree.host()).entry("tpu").devices.size(), 2U);
}

TEST(Nvml, ReportsNamesMemoryAndCapability) {
  const auto report = ask_nvml(ASSAY_BINARY_DIR "/lib/assay_fake_nvml.so");
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->driver, "570.86.15");
  EXPECT_EQ(report->cuda_version, "12.8");
  ASSERT_EQ(report->gpus.size(), 2U);
  EXPECT_EQ(report->gpus[1].name, "Test GPU B");
  EXPECT_EQ(report->gpus[1].uuid, "");
  EXPECT_EQ(report->gpus[1].memory_bytes, 150'000'000'000U);
  EXPECT_EQ(report->gpus[1].compute_capability, "9.0");
}

TEST(Nvml, SaysWhyItCannotBeLoaded) {
  EXPECT_EQ(ask_nvml("libassay-no-such.so.1").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(ask_nvml("libz.so.1").error().message, HasSubstr("lacks a function"));
}

TEST(Fingerprint, IgnoresWhatChangesFromBootToBoot) {
  FakeTree tree = server();
  const std::string before = machine_fingerprint(detect_hardware(tree.host()));
  EXPECT_EQ(before.size(), 16U);
  tree.file("/proc/meminfo", "MemTotal:       24500000 kB\n");
  EXPECT_EQ(machine_fingerprint(detect_hardware(tree.host())), before);
  tree.file("/proc/meminfo", "MemTotal:       32700000 kB\n");
  EXPECT_NE(machine_fingerprint(detect_hardware(tree.host())), before);
  EXPECT_EQ(machine_facts(detect_hardware(tree.host()))["memory_class"], "32 GiB");
}

TEST(SystemInfo, HasTheGuidesFields) {
  const FakeTree tree = server();
  const Json info = system_info(detect_hardware(tree.host()), tree.host());
  EXPECT_THAT(info["platform"].get<std::string>(), HasSubstr("-with-glibc2."));
  EXPECT_EQ(info["processor"], "Test CPU @ 2.00GHz");
  EXPECT_EQ(info["os"], "Debian GNU/Linux 12 (bookworm)");
  EXPECT_TRUE(info["python_version"].is_null());
  EXPECT_EQ(info["cuda_available"], false);
  EXPECT_TRUE(info["cuda_version"].is_null());
  EXPECT_EQ(info["gpu_count"], 0);
  EXPECT_EQ(info["memory_gb"], 23.54);
}

/// A PATH whose first folder has a python3 with this body.
class PythonVersionTest : public ::testing::Test {
 protected:
  void python_is(const std::string& body) {
    const std::filesystem::path file = folder_.path() / "python3";
    std::ofstream(file) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  TemporaryDirectory folder_ = TemporaryDirectory::create().value();
  std::string path_ = std::getenv("PATH");
};

TEST_F(PythonVersionTest, IsWhatPython3Prints) {
  python_is("printf 'Python 3.9'; sleep 0.1; echo 9.1+; echo more");
  EXPECT_EQ(PythonVersion().wait(std::chrono::seconds(60)), "3.99.1+");
  python_is("echo 'command not found: use pyenv'");
  EXPECT_EQ(PythonVersion().wait(std::chrono::seconds(60)), "");
  ::setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(PythonVersion().wait(std::chrono::seconds(60)), "");
}

TEST_F(PythonVersionTest, ASlowPython3DelaysNobody) {
  python_is("sleep 60; echo Python 3.1");
  const auto began = std::chrono::steady_clock::now();
  { const PythonVersion unused; }
  {
    PythonVersion late;
    EXPECT_EQ(late.wait(std::chrono::milliseconds(100)), "");
  }
  {
    PythonVersion interrupted;
    EXPECT_EQ(interrupted.wait(std::chrono::seconds(60), [] { return true; }), "");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(Hardware, ThisMachineHasACpuAndAReasonForTheRest) {
  const Json json = to_json(detect_hardware());
  EXPECT_EQ(json["hardware"][0]["available"], true);
  EXPECT_GE(json["cpu"]["threads"].get<int>(), 1);
  for (const Json& entry : json["hardware"])
    EXPECT_TRUE(entry["available"] == true || !entry["why_not"].get<std::string>().empty()) << entry.dump();
}

}  // namespace
}  // namespace assay
