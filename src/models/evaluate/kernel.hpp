// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "models/evaluate/value.hpp"
#include "models/graph/view.hpp"

/// What kernels are written with: one node, its operands, and where its results go. A kernel computes in double and
/// does not round: the type of a result is only written down.
namespace assay::evaluate {

using Values = std::vector<Value>;
using Outputs = Result<Values>;

/// Runs the graph that an attribute of the node has, with these values as its inputs; it also reads the values around
/// it.
using RunGraph = std::function<Outputs(const graph::Graph& graph, Values inputs)>;

/// One node to compute. computed() has checked that operands which the operator needs are there.
class Call {
 public:
  Call(const graph::Node& node, std::int64_t opset, std::vector<const Value*> operands, const graph::Model& model,
       RunGraph run_graph, int threads, std::int64_t most_elements)
      : node_(node),
        opset_(opset),
        operands_(std::move(operands)),
        model_(model),
        run_graph_(std::move(run_graph)),
        threads_(threads),
        most_elements_(most_elements) {}

  [[nodiscard]] const graph::Node& node() const { return node_; }
  /// The version of the operator set that the model imports for the node's domain.
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  [[nodiscard]] const graph::Model& model() const { return model_; }
  [[nodiscard]] int threads() const { return threads_; }
  /// The most elements of a tensor that this machine's memory has room for; at most kMostElements.
  [[nodiscard]] std::int64_t most_elements() const { return most_elements_; }
  [[nodiscard]] const RunGraph& run_graph() const { return run_graph_; }

  [[nodiscard]] std::size_t operand_count() const { return operands_.size(); }
  /// Whether the operand was given.
  [[nodiscard]] bool has(std::size_t i) const { return i < operands_.size() && operands_[i] != nullptr; }
  /// The operand; one without elements and with no type if it was not given.
  [[nodiscard]] const Value& operand(std::size_t i) const {
    static const Value none(DType::kUndefined, {0}, Integers());
    return has(i) ? *operands_[i] : none;
  }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return operand(i).shape(); }
  [[nodiscard]] DType dtype(std::size_t i) const { return operand(i).dtype(); }

  /// The elements of an operand that was given. Errors: invalid_argument: they are of the other kind.
  [[nodiscard]] Result<std::span<const double>> reals(std::size_t i) const;
  [[nodiscard]] Result<std::span<const std::int64_t>> integers(std::size_t i) const;
  /// The only element. Errors: invalid_argument: there are more or fewer.
  [[nodiscard]] Result<double> scalar(std::size_t i) const;
  [[nodiscard]] Result<std::int64_t> integer_scalar(std::size_t i) const;
  /// The attribute, or the operand at `place` if the node has it: operators changed from one to the other. Empty:
  /// neither.
  [[nodiscard]] Result<Integers> list(std::string_view attribute, std::size_t place) const;

  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const {
    return node_.integer(attribute, otherwise);
  }
  [[nodiscard]] double number(std::string_view attribute, float otherwise) const {
    return static_cast<double>(node_.number(attribute, otherwise));
  }
  [[nodiscard]] std::string_view text(std::string_view attribute, std::string_view otherwise) const {
    return node_.text(attribute, otherwise);
  }
  /// Whether output `i` has a name, so that somebody may read it.
  [[nodiscard]] bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  /// An axis counted from 0. Errors: invalid_argument: beyond `rank`.
  [[nodiscard]] Result<std::int64_t> axis(std::int64_t given, std::int64_t rank) const;
  [[nodiscard]] Result<std::vector<std::int64_t>> axes(std::span<const std::int64_t> given, std::int64_t rank) const;

  /// The number of elements of a shape that the kernel computed: of its result, or of a tensor on the way. To call
  /// before anything is allocated or the extents are multiplied. Errors: invalid_argument: a negative extent;
  /// out_of_memory: more than most_elements(), extents of 0 left out.
  [[nodiscard]] Result<std::size_t> elements_of(const Shape& shape) const;

  /// The node contradicts its operator or its operands: "node 'x' (Conv): …".
  [[nodiscard]] tl::unexpected<Error> invalid(const std::string& why) const;
  /// The evaluator does not implement this.
  [[nodiscard]] tl::unexpected<Error> unsupported(const std::string& what) const;

 private:
  const graph::Node& node_;
  std::int64_t opset_;
  std::vector<const Value*> operands_;
  const graph::Model& model_;
  RunGraph run_graph_;
  int threads_;
  std::int64_t most_elements_;
};

/// Computes a node. Returns its outputs in order. If it returns fewer than the node names, the model is unsupported.
using Kernel = Outputs (*)(const Call& call);

/// A row of the table of operators.
struct Operator {
  std::string_view name;
  Kernel compute;
  std::size_t needed = 1;     ///< operands that must be given
  std::string_view domain{};  ///< "" for ONNX's own operators
};
using Operators = std::vector<Operator>;

/// nullptr: the evaluator lacks the operator, and the model is unsupported.
[[nodiscard]] const Operator* find_operator(std::string_view domain, std::string_view name);
/// Computes a node whose operator find_operator() found. Errors: unsupported: `known` is nullptr; invalid_argument: an
/// operand that it needs is not given; those of Call::elements_of, of the operands; those of the kernel.
[[nodiscard]] Outputs computed(const Operator* known, const Call& call);
/// All rows, sorted by domain and name.
[[nodiscard]] std::span<const Operator> operators();

// The groups of the table, one for each source of kernels.
[[nodiscard]] Operators activation_operators();
[[nodiscard]] Operators attention_operators();
[[nodiscard]] Operators control_operators();
[[nodiscard]] Operators convolution_operators();
[[nodiscard]] Operators detection_operators();
[[nodiscard]] Operators elementwise_operators();
[[nodiscard]] Operators indexing_operators();
[[nodiscard]] Operators layout_operators();
[[nodiscard]] Operators linear_operators();
[[nodiscard]] Operators making_operators();
[[nodiscard]] Operators microsoft_operators();
[[nodiscard]] Operators normalisation_operators();
[[nodiscard]] Operators pooling_operators();
[[nodiscard]] Operators quantisation_operators();
[[nodiscard]] Operators recurrent_operators();
[[nodiscard]] Operators reduction_operators();
[[nodiscard]] Operators resizing_operators();
[[nodiscard]] Operators signal_operators();

/// Calls `body(begin, end)` for parts of 0 … count − 1, on several threads if there is enough to do. `cost`: operations
/// for each of `count`. Parts are the same whatever `threads`; `body` writes only what belongs to its part. An
/// exception of `body` leaves parallel() after all threads have ended.
void parallel(int threads, std::int64_t count, double cost,
              const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace assay::evaluate
