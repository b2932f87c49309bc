// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/engine/registry.hpp"
#include "bench/plan/task.hpp"
#include "bench/prepare/artefact.hpp"
#include "bench/run/launch.hpp"

namespace assay {

/// A task while it runs on this machine.
struct LocalTask {
  Task task;
  std::optional<Artefact> artefact{};         ///< the files that its engine loads, once they are made
  bool expects_artefact = false;              ///< ArtefactStore::expect() was called for it, done() not yet
  std::vector<Launch> launches{};             ///< all launches until now
  bool has_reference = false;                 ///< the reference exists or none is needed: the task can be launched
  double last_launch_s = 0;                   ///< duration of the newest launch
  std::optional<std::uint64_t> kept_bytes{};  ///< size of its files, if they stay between launches
  std::optional<Launch> refused{};            ///< the one for which there was no time, with a row that says so
  bool complete = false;  ///< nothing is missing since the beginning: --resume kept all its launches

  /// Whether the task still has to run.
  [[nodiscard]] bool runs() const { return !complete && task.runs(); }

  /// Identifies the model whatever its name: tasks of several models may be in one call.
  [[nodiscard]] std::string model_key() const {
    const Task::Reference& reference = task.reference;
    return fmt::format("{} {} {}", reference.graph_hash, reference.weights_hash, reference.given_outputs.string());
  }

  /// Equal inputs and arithmetic of one model have one reference; an engine that computes no model is its own.
  [[nodiscard]] std::string reference_key(const EngineRegistry& registry) const {
    const EngineEntry* engine = registry.entry(task.engine);
    const bool own = engine != nullptr && !engine->needs_model;
    return fmt::format("{} {} {}{} {}", model_key(), task.row.input_hash, to_string(task.arithmetic),
                       own ? " " + engine->name : "", task.generation ? task.generation->output_tokens : -1);
  }
};

/// The end of the time that a cell has.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds budget) : end_(std::chrono::steady_clock::now() + budget) {}
  [[nodiscard]] std::chrono::nanoseconds left() const {
    return std::max(std::chrono::nanoseconds(1), std::chrono::nanoseconds(end_ - std::chrono::steady_clock::now()));
  }

 private:
  std::chrono::steady_clock::time_point end_;
};

}  // namespace assay
