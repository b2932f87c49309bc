// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/hardware/hardware.hpp"
#include "bench/worker/probe.hpp"
#include "core/base/json.hpp"
#include "core/result/refusal.hpp"

namespace assay {

/// Where a cell runs: one engine on one device, with the hardware word that the user gave. A target that cannot run has
/// a refusal instead of a device.
struct Target {
  std::string hardware;  ///< "cpu", "openvino", …
  std::string engine;    ///< "onnxruntime"
  FoundEngine found;     ///< its entry; the other fields are set if the target is runnable
  EngineDevice device;   ///< set if the target is runnable

  std::optional<Refusal> refusal;  ///< why it cannot run

  [[nodiscard]] bool runnable() const { return !refusal; }
};

struct TargetRequest {
  std::vector<std::string> hardware;  ///< words; "all" is every one; empty: all that is available
  std::vector<std::string> engines;   ///< names; empty: each hardware's default
  std::string device;                 ///< an engine's device id ("GPU.0"); empty: its best for the hardware
  bool include_web = false;           ///< adds webnn and webgpu
};

[[nodiscard]] Json to_json(const TargetRequest& request);

/// What an engine offers on this machine, such as probe_engine() finds. It costs a process and the loading of a
/// runtime.
using Probe = std::function<FoundEngine(const std::string& engine)>;

/// Makes targets from words; `probe` is called once for each engine that the words stand for, and for no other engine.
/// Requested hardware that this machine does not have is a target with a refusal; without a request there are only
/// targets that are available. Errors: invalid_argument for an unknown word or engine, naming what is valid;
/// unsupported when none of the engines serves any of the hardware.
[[nodiscard]] Result<std::vector<Target>> resolve_targets(const TargetRequest& request, const EngineRegistry& registry,
                                                          const Hardware& machine, const Probe& probe);

struct ChosenTargets {
  std::vector<Target> targets;
  std::vector<std::string> notes;  ///< why hardware that would be chosen first is not used, and what is used instead
};

/// The targets of the first hardware in `order` that the machine has and an engine can use; if there is none, of the
/// first that the machine has, with their refusals; if it has none of them, or `order` is empty, those of
/// resolve_targets(). With an `order`, `request` has neither hardware nor engines. Errors: those of resolve_targets.
[[nodiscard]] Result<ChosenTargets> resolve_first(const std::vector<std::string>& order, const TargetRequest& request,
                                                  const EngineRegistry& registry, const Hardware& machine,
                                                  const Probe& probe);

/// The targets of the hardware `preferred` (a word of hardware_words()); if it cannot run, those of resolve_first()
/// without `preferred`. Decided for each engine of the request by itself. Errors: those of resolve_targets.
[[nodiscard]] Result<ChosenTargets> resolve_preferred(const std::string& preferred,
                                                      const std::vector<std::string>& order,
                                                      const TargetRequest& request, const EngineRegistry& registry,
                                                      const Hardware& machine, const Probe& probe);

}  // namespace assay
