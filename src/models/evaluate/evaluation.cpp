// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/guard.hpp"
#include "core/base/text.hpp"
#include "models/evaluate/kernel.hpp"
#include "models/onnx/tensor_limits.hpp"

namespace assay::evaluate {
namespace {

using Names = std::unordered_map<std::string_view, const graph::Constant*>;

/// The values of one graph while its nodes run, and, behind it, those of the graphs around it.
class Frame {
 public:
  Frame(const graph::Model& model, const Frame* around) : model_(model), around_(around) {}

  void add_constants(const std::vector<graph::Constant>& all) {
    for (const graph::Constant& constant : all) constants_.emplace(constant.name, &constant);
  }
  void set(std::string_view name, Value value) { values_.insert_or_assign(name, std::move(value)); }
  void drop(std::string_view name) const { values_.erase(name); }
  void leave_out(std::string_view name) { left_out_.insert(name); }
  /// Whether the name is an input that the caller of the local function left out.
  [[nodiscard]] bool is_left_out(std::string_view name) const {
    return left_out_.contains(name) || (around_ != nullptr && around_->is_left_out(name));
  }

  /// Kept until drop(): a constant is converted once. nullptr: nobody has this name.
  [[nodiscard]] Result<const Value*> find(std::string_view name) const {
    if (const auto found = values_.find(name); found != values_.end()) return &found->second;
    if (const auto found = constants_.find(name); found != constants_.end()) {
      const graph::Constant& constant = *found->second;
      ASSAY_TRY(const graph::ConstantData data, model_.data(constant));
      ASSAY_TRY(Value value, Value::from({constant.dtype, constant.shape, data.bytes}));
      return &values_.emplace(name, std::move(value)).first->second;
    }
    return around_ == nullptr ? nullptr : around_->find(name);
  }

 private:
  const graph::Model& model_;
  const Frame* around_;
  Names constants_;
  std::unordered_set<std::string_view> left_out_;
  mutable std::unordered_map<std::string_view, Value> values_;
};

/// Attributes of the node that called the local function whose body runs.
using Attributes = const std::vector<graph::Attribute>*;

class Run {
 public:
  Run(const graph::Model& model, int threads) : model_(model), threads_(threads) {}

  // A graph with these values as its inputs; those of `around` are visible in it.
  Outputs graph(const graph::Graph& graph, Values given, const Frame* around, Attributes attributes) {
    Frame frame(model_, around);
    frame.add_constants(graph.initializers);
    std::size_t next = 0;
    for (const graph::ValueInfo& input : graph.inputs) {
      // The main graph's inputs with a value of their own are not given.
      if (around == nullptr &&
          std::ranges::find(graph.initializers, input.name, &graph::Constant::name) != graph.initializers.end())
        continue;
      if (next == given.size()) return missing(input.name);
      frame.set(input.name, std::move(given[next++]));
    }
    std::vector<std::string_view> results;
    for (const graph::ValueInfo& output : graph.outputs) results.push_back(output.name);
    return nodes(graph.nodes, graph.order, results, frame, attributes);
  }

 private:
  static tl::unexpected<Error> missing(std::string_view name) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("nothing computes the value {}", shown(name)));
  }

  Outputs nodes(const std::vector<graph::Node>& all, const std::vector<std::size_t>& order,
                const std::vector<std::string_view>& results, Frame& frame, Attributes attributes) {
    // How many nodes still read a value; the graph's outputs are read once more at the end.
    std::unordered_map<std::string_view, std::size_t> readers;
    for (const graph::Node& node : all)
      for (const std::string_view name : graph::reads_of(node)) ++readers[name];
    for (const std::string_view name : results) ++readers[name];
    for (const std::size_t place : order) {
      ASSAY_CHECK_OK(compute(all[place], frame, attributes));
      for (const std::string_view name : graph::reads_of(all[place]))
        if (--readers[name] == 0) frame.drop(name);
      for (const std::string_view name : all[place].outputs)
        if (!readers.contains(name)) frame.drop(name);
    }
    Values outputs;
    for (const std::string_view name : results) {
      ASSAY_TRY(const Value* const value, frame.find(name));
      if (value == nullptr) return missing(name);
      outputs.push_back(*value);
    }
    return outputs;
  }

  // An attribute of a node in a local function may be the function's own.
  static graph::Node resolved(const graph::Node& node, Attributes attributes) {
    graph::Node copy = node;
    std::erase_if(copy.attributes, [&](graph::Attribute& attribute) {
      if (attribute.refers_to.empty()) return false;
      if (attributes == nullptr) return true;
      const auto found = std::ranges::find(*attributes, attribute.refers_to, &graph::Attribute::name);
      if (found == attributes->end()) return true;
      attribute.value = found->value;
      return false;
    });
    return copy;
  }

  Status compute(const graph::Node& written, Frame& frame, Attributes attributes) {
    const bool refers =
        std::ranges::any_of(written.attributes, [](const graph::Attribute& a) { return !a.refers_to.empty(); });
    const graph::Node copy = refers ? resolved(written, attributes) : graph::Node();
    const graph::Node& node = refers ? copy : written;
    std::vector<const Value*> operands;
    for (const std::string_view name : node.inputs) {
      if (name.empty() || frame.is_left_out(name)) {
        operands.push_back(nullptr);
        continue;
      }
      ASSAY_TRY(const Value* const value, frame.find(name));
      if (value == nullptr) return missing(name);
      operands.push_back(value);
    }
    ASSAY_TRY(Values results, node.function != nullptr ? function(node, operands)
                                                       : kernel(node, std::move(operands), frame, attributes));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size())
        return fail(ErrorCode::kUnsupported, fmt::format("node {} ({}): output {} is not evaluated in float64",
                                                         shown(node.shown_name()), sanitise(node.operator_name()), i));
      frame.set(node.outputs[i], std::move(results[i]));
    }
    return {};
  }

  Outputs kernel(const graph::Node& node, std::vector<const Value*> operands, const Frame& frame,
                 Attributes attributes) {
    const Operator* known = find_operator(node.domain == "ai.onnx" ? "" : node.domain, node.op_type);
    const std::int64_t opset = model_.opset(node.domain).value_or(1);
    const RunGraph run_graph = [&](const graph::Graph& inner, Values inputs) {
      return graph(inner, std::move(inputs), &frame, attributes);
    };
    const Call call(node, opset, std::move(operands), model_, run_graph, threads_, most_elements_);
    return computed(known, call);
  }

  Outputs function(const graph::Node& node, const std::vector<const Value*>& operands) {
    const graph::Function& called = *node.function;
    Frame frame(model_, nullptr);
    for (std::size_t i = 0; i < called.inputs.size(); ++i) {
      if (i < operands.size() && operands[i] != nullptr)
        frame.set(called.inputs[i], *operands[i]);
      else
        frame.leave_out(called.inputs[i]);
    }
    std::vector<graph::Attribute> attributes = node.attributes;
    for (const graph::Attribute& standard : called.defaults)
      if (node.attribute(standard.name) == nullptr) attributes.push_back(standard);
    return nodes(called.nodes, called.order, called.outputs, frame, &attributes);
  }

  const graph::Model& model_;
  int threads_;
  std::int64_t most_elements_ = std::min(kMostElements, static_cast<std::int64_t>(physical_memory() / sizeof(double)));
};

// The first operator without a kernel.
Status check(const std::vector<graph::Node>& nodes) {
  for (const graph::Node& node : nodes) {
    if (node.function == nullptr && find_operator(node.domain == "ai.onnx" ? "" : node.domain, node.op_type) == nullptr)
      return fail(ErrorCode::kUnsupported,
                  fmt::format("the operator {} is not evaluated in float64", sanitise(node.operator_name())));
    for (const graph::Attribute& attribute : node.attributes)
      if (const auto* inner = attribute.get<std::shared_ptr<const graph::Graph>>();
          inner != nullptr && *inner != nullptr)
        ASSAY_CHECK_OK(check((*inner)->nodes));
  }
  return {};
}

}  // namespace

Result<Evaluator> Evaluator::open(const std::filesystem::path& path) {
  ASSAY_TRY(graph::Model model, graph::Model::open(path));
  Evaluator evaluator(std::make_shared<const graph::Model>(std::move(model)));
  const graph::Graph& graph = evaluator.model_->graph();
  ASSAY_CHECK_OK(check(graph.nodes));
  for (const graph::Function& function : evaluator.model_->functions()) ASSAY_CHECK_OK(check(function.nodes));
  for (const graph::ValueInfo& input : graph.inputs) {
    if (std::ranges::find(graph.initializers, input.name, &graph::Constant::name) != graph.initializers.end()) continue;
    if (input.kind != graph::ValueKind::kTensor)
      return fail(ErrorCode::kUnsupported, fmt::format("the input {} is not a tensor", shown(input.name)));
    evaluator.inputs_.push_back(&input);
  }
  return evaluator;
}

Result<std::vector<Value>> Evaluator::run(std::vector<Value> given, int threads) const {
  return guarded("while evaluating the model in float64", [&]() -> Outputs {
    try {
      return Run(*model_, threads).graph(model_->graph(), std::move(given), nullptr, nullptr);
    } catch (const std::length_error&) {  // a list with more elements than any memory has room for
      throw std::bad_alloc();
    }
  });
}

}  // namespace assay::evaluate
