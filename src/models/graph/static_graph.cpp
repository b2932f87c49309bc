// SPDX-License-Identifier: Apache-2.0
#include "models/graph/static_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"
#include "models/graph/static_model.hpp"

namespace assay {
namespace {

using Values = std::map<std::string, StaticValue, std::less<>>;

// Walks a graph once, in order.
class Walk {
 public:
  Walk(const StaticModel::State& model, Values& values)
      : model_(model), graph_(model.model.graph()), opset_(model.model.opset().value_or(0)), values_(values) {
    cost.weight_bytes = model.weight_bytes;
    for (const auto& [name, known] : model.initializers) take_known(name, known);
  }

  // Known from the start, and no buffer that an inference fills.
  void take_known(const std::string& name, StaticValue known) {
    values_[name] = std::move(known);
    fixed_.insert(name);
  }

  Status nodes() {
    std::vector<const graph::Node*> order;
    order.reserve(graph_.order.size());
    for (const std::size_t place : graph_.order) order.push_back(&graph_.nodes[place]);
    std::unordered_map<std::string_view, std::size_t> last_use;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::string_view input : order[i]->inputs) last_use[input] = i;
    for (const graph::ValueInfo& output : graph_.outputs) last_use[output.name] = order.size();
    std::uint64_t alive = 0;
    for (const graph::ValueInfo& input : graph_.inputs)
      if (!fixed_.contains(input.name)) alive += bytes_of(input.name);
    cost.peak_activation_bytes = alive;
    std::size_t known = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSAY_TRY(const bool counted, visit(*order[i]));
      if (counted) ++known;
      for (const std::string_view output : order[i]->outputs) alive += bytes_of(output);
      cost.peak_activation_bytes = std::max(cost.peak_activation_bytes, alive);
      for (const std::string_view input : order[i]->inputs) {
        if (input.empty() || fixed_.contains(input) || last_use.at(input) != i || !freed_.insert(input).second)
          continue;
        alive -= std::min(alive, bytes_of(input));
      }
    }
    if (!order.empty()) cost.counted = static_cast<double>(known) / static_cast<double>(order.size());
    return {};
  }

  StaticCost cost;
  std::set<std::string> unknown;

 private:
  [[nodiscard]] static std::uint64_t bytes_of(const StaticValue& value) {
    return value.shape ? byte_size(value.dtype, *value.shape).value_or(0) : 0;
  }
  [[nodiscard]] std::uint64_t bytes_of(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : bytes_of(found->second);
  }

  // Whether its FLOPs are known.
  Result<bool> visit(const graph::Node& node) {
    std::vector<const StaticValue*> inputs;
    bool shapes = true;
    for (const std::string_view name : node.inputs) {
      const auto found = name.empty() ? values_.end() : values_.find(name);
      inputs.push_back(found == values_.end() ? nullptr : &found->second);
      if (!name.empty() && (found == values_.end() || !found->second.shape)) shapes = false;
    }
    const ShapeRule rule = node.domain.empty() && node.function == nullptr ? find_rule(node.op_type) : nullptr;
    if (rule == nullptr) unknown.insert(sanitise(node.operator_name()));
    const auto value = model_.values.find(&node);
    Site site(node, opset_, std::move(inputs), value == model_.values.end() ? nullptr : &value->second);
    // Rules write to a first output and read what their operator must have.
    if (rule != nullptr && node.outputs.empty()) return site.contradiction("it has no outputs");
    if (rule != nullptr && shapes) {
      const Status ruled = rule(site);
      if (site.is_incomplete()) return site.contradiction("an input that it needs is missing");
      ASSAY_CHECK_OK(ruled);
    }
    bool complete = rule != nullptr && shapes;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      StaticValue& output = site.outputs()[i];
      if (node.outputs[i].empty()) continue;
      settle_elements(output);
      const bool text = output.dtype == DType::kString;
      if (output.shape &&
          !(text ? element_count(*output.shape).has_value() : byte_size(output.dtype, *output.shape).has_value()))
        return site.contradiction("an output of shape " + to_string(*output.shape));
      if (i == 0 && !output.shape) complete = false;
    }
    if (complete) {
      cost.flops += flops_of(site);
      for (std::size_t i = 0; i < site.inputs(); ++i)
        if (site.has(i)) cost.bytes += static_cast<double>(bytes_of(site.in(i)));
      for (const StaticValue& output : site.outputs()) cost.bytes += static_cast<double>(bytes_of(output));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty()) values_[std::string(node.outputs[i])] = std::move(site.outputs()[i]);
    return complete;
  }

  const StaticModel::State& model_;
  const graph::Graph& graph_;
  std::int64_t opset_;
  Values& values_;
  std::set<std::string, std::less<>> fixed_;
  std::set<std::string_view> freed_;
};

// Whether a declared shape allows these extents.
bool fits(const graph::ValueInfo& declared, const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) return false;
  if (!declared.shape) return true;
  return std::ranges::equal(*declared.shape, shape, [](const graph::Dimension& dimension, std::int64_t extent) {
    return dimension.extent.value_or(extent) == extent;
  });
}

// The file's extents and those of the request must not contradict each other.
Result<StaticValue> input_of(const graph::ValueInfo& input, const std::map<std::string, Shape>& shapes) {
  const auto given = shapes.find(std::string(input.name));
  if (given == shapes.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input {} has no shape given", shown(input.name)));
  }
  if (!fits(input, given->second) || !byte_size(input.dtype, given->second)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input {} cannot have the shape {}", shown(input.name), to_string(given->second)));
  }
  return StaticValue{input.dtype, given->second};
}

Result<StaticValue> constant_of(const graph::Graph& graph, const std::string& name, const Tensor& tensor) {
  const auto input = std::ranges::find(graph.inputs, name, &graph::ValueInfo::name);
  if (input == graph.inputs.end())
    return fail(ErrorCode::kInvalidArgument, fmt::format("the constant {} is not an input of the model", shown(name)));
  if (input->dtype != tensor.dtype() || !fits(*input, tensor.shape())) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input {} cannot be the constant {} {}", shown(name),
                                                         to_string(tensor.dtype()), to_string(tensor.shape())));
  }
  return known_value(tensor.dtype(), tensor.shape(), tensor.bytes());
}

}  // namespace

std::uint64_t memory_to_run(const StaticCost& cost) { return 2 * cost.weight_bytes + cost.peak_activation_bytes; }

const StaticValue* StaticGraph::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

bool StaticGraph::has_shape(std::string_view name) const {
  const StaticValue* found = find(name);
  return found != nullptr && found->shape;
}

Result<StaticGraph> StaticGraph::infer(const std::filesystem::path& model, const std::map<std::string, Shape>& shapes) {
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  return opened.infer(shapes);
}

Result<StaticGraph> StaticModel::infer(const std::map<std::string, Shape>& shapes,
                                       const std::map<std::string, Tensor>& constants) const {
  const graph::Graph& read = state_->model.graph();
  StaticGraph graph;
  Walk walk(*state_, graph.values_);
  for (const auto& [name, tensor] : constants) {
    ASSAY_TRY(StaticValue known, constant_of(read, name, tensor));
    walk.take_known(name, std::move(known));
  }
  for (const graph::ValueInfo& input : read.inputs) {
    if (graph.values_.contains(input.name)) continue;
    ASSAY_TRY(graph.values_[std::string(input.name)], input_of(input, shapes));
  }
  ASSAY_CHECK_OK(walk.nodes());
  graph.cost_ = walk.cost;
  graph.unknown_.assign(walk.unknown.begin(), walk.unknown.end());
  return graph;
}

}  // namespace assay
