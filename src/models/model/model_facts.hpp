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
  StaticCost cost;     ///< cost of one inference with `shapes`
  std::vector<std::string> unknown_operators;
  std::vector<std::pair<std::string, Shape>> shapes;           ///< input shapes for which `cost` is computed
  std::vector<std::pair<std::string, std::string>> published;  ///< checkpoints of the architecture: id, size
  Classification what;                                         ///< its family, category, task
  InputAxes axes;  ///< batch, sequence length and so on for which `cost` is computed
};

}  // namespace assay
