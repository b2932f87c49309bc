// SPDX-License-Identifier: Apache-2.0
#include "graph/static_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "graph/shape_rules.hpp"
#include "graph/static_model.hpp"

namespace assay {
namespace {

std::uint64_t bytes_of(const StaticValue& value) {
  return value.shape ? byte_size(value.dtype, *value.shape).value_or(0) : 0;
}

// Walks a graph once, in order.
class Walk {
 public:
  Walk(const StaticModel::State& model, std::map<std::string, StaticValue>& values)
      : model_(model), graph_(model.file.model().graph()), values_(values) {
    cost.weight_bytes = model.weight_bytes;
    for (const auto& [name, known] : model.initializers) take_known(name, known);
  }

  // Known from the start, and no buffer that an inference fills.
  void take_known(const std::string& name, StaticValue known) {
    values_[name] = std::move(known);
    fixed_.insert(name);
  }

  Status nodes() {
    std::vector<const onnx::NodeProto*> order;
    order.reserve(model_.order.size());
    for (const int place : model_.order) order.push_back(&graph_.node(place));
    std::unordered_map<std::string_view, std::size_t> last_use;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::string& input : order[i]->input()) last_use[input] = i;
    for (const onnx::ValueInfoProto& output : graph_.output()) last_use[output.name()] = order.size();
    std::uint64_t alive = 0;
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      if (!fixed_.contains(input.name())) alive += bytes_of(values_[input.name()]);
    }
    cost.peak_activation_bytes = alive;
    std::size_t known = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSAY_TRY(const bool counted, visit(*order[i]));
      if (counted) ++known;
      for (const std::string& output : order[i]->output()) alive += bytes_of(values_[output]);
      cost.peak_activation_bytes = std::max(cost.peak_activation_bytes, alive);
      const auto ends = [&](const std::string& name) {
        if (name.empty() || fixed_.contains(name)) return;
        const auto last = last_use.find(name);
        if (last == last_use.end() || last->second != i || !freed_.insert(name).second) return;
        alive -= std::min(alive, bytes_of(values_[name]));
      };
      for (const std::string& input : order[i]->input()) ends(input);
    }
    if (!order.empty()) cost.counted = static_cast<double>(known) / static_cast<double>(order.size());
    return {};
  }

  StaticCost cost;
  std::set<std::string> unknown;

 private:
  // Whether its FLOPs are known.
  Result<bool> visit(const onnx::NodeProto& node) {
    std::vector<const StaticValue*> inputs;
    bool shapes = true;
    for (const std::string& name : node.input()) {
      const auto found = name.empty() ? values_.end() : values_.find(name);
      inputs.push_back(found == values_.end() ? nullptr : &found->second);
      if (!name.empty() && (found == values_.end() || !found->second.shape)) shapes = false;
    }
    const std::string domain(normal_domain(node.domain()));
    const bool local = model_.functions.contains(domain + ":" + node.op_type());
    const ShapeRule rule = domain.empty() && !local ? find_rule(node.op_type()) : nullptr;
    if (rule == nullptr) unknown.insert(sanitise(domain.empty() ? node.op_type() : domain + ":" + node.op_type()));
    Site site(node, model_.opset, std::move(inputs));
    // Rules write to a first output and read what their operator must have.
    if (rule != nullptr && node.output_size() == 0) return site.contradiction("it has no outputs");
    if (rule != nullptr && shapes) {
      const Status ruled = rule(site);
      if (site.lacks()) return site.contradiction("an input that it needs is missing");
      ASSAY_CHECK_OK(ruled);
      take_constant(site);
    }
    bool complete = rule != nullptr && shapes;
    for (int i = 0; i < node.output_size(); ++i) {
      StaticValue& output = site.outputs()[static_cast<std::size_t>(i)];
      if (node.output(i).empty()) continue;
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
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) values_[node.output(i)] = std::move(site.outputs()[static_cast<std::size_t>(i)]);
    }
    return complete;
  }

  // The tensor of a Constant node, which may lie outside its message.
  void take_constant(Site& site) {
    if (site.node().op_type() != "Constant") return;
    const auto known = model_.constants.find(site.node().output(0));
    if (known == model_.constants.end()) return;
    site.outputs().front() = known->second;
  }

  const StaticModel::State& model_;
  const onnx::GraphProto& graph_;
  std::map<std::string, StaticValue>& values_;
  std::set<std::string> fixed_, freed_;
};

// Whether a declared shape allows these extents.
bool fits(const onnx::TypeProto::Tensor& type, const Shape& shape) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) return false;
  if (!type.has_shape()) return true;
  if (type.shape().dim_size() != static_cast<int>(shape.size())) return false;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    const auto& extent = type.shape().dim(i);
    if (!extent.has_dim_value() || extent.dim_value() < 0) continue;
    if (extent.dim_value() != shape[static_cast<std::size_t>(i)]) return false;
  }
  return true;
}

// The file's extents and those asked for must not contradict each other.
Result<StaticValue> input_of(const onnx::ValueInfoProto& input, const std::map<std::string, Shape>& shapes) {
  const auto& type = input.type().tensor_type();
  const auto asked = shapes.find(input.name());
  if (asked == shapes.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input {} has no shape given", shown(input.name())));
  }
  const auto dtype = static_cast<DType>(type.elem_type());
  if (!fits(type, asked->second) || !byte_size(dtype, asked->second)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input {} cannot have the shape {}", shown(input.name()), to_string(asked->second)));
  }
  return StaticValue{dtype, asked->second};
}

Result<StaticValue> constant_of(const onnx::GraphProto& graph, const std::string& name, const Tensor& tensor) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.name() != name) continue;
    const auto& type = input.type().tensor_type();
    if (static_cast<DType>(type.elem_type()) != tensor.dtype() || !fits(type, tensor.shape())) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("input {} cannot be the constant {} {}", shown(name),
                                                           to_string(tensor.dtype()), to_string(tensor.shape())));
    }
    return known_value(tensor.dtype(), tensor.shape(), tensor.bytes());
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("the constant {} is no input of the model", shown(name)));
}

}  // namespace

Result<StaticGraph> StaticGraph::infer(const std::filesystem::path& model, const std::map<std::string, Shape>& shapes) {
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  return opened.infer(shapes);
}

Result<StaticGraph> StaticModel::infer(const std::map<std::string, Shape>& shapes,
                                       const std::map<std::string, Tensor>& constants) const {
  const onnx::GraphProto& proto = state_->file.model().graph();
  StaticGraph graph;
  Walk walk(*state_, graph.values_);
  for (const auto& [name, tensor] : constants) {
    ASSAY_TRY(StaticValue known, constant_of(proto, name, tensor));
    walk.take_known(name, std::move(known));
  }
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (graph.values_.contains(input.name())) continue;
    ASSAY_TRY(graph.values_[input.name()], input_of(input, shapes));
  }
  ASSAY_CHECK_OK(walk.nodes());
  graph.cost_ = walk.cost;
  graph.unknown_.assign(walk.unknown.begin(), walk.unknown.end());
  return graph;
}

}  // namespace assay
