// SPDX-License-Identifier: Apache-2.0
#include "bench/plan/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "core/result/hardware_words.hpp"

namespace assay {
namespace {

const EngineDevice* best_device(const FoundEngine& found, const std::string& hardware, const std::string& wanted) {
  const EngineDevice* best = nullptr;
  for (const EngineDevice& device : found.devices) {
    if (device.hardware != hardware) continue;
    if (!wanted.empty() && lower(device.id) != lower(wanted)) continue;
    if (best == nullptr || device.score > best->score) best = &device;
  }
  return best;
}

Refusal no_device(const FoundEngine& found, const std::string& hardware, const std::string& wanted) {
  const std::string& engine = found.entry.name;
  std::vector<std::string> all, ids;  // of the engine; of this hardware
  std::string other;                  // hardware that has the wanted one
  for (const EngineDevice& device : found.devices) {
    all.push_back(device.id);
    if (device.hardware == hardware) ids.push_back(device.id);
    if (lower(device.id) == lower(wanted)) other = device.hardware;
  }
  Refusal refusal{CellStatus::kUnavailable, Reason::kNoRuntime, "", ""};
  if (ids.empty()) {
    refusal.message =
        fmt::format("{} {} offers no {} device here (it has: {})", engine, found.version, hardware, join(all, ", "));
    for (const auto& [of, note] : found.notes)
      if (of == hardware) refusal.message += "; " + note;
  } else {
    refusal.message = fmt::format("{} has no {} device '{}' (it has: {})", engine, hardware, wanted, join(ids, ", "));
    refusal.hint =
        other.empty() ? did_you_mean(wanted, ids) : fmt::format("'{}' is a device of --hardware {}", wanted, other);
  }
  return refusal;
}

Target make_target(const std::string& hardware, const std::string& engine, const std::string& device_id,
                   const EngineRegistry& registry, const Hardware& machine, const Probe& probe) {
  Target target;
  target.hardware = hardware;
  target.engine = engine;
  const EngineEntry* entry = registry.entry(engine);
  if (entry != nullptr) target.found.entry = *entry;
  const HardwareEntry& present = machine.entry(hardware);
  // A word whose engine is of a later version says so before it says that the machine lacks something.
  if (present.reason_code == Reason::kNotBuilt) {
    target.refusal = Refusal{CellStatus::kSkipped, Reason::kNotBuilt, present.why_not, present.how_to_get};
    return target;
  }
  if (!present.available && present.needs_runtime.empty()) {
    target.refusal = Refusal{CellStatus::kUnavailable, Reason::kNoHardware, present.why_not, present.how_to_get};
    return target;
  }
  if (entry == nullptr || !entry->built) {
    target.refusal = Refusal{CellStatus::kSkipped, Reason::kNotBuilt,
                             fmt::format("the engine '{}' is not part of this version of assay", engine), ""};
    return target;
  }
  target.found = probe(engine);
  if (!target.found.available) {
    // What could not be located says itself how to get it: without its plug-in, installing the runtime helps nobody.
    target.refusal = Refusal{CellStatus::kUnavailable, Reason::kNoRuntime, target.found.why_not,
                             target.found.location.plugin.empty() ? "" : entry->how_to_get};
    return target;
  }
  const EngineDevice* device = best_device(target.found, hardware, device_id);
  if (device == nullptr) {
    target.refusal = no_device(target.found, hardware, device_id);
    return target;
  }
  target.device = *device;
  return target;
}

}  // namespace

Json to_json(const TargetRequest& request) {
  const auto& [hardware, engines, device, include_web] = request;  // a new member does not compile
  return {{"hardware", hardware}, {"engines", engines}, {"device", device}, {"include_web", include_web}};
}

Result<std::vector<Target>> resolve_targets(const TargetRequest& request, const EngineRegistry& registry,
                                            const Hardware& machine, const Probe& look) {
  std::vector<std::string> words;
  const auto add_word = [&](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  };
  for (const std::string& given : request.hardware) {
    const std::string word = canonical_hardware(given);
    if (word == "all") {
      for (const std::string& each : hardware_words()) add_word(each);
    } else if (std::ranges::find(hardware_words(), word) == hardware_words().end()) {
      std::vector<std::string> valid{"all", "qualcomm"};
      valid.insert(valid.begin() + 1, hardware_words().begin(), hardware_words().end());
      auto refused = unknown_word("unknown hardware", given, valid);
      refused.value().hint = did_you_mean_hardware(given);
      return refused;
    } else {
      add_word(word);
    }
  }
  for (const std::string& engine : request.engines) {
    if (registry.entry(engine) != nullptr) continue;
    return registry.unknown_name(engine);
  }
  const bool asked = !words.empty();
  if (request.include_web) {
    add_word("webnn");
    add_word("webgpu");
  }

  std::map<std::string, FoundEngine> found;
  const Probe probe = [&](const std::string& engine) {
    const auto known = found.find(engine);
    return known != found.end() ? known->second : found.emplace(engine, look(engine)).first->second;
  };
  std::vector<Target> targets;
  const auto default_engine = [&](const std::string& hardware) {
    return engines_for(hardware, registry.entries()).front();
  };
  if (!request.engines.empty()) {
    for (const std::string& engine : request.engines) {
      std::vector<std::string> served;
      for (const std::string& hardware : asked ? words : hardware_words())
        if (registry.entry(engine)->serves(hardware)) served.push_back(hardware);
      if (served.empty())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the engine '{}' does not support {}", engine, join(words, ", ")),
                    "`assay engines` lists the hardware that each engine supports");
      // With no hardware named, an engine runs on the best there is for it: what is here before what is not, then
      // where it is the default.
      if (!asked) {
        const auto rank = [&](const std::string& hardware) {
          const HardwareEntry& entry = machine.entry(hardware);
          return (entry.available || !entry.needs_runtime.empty() ? 0 : 2) +
                 (default_engine(hardware) == engine ? 0 : 1);
        };
        served = {*std::min_element(served.begin(), served.end(),
                                    [&](const auto& x, const auto& y) { return rank(x) < rank(y); })};
      }
      for (const std::string& hardware : served)
        targets.push_back(make_target(hardware, engine, request.device, registry, machine, probe));
    }
    return targets;
  }
  if (asked) {
    for (const std::string& word : words)
      targets.push_back(make_target(word, default_engine(word), request.device, registry, machine, probe));
    return targets;
  }
  for (const std::string& word : hardware_words()) {
    const bool web = std::find(words.begin(), words.end(), word) != words.end();
    Target target = make_target(word, default_engine(word), request.device, registry, machine, probe);
    if (target.runnable() || web) targets.push_back(std::move(target));
  }
  // With nothing that runs, the rows say what is missing for the hardware that is here.
  if (std::none_of(targets.begin(), targets.end(), [](const Target& target) { return target.runnable(); })) {
    std::vector<Target> missing;
    for (const std::string& word : hardware_words())
      if (machine.entry(word).available)
        missing.push_back(make_target(word, default_engine(word), request.device, registry, machine, probe));
    targets.insert(targets.begin(), std::move_iterator(missing.begin()), std::move_iterator(missing.end()));
  }
  return targets;
}

Result<ChosenTargets> resolve_first(const std::vector<std::string>& order, const TargetRequest& request,
                                    const EngineRegistry& registry, const Hardware& machine, const Probe& probe) {
  ChosenTargets refused;  // of the first that the machine has
  std::vector<std::string> notes;
  for (const std::string& word : order) {
    if (!machine.entry(word).available) continue;
    TargetRequest wanted = request;
    wanted.hardware = {word};
    ASSAY_TRY(std::vector<Target> targets, resolve_targets(wanted, registry, machine, probe));
    const auto unusable = std::ranges::find_if_not(targets, &Target::runnable);
    if (unusable == targets.end()) {
      for (std::string& note : notes) note += fmt::format("; {} is used", word);
      return ChosenTargets{std::move(targets), std::move(notes)};
    }
    notes.push_back(fmt::format("this machine has {}, but no runtime for it ({})", word, unusable->refusal->message));
    if (refused.targets.empty()) refused.targets = std::move(targets);
  }
  if (!refused.targets.empty()) return refused;
  ASSAY_TRY(refused.targets, resolve_targets(request, registry, machine, probe));
  return refused;
}

Result<ChosenTargets> resolve_preferred(const std::string& preferred, const std::vector<std::string>& order,
                                        const TargetRequest& request, const EngineRegistry& registry,
                                        const Hardware& machine, const Probe& probe) {
  ChosenTargets found;
  std::vector<std::string> others = order;
  std::erase(others, preferred);
  const auto resolve_for = [&](const std::vector<std::string>& engines) -> Status {
    TargetRequest wanted = request, automatic = request;
    wanted.hardware = {preferred};
    wanted.engines = automatic.engines = engines;
    std::string why;
    const EngineEntry* entry = engines.empty() ? nullptr : registry.entry(engines.front());
    if (entry != nullptr && !entry->serves(preferred)) {
      why = fmt::format("the engine '{}' does not support it", entry->name);
    } else {
      ASSAY_TRY(std::vector<Target> targets, resolve_targets(wanted, registry, machine, probe));
      const auto unusable = std::ranges::find_if_not(targets, &Target::runnable);
      if (unusable == targets.end()) {
        std::ranges::move(targets, std::back_inserter(found.targets));
        return {};
      }
      why = unusable->refusal->message;
    }
    ASSAY_TRY(ChosenTargets instead, resolve_first(others, automatic, registry, machine, probe));
    std::vector<std::string> used;
    for (const Target& target : instead.targets)
      used.push_back(fmt::format("{} of {}", target.hardware, target.engine));
    found.notes.push_back(
        fmt::format("--device-prefer: {} is not available ({}); {} is used", preferred, why, join(used, ", ")));
    std::ranges::move(instead.targets, std::back_inserter(found.targets));
    return {};
  };
  if (request.engines.empty()) ASSAY_CHECK_OK(resolve_for({}));
  for (const std::string& engine : request.engines) ASSAY_CHECK_OK(resolve_for({engine}));
  return found;
}

}  // namespace assay
