// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/loader.hpp"
#include "bench/worker/generator.hpp"
#include "bench/worker/protocol.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/json.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// The work of assay-worker: one runtime, at most one loaded model, at most one bound shape.
class WorkerSession {
 public:
  WorkerSession(EnginePlugin plugin, std::filesystem::path home) : plugin_(std::move(plugin)), home_(std::move(home)) {}

  /// Handles one request of bench/worker/protocol.hpp and returns its reply.
  [[nodiscard]] Json handle(const Json& request);

  [[nodiscard]] Result<worker_protocol::Description> describe();
  [[nodiscard]] Result<LoadReply> load(const LoadRequest& request);
  [[nodiscard]] Result<BindReply> bind(const BindRequest& request);
  [[nodiscard]] Result<InferReply> infer(const InferRequest& request);
  [[nodiscard]] Result<MeasureReply> measure(const MeasureRequest& request);
  [[nodiscard]] Result<worker_protocol::Nothing> save(const SaveRequest& request);

  /// While `measuring`, setting `interrupted` makes measure() stop and keep its samples. Signal handlers may set it.
  std::atomic<bool> measuring{false}, interrupted{false};

 private:
  Status open_runtime();
  [[nodiscard]] Result<std::size_t> slot_of(std::size_t set) const;
  Status write_tokens(const std::filesystem::path& file) const;
  /// InferRequest::forced.
  Status force(std::size_t stream, std::size_t slot, const InferRequest& request);
  void unbind();
  [[nodiscard]] const LoadedProgram& step_program() const { return step_program_ ? *step_program_ : *program_; }
  Status bind_streams(const BindRequest& request, BindReply& bound);
  Status bind_generators(const BindRequest& request, BindReply& bound);

  EnginePlugin plugin_;
  std::filesystem::path home_;
  std::optional<LoadedEngine> engine_;
  double runtime_load_ms_ = 0;
  std::optional<LoadedProgram> program_, step_program_;
  std::vector<std::vector<Tensor>> sets_;  ///< [slot][input]; bound, so they outlive the contexts
  std::vector<std::size_t> set_of_;        ///< the input set of each slot: those that are timed are first
  std::size_t timed_ = 0;                  ///< number of slots that are timed
  std::uint64_t seed_ = 0;
  // One for each stream, in one of these two.
  std::vector<LoadedContext> contexts_;
  std::vector<Generator> generators_;
};

}  // namespace assay
