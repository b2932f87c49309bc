// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "measure/measurement.hpp"
#include "prepare/artefact.hpp"
#include "result/record.hpp"
#include "tensor/recipe.hpp"
#include "worker/worker.hpp"

namespace assay {

/// The shape of a cell: what differs between the cells of one model on one target.
struct CellShape {
  std::int64_t batch = 1;
  std::int64_t sequence = 128;     ///< used by models with a sequence axis
  std::int64_t output_tokens = 0;  ///< used by models that generate
  std::int64_t streams = 1;
  std::int64_t threads = 0;  ///< 0: all that the process may use
};

/// One cell to run: a value without pointers, which can be written as one line of JSON. Another process, or another
/// machine with the same files, produces the same row from it.
///
/// plan_tasks() (plan/plan.hpp) decides which tasks there are; complete() (run/complete.hpp) adds the inputs.
struct Task {
  Record row;          ///< what is known before it runs; with a reason_code it does not run, and this is its result
  std::string engine;  ///< for EngineRegistry::locate(): "onnxruntime", "onnxruntime@1.24"
  CellShape shape;

  ArtefactSpec artefact;       ///< what the engine loads
  bool static_shapes = false;  ///< the engine requires fixed extents: the artefact is specialised to the inputs
  LoadRequest load;            ///< how the engine loads it; the files are those of the artefact

  std::vector<InputRecipe> inputs;         ///< of the unchanged model, which is also the reference
  std::optional<Generation> generation{};  ///< a run is a generation
  /// What the engine gets instead if its artefact has another kind of KV cache.
  struct Variant {
    std::vector<InputRecipe> inputs;
    Generation generation;
  };
  std::optional<Variant> variant{};
  std::optional<Error> contradiction{};  ///< in the file: its shapes contradict each other for these inputs

  /// What the outputs are compared with.
  struct Reference {
    ArtefactSpec artefact;  ///< of the unchanged model
    std::string graph_hash, weights_hash;
    EngineOptions signature;              ///< inputs and outputs, for an engine that computes no model
    std::string why_none;                 ///< why there is no reference; "": there is one
    std::filesystem::path given_outputs;  ///< outputs that came with the model for these inputs
    std::string given_note;               ///< why outputs that came with the model are not used
  };
  Reference reference;
  DType arithmetic = DType::kFloat32;  ///< the type that the engine computes in; the reference is made for it

  bool verify = true;
  bool benchmark = true;
  bool default_batch = false;  ///< the batch is a default: it may be skipped if it is slow
  MeasurePlan measure;
  std::uint64_t seed = 0;
  std::size_t input_sets = 1;                                    ///< rotating sets of inputs
  std::chrono::nanoseconds timeout = std::chrono::seconds(600);  ///< of the cell, its reference included

  [[nodiscard]] bool runs() const { return row.reason_code.empty(); }
};

/// A JSON object; json_text() writes it as one line.
[[nodiscard]] Json to_json(const Task& task);
/// Errors: invalid_argument, which names the wrong value.
[[nodiscard]] Result<Task> task_from_json(const Json& json);

}  // namespace assay
