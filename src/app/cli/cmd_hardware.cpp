// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/known_engines.hpp"
#include "app/cli/measure_command.hpp"
#include "bench/hardware/hardware.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/result/status.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

void print(const Hardware& machine) {
  const CpuInfo& cpu = machine.cpu;
  const auto width = static_cast<std::size_t>(output_width());
  const auto print_folded = [&](const std::string& first, const std::string& text, std::size_t left) {
    std::fputs(folded(first, text, left, width).c_str(), stdout);
  };
  print_folded(
      "",
      fmt::format("{}: {} cores, {} threads, {:.1f} GB{}", cpu.model.empty() ? "unknown CPU" : cpu.model, cpu.cores,
                  cpu.threads, static_cast<double>(cpu.memory_bytes) / 1e9, cpu.virtualised ? ", virtual machine" : ""),
      2);
  print_folded("", join(cpu.isa, " ") + "\n", 2);
  constexpr std::size_t kWordWidth = 10;
  for (const HardwareEntry& entry : machine.entries) {
    const auto line = [&](const std::string& first, const std::string& text) {
      print_folded(padded(first, kWordWidth), text, kWordWidth + 2);
    };
    const std::string state = entry.available                          ? "available"
                              : entry.reason_code == Reason::kNotBuilt ? "planned"
                                                                       : "not available";
    const bool lacks_runtime =
        entry.available && !entry.needs_runtime.empty() && !engine_registry().locate(entry.needs_runtime);
    const std::string more =
        !entry.available ? ": " + one_line(entry.why_not)
        : lacks_runtime  ? fmt::format(", but its runtime {} is not installed (`assay engines`)", entry.needs_runtime)
                         : std::string();
    line(entry.word, state + more);
    if (!entry.available && !entry.how_to_get.empty()) line("", "  required: " + entry.how_to_get);
    for (const HardwareDevice& device : entry.devices)
      line("",
           fmt::format(
               "  {}: {}{}", device.id, one_line(device.name),
               device.memory_bytes ? fmt::format(", {:.1f} GB", static_cast<double>(*device.memory_bytes) / 1e9) : ""));
  }
}

}  // namespace

void register_hardware(CLI::App& app, Commands& commands) {
  auto format = std::make_shared<std::string>("text");
  CLI::App* command =
      app.add_subcommand("hardware", "List known hardware, and why some of it is unavailable")->group(kMachineCommands);
  add_output_format(*command, *format);
  commands.add(command, [format](Context&) -> Result<ExitCode> {
    const Hardware machine = detect_hardware(Host(), engine_registry().entries());
    if (*format == "json")
      std::printf("%s\n", json_text(to_json(machine), 2).c_str());
    else
      print(machine);
    return ExitCode::kSuccess;
  });
}

}  // namespace assay::cli
