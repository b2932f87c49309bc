// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include <assay/result.hpp>

#include "models/evaluate/value.hpp"
#include "models/graph/view.hpp"

namespace assay::evaluate {

/// Raised if a kernel changes its results: outputs are kept by it.
inline constexpr const char* kVersion = "1.1";

/// An ONNX model, computed node by node in float64: what its exact arithmetic gives, to compare runtimes with. Values
/// of every floating type are doubles and are rounded only by Cast to 16 bits and where the result leaves the model.
/// The kernels are assay's own. They share no code with any runtime, nor with src/models/lower, which makes the models
/// of two engines.
///
/// Cost: plain loops, about 1 GFLOP/s to 5 GFLOP/s for each thread. Memory: 8 bytes for each element that a later node
/// reads; weights are converted when they are read. Thread: const members from any; run() starts threads of its own.
class Evaluator {
 public:
  /// Errors: those of graph::Model::open; unsupported: an operator without a kernel, by name; an input that is not a
  /// tensor.
  [[nodiscard]] static Result<Evaluator> open(const std::filesystem::path& model);

  /// What a caller gives and gets, in the file's order: inputs without a value of their own, and outputs.
  [[nodiscard]] const std::vector<const graph::ValueInfo*>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<graph::ValueInfo>& outputs() const { return model_->graph().outputs; }
  [[nodiscard]] const graph::Model& model() const { return *model_; }

  /// `given`: one value for each of inputs(). Errors: invalid_argument: a node contradicts its operator or its
  /// operands; unsupported: a case that a kernel lacks; out_of_memory; those of graph::Model::data. No exception leaves
  /// it.
  [[nodiscard]] Result<std::vector<Value>> run(std::vector<Value> given, int threads) const;

 private:
  explicit Evaluator(std::shared_ptr<const graph::Model> model) : model_(std::move(model)) {}
  std::shared_ptr<const graph::Model> model_;
  std::vector<const graph::ValueInfo*> inputs_;
};

}  // namespace assay::evaluate
