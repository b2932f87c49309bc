// SPDX-License-Identifier: Apache-2.0
#include "bench/worker/probe.hpp"

#include <chrono>
#include <utility>

#include "bench/worker/client.hpp"

namespace assay {
namespace {

std::string text_of(const Error& error) {
  return error.hint.empty() ? error.message : error.message + "; " + error.hint;
}

Result<worker_protocol::Description> ask(const EngineRegistry& registry, const EngineLocation& location) {
  Worker::StartOptions options;
  options.executable = registry.places().worker;
  ASSAY_TRY(const auto worker, WorkerClient::start(location, std::move(options)));
  return worker->describe(std::chrono::minutes(1));
}

}  // namespace

FoundEngine probe_engine(const EngineRegistry& registry, std::string_view name) {
  FoundEngine found;
  if (const EngineEntry* entry = registry.entry(name)) found.entry = *entry;
  auto location = registry.locate(name);
  if (!location) {
    found.why_not = text_of(location.error());
    return found;
  }
  found.location = std::move(*location);
  found.found_by = found.location.found_by;
  found.version = found.location.version;
  auto description = ask(registry, found.location);
  if (!description) {
    found.why_not = text_of(description.error());
    return found;
  }
  found.version = std::move(description->version);
  found.devices = std::move(description->devices);
  found.options = std::move(description->options);
  found.notes = std::move(description->notes);
  found.available = !found.devices.empty();
  if (!found.available) found.why_not = found.entry.name + " was loaded but finds no usable device";
  return found;
}

}  // namespace assay
