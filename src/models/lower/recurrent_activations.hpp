// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "models/graph/view.hpp"

namespace assay::lowering {

/// An activation of RNN, GRU or LSTM. Source of names, formulas and standard parameters: ONNX's description of RNN.
/// (Its ThresholdedRelu has x where x ≥ alpha; that of the operator of this name has it where x > alpha.)
struct RecurrentActivation {
  std::string name;  ///< name in lower case
  double alpha = 0, beta = 0;
};

/// The activations of a node, those of the first direction first: one for RNN, two for GRU, three for LSTM for each of
/// `directions`. Errors: unsupported: a name that ONNX does not have.
[[nodiscard]] Result<std::vector<RecurrentActivation>> recurrent_activations(const graph::Node& node,
                                                                             std::size_t directions);

}  // namespace assay::lowering
