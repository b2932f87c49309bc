// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {
namespace graph {
class Model;
}

/// What is known of a tensor once the inputs' shapes are.
struct StaticValue {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape{};  ///< nullopt: it comes from an operator without a rule, or depends on data
  /// The elements, row by row, if they are integers or bools that depend on shapes and constants alone.
  std::optional<std::vector<std::int64_t>> elements{};
  /// The same for floating types of 16 to 64 bits, at most 16 elements and only the simplest arithmetic: exporters
  /// compute extents in this way.
  std::optional<std::vector<double>> reals{};
};

/// What one inference does (docs/metrics.md, "FLOPs and bytes").
struct StaticCost {
  double flops = 0;                ///< 2 × multiply-adds, plus one for each element that another operator computes
  double bytes = 0;                ///< read and written by all nodes, as if nothing were fused or cached
  double counted = 1;              ///< share of the nodes whose FLOPs are known, 1.0 is all
  std::uint64_t weight_bytes = 0;  ///< size of all initialisers
  std::uint64_t peak_activation_bytes = 0;  ///< most that lives at once when nodes run in order, outputs in buffers of
                                            ///< their own; values without a shape are left out
};

/// Bytes of memory: the weights twice, in the file's layout and in the runtime's, and the activations that are in use
/// at once.
[[nodiscard]] std::uint64_t memory_to_run(const StaticCost& cost);

/// An ONNX graph with the shapes that follow from those of its inputs, and with integers and bools folded that depend
/// on shapes and constants alone. Immutable; created by StaticModel.
class StaticGraph {
 public:
  /// StaticModel::open() and infer() in one call, for one set of shapes. Errors: those of both.
  [[nodiscard]] static Result<StaticGraph> infer(const std::filesystem::path& model,
                                                 const std::map<std::string, Shape>& shapes);

  /// Every tensor of the main graph by name, inputs and initialisers among them.
  [[nodiscard]] const std::map<std::string, StaticValue, std::less<>>& values() const { return values_; }
  /// nullptr: the main graph has no such tensor.
  [[nodiscard]] const StaticValue* find(std::string_view name) const;
  /// Whether the tensor is there and its shape is known.
  [[nodiscard]] bool has_shape(std::string_view name) const;
  [[nodiscard]] const StaticCost& cost() const { return cost_; }
  /// Operators without a rule ("com.microsoft:Attention"), each once, sorted.
  [[nodiscard]] const std::vector<std::string>& unknown_operators() const { return unknown_; }

 private:
  friend class StaticModel;
  std::map<std::string, StaticValue, std::less<>> values_;
  StaticCost cost_;
  std::vector<std::string> unknown_;
};

/// An ONNX file, opened and checked once, from which graphs of any shapes are inferred.
///
/// Lifetime: keeps the file mapped; copies share it. Thread: const members from any.
class StaticModel {
 public:
  /// Errors: those of inspect_model. Cost: reads the graph and its small tensors.
  [[nodiscard]] static Result<StaticModel> open(const std::filesystem::path& model);
  /// The same for a file that is open. Errors: those of graph::Model::data() for small tensors.
  [[nodiscard]] static Result<StaticModel> of(graph::Model model);

  [[nodiscard]] const graph::Model& model() const;

  /// `shapes`: of every input, by name. `constants`: values of inputs that are known; they need no shape, and of int64,
  /// int32 and bool the elements are folded as those of the file's own constants are. An input that has an initialiser
  /// of its name counts as that constant unless `constants` gives another.
  /// Errors: invalid_argument: an input without a shape, or one that contradicts the file; a constant that is not an
  /// input, or of another type; extents in the graph that do not fit together, naming the node; sizes that overflow.
  [[nodiscard]] Result<StaticGraph> infer(const std::map<std::string, Shape>& shapes,
                                          const std::map<std::string, Tensor>& constants = {}) const;

  struct State;  ///< models/graph/static_model.hpp: internal to this module
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  StaticModel() = default;
  std::shared_ptr<const State> state_;
};

}  // namespace assay
