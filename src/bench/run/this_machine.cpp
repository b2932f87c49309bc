// SPDX-License-Identifier: Apache-2.0
#include "bench/run/this_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/plan/row.hpp"
#include "core/result/keys.hpp"

namespace assay {

RunContext context_of(const RunInfo& run, const Json& peaks) {
  RunContext context;
  context.started = run.started;
  context.command = run.command;
  context.environment = {{"system_info", run.system}, {"available_hardware", run.hardware}};
  if (!peaks.empty()) context.environment["peaks"] = peaks;
  if (!run.doctor.is_null()) context.environment["doctor"] = run.doctor;
  context.hardware = run.system;
  const auto column = [&](const char* name, const char* from, double scale) {
    if (run.system.contains(from) && run.system.at(from).is_number())
      context.hardware[name] = run.system.at(from).get<double>() * scale;
  };
  column("physical_cores", "cpu_cores", 1);
  column("logical_cores", "cpu_threads", 1);
  column("memory_mb", "memory_gb", 1e3);
  return context;
}

void ThisMachine::set_facts(Task& task) {
  Record& row = task.row;
  row.host = run_.host;
  row.tool_version = run_.tool_version;
  row.method_version = kMethodVersion;
  row.git_commit = run_.git_commit;
  if (row.hardware_id == run_.hardware_fingerprint) return;
  row.hardware_id = run_.hardware_fingerprint;
  if (!task.runs()) return;
  auto found = probed_.find(task.engine);
  if (found == probed_.end()) found = probed_.emplace(task.engine, probe_engine(registry_, task.engine)).first;
  const FoundEngine& engine = found->second;
  const auto device = std::ranges::find(engine.devices, task.load.device_id, &EngineDevice::id);
  if (!engine.available) {
    set_refusal(row, {CellStatus::kUnavailable, Reason::kNoRuntime, engine.why_not, ""});
  } else if (device == engine.devices.end()) {
    set_refusal(row, {CellStatus::kUnavailable, Reason::kNoHardware,
                      fmt::format("{} has no device '{}' on {}", task.engine, task.load.device_id, run_.host), ""});
  } else {
    row.device_name = device->name;
  }
}

}  // namespace assay
