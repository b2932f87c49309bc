// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/prepare/artefact.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"
#include "core/tensor/recipe.hpp"

namespace assay {

/// The shape of a cell: what differs between the cells of one model on one target.
struct CellShape {
  std::int64_t batch = 1;
  std::int64_t sequence = 128;     ///< used by models with a sequence axis
  std::int64_t output_tokens = 0;  ///< used by models that generate
  std::int64_t streams = 1;
  std::int64_t threads = 0;  ///< 0: all that the process may use

  bool operator==(const CellShape&) const = default;
};

/// One cell to run: a value without pointers, which can be written as one line of JSON. Another process, or another
/// machine with the same files, can run it and gives a row with the same keys and verdict.
///
/// plan_tasks() (bench/plan/plan.hpp) decides which tasks there are; TaskCompleter (bench/run/complete.hpp) adds the
/// inputs.
struct Task {
  Record row;  ///< facts known before the run; if reason_code is set, the task does not run and this is its result
  std::string engine;  ///< argument of EngineRegistry::locate(): "onnxruntime", "onnxruntime@1.24"
  CellShape shape;

  ArtefactSpec artefact;       ///< the files that the engine loads
  bool static_shapes = false;  ///< the engine requires fixed extents: the artefact is specialised to the inputs
  LoadRequest load;            ///< the request to load the model; its files are those of the artefact

  std::vector<InputRecipe> inputs;         ///< inputs of the unmodified model; the reference gets the same
  std::optional<Generation> generation{};  ///< present: each run generates tokens
  /// Replaces `inputs` and `generation` if the artefact has another kind of KV cache.
  struct Variant {
    std::vector<InputRecipe> inputs;
    Generation generation;
  };
  std::optional<Variant> variant{};
  std::string shape_hint{};  ///< advice for setting the extents that the file leaves open; "": it leaves none open
  std::optional<Error> contradiction{};  ///< the shapes in the model file contradict each other for these inputs

  /// What the outputs are compared with.
  struct Reference {
    ArtefactSpec artefact;  ///< the unmodified model
    std::string graph_hash, weights_hash;
    /// Inputs and outputs, if the engine needs no model (needs_model of its engine.json): those of the graph and, if
    /// further tokens have a graph of their own, those of that.
    EngineOptions signature, step_signature;
    std::string why_none;                 ///< why there is no reference; "": there is one
    std::filesystem::path given_outputs;  ///< outputs that came with the model for these inputs
    std::string given_note;               ///< why outputs that came with the model are not used
    bool quantised = false;               ///< the graph has quantised operators (is_quantised)
  };
  Reference reference;
  DType arithmetic = DType::kFloat32;  ///< the type that the engine computes in; the reference is made for it

  bool verify = true;
  bool benchmark = true;
  bool default_batch = false;  ///< the batch is a default: it may be skipped if it is slow
  MeasurePlan measure;         ///< plan of one launch
  std::int64_t launches = 1;   ///< fresh processes that measure the cell
  /// Time limit of warm-up and sampling, all launches together; absent: no limit.
  std::optional<std::chrono::nanoseconds> max_time{};
  /// For the messages of its rows: what --budget changed, what a runtime does not fuse.
  std::vector<std::string> notes{};
  std::uint64_t seed = 0;
  std::size_t input_sets = 1;                                    ///< number of input sets, used in turn
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);  ///< time limit of one launch, its reference included

  [[nodiscard]] bool runs() const { return !row.reason_code; }
};

/// A JSON object; json_text() writes it as one line.
[[nodiscard]] Json to_json(const Task& task);
/// Errors: invalid_argument, which names the wrong value.
[[nodiscard]] Result<Task> task_from_json(const Json& json);

}  // namespace assay
