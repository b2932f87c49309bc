// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/help.hpp"
#include "engine/registry.hpp"
#include "hardware/hardware.hpp"
#include "result/status.hpp"

namespace assay::cli {
namespace {

void print(const Hardware& machine) {
  const CpuInfo& cpu = machine.cpu;
  std::printf("%s: %d cores, %d threads, %.1f GB%s\n%s\n\n", cpu.model.empty() ? "unknown CPU" : cpu.model.c_str(),
              cpu.cores, cpu.threads, static_cast<double>(cpu.memory_bytes) / 1e9,
              cpu.virtualised ? ", virtual machine" : "", join(cpu.isa, " ").c_str());
  for (const HardwareEntry& entry : machine.entries) {
    if (entry.available) {
      std::printf("%-9s available%s\n", entry.word.c_str(),
                  entry.needs_runtime.empty()
                      ? ""
                      : (" if the runtime " + entry.needs_runtime + " is found (`assay engines`)").c_str());
    } else {
      std::printf("%-9s %s: %s\n", entry.word.c_str(),
                  entry.reason_code == reason::kNotBuilt ? "not built yet" : "not available", entry.why_not.c_str());
      if (!entry.how_to_get.empty()) std::printf("%-9s   to get it: %s\n", "", entry.how_to_get.c_str());
    }
    for (const HardwareDevice& device : entry.devices)
      std::printf("%-9s   %s: %s%s\n", "", device.id.c_str(), device.name.c_str(),
                  device.memory_bytes
                      ? fmt::format(", {:.1f} GB", static_cast<double>(*device.memory_bytes) / 1e9).c_str()
                      : "");
  }
}

}  // namespace

void register_hardware(CLI::App& app, Commands& commands) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("hardware", "List the hardware that is here, and why the rest is not")
                          ->group(kMachineCommands);
  add_output_format(*command, *format);
  commands.add(command, [format](Context&) -> Result<ExitCode> {
    const EngineRegistry registry(EngineRegistry::default_places());
    const Hardware machine = detect_hardware(Host(), registry.entries());
    if (*format == "json")
      std::printf("%s\n", json_text(to_json(machine), 2).c_str());
    else
      print(machine);
    return ExitCode::kSuccess;
  });
}

}  // namespace assay::cli
