// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/graph/static_graph.hpp"
#include "models/inputs/inputs.hpp"
#include "models/model/classify.hpp"

namespace assay {

/// What is known about a model that is neither run nor written with its weights: `assay zoo show` prints it.
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

}  // namespace assay
