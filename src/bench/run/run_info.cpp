// SPDX-License-Identifier: Apache-2.0
#include "bench/run/run_info.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include "bench/run/version.hpp"
#include "core/base/clock.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {

// Word → available and why not, for reports. A word that is a runtime is available where that runtime was found.
Json available_hardware(const Hardware& machine, const EngineRegistry& registry) {
  Json words = Json::object();
  for (const HardwareEntry& entry : machine.entries) {
    bool available = entry.available;
    std::string why = entry.why_not;
    if (!entry.needs_runtime.empty()) {
      const Result<EngineLocation> found = registry.locate(entry.needs_runtime);
      available = found.has_value();
      if (!found) why = found.error().message;
    }
    words[entry.word] = {{"available", available}};
    if (!available) words[entry.word]["why"] = why;
    Json devices = Json::array();
    for (const HardwareDevice& device : entry.devices) devices.push_back(device.name);
    words[entry.word]["devices"] = std::move(devices);
  }
  return words;
}

}  // namespace

RunInfo make_run_info(const std::string& command, const Hardware& machine, const EngineRegistry& registry) {
  RunInfo run;
  run.command = command;
  run.started = iso8601(wall_now());
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  run.host = name.data();
  run.tool_version = kToolVersion;
  run.git_commit = kGitCommit;
  run.system = system_info(machine);
  run.hardware = available_hardware(machine, registry);
  run.hardware_fingerprint = machine_fingerprint(machine);
  return run;
}

}  // namespace assay
