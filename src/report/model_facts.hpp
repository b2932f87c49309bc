// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "graph/static_graph.hpp"
#include "inputs/inputs.hpp"
#include "model/classify.hpp"

namespace assay {

/// What `assay zoo show` prints about a model. It is neither run, nor are its weights written.
struct ModelFacts {
  std::string model_id, architecture, model_class;
  std::string size;    ///< tiny, small, reference, a published name; as_is for what is not a checkpoint of the zoo
  std::string source;  ///< file, checkpoint (with its weights), seeded (random weights)
  std::string note;    ///< why the weights are not the published ones
  ModelInfo info;      ///< weights_hash is empty
  StaticCost cost;     ///< of one inference of these shapes
  std::vector<std::string> unknown_operators;
  std::vector<std::pair<std::string, Shape>> shapes;           ///< of the inputs, for which the cost counts
  std::vector<std::pair<std::string, std::string>> published;  ///< checkpoints of the architecture: id, size
  Classification what;                                         ///< its family, category, task
  InputAxes axes;                                              ///< what the cost counts for
};

/// The weights twice, in the file's layout and in the runtime's, and the activations that are in use at once.
[[nodiscard]] std::uint64_t memory_to_run(const StaticCost& cost);

/// The facts for a terminal, one per line.
[[nodiscard]] std::string model_facts_text(const ModelFacts& facts);

/// `assay zoo show --output-format json` (docs/formats.md).
[[nodiscard]] Json model_facts_json(const ModelFacts& facts);

}  // namespace assay
