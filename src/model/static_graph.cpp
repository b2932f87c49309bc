// SPDX-License-Identifier: Apache-2.0
#include "model/static_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "model/graph_check.hpp"
#include "model/shape_rules.hpp"

namespace assay {
namespace {

// Integers of a small constant; nullopt: too many, or of another type.
std::optional<std::vector<std::int64_t>> integers_in(const CheckedTensor& tensor, Bytes bytes) {
  if (tensor.elements > kMostElements) return std::nullopt;
  std::vector<std::int64_t> elements;
  const auto read = [&]<class T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      elements.push_back(static_cast<std::int64_t>(value));
    }
  };
  if (tensor.dtype == DType::kInt64)
    read(std::int64_t{});
  else if (tensor.dtype == DType::kInt32)
    read(std::int32_t{});
  else if (tensor.dtype == DType::kBool)
    read(std::uint8_t{});
  else
    return std::nullopt;
  return elements;
}

// Nodes after those whose outputs they read; check_graph() found no cycle.
std::vector<const onnx::NodeProto*> in_order(const onnx::GraphProto& graph) {
  std::unordered_map<std::string_view, std::size_t> maker;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) maker.emplace(output, static_cast<std::size_t>(i));
  }
  std::vector<int> missing(static_cast<std::size_t>(graph.node_size()), 0);
  std::vector<std::vector<std::size_t>> readers(missing.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto found = maker.find(input);
      if (found == maker.end() || input.empty()) continue;
      readers[found->second].push_back(static_cast<std::size_t>(i));
      ++missing[static_cast<std::size_t>(i)];
    }
  }
  // The file's own order, where it is one.
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < missing.size(); ++i)
    if (missing[i] == 0) ready.insert(i);
  std::vector<const onnx::NodeProto*> order;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(&graph.node(static_cast<int>(next)));
    for (const std::size_t reader : readers[next])
      if (--missing[reader] == 0) ready.insert(reader);
  }
  return order;
}

std::uint64_t bytes_of(const StaticValue& value) {
  return value.shape ? byte_size(value.dtype, *value.shape).value_or(0) : 0;
}

// Walks a graph once, in order.
class Walk {
 public:
  Walk(const OnnxFile& file, const CheckedGraph& checked, std::map<std::string, StaticValue>& values)
      : graph_(file.model().graph()), checked_(checked), reader_(file), values_(values) {
    for (const onnx::OperatorSetIdProto& import : file.model().opset_import())
      if (normal_domain(import.domain()).empty()) opset_ = import.version();
    for (const onnx::FunctionProto& function : file.model().functions())
      functions_.insert(std::string(normal_domain(function.domain())) + ":" + function.name());
  }

  Status constants() {
    for (const CheckedTensor& tensor : checked_.initializers) {
      StaticValue value{tensor.dtype, tensor.shape, std::nullopt};
      const bool small = tensor.elements <= kMostElements;
      if (small && (tensor.dtype == DType::kFloat32 || !is_floating(tensor.dtype))) {
        ASSAY_TRY(const Bytes bytes, reader_.bytes(tensor));
        value.elements = integers_in(tensor, bytes);
        constexpr std::int64_t kMostScales = 16;
        if (tensor.dtype == DType::kFloat32 && tensor.elements <= kMostScales) {
          std::vector<float>& floats = floats_[tensor.proto->name()];
          floats.resize(static_cast<std::size_t>(tensor.elements));
          std::memcpy(floats.data(), bytes.data(), std::min(bytes.size(), floats.size() * sizeof(float)));
        }
      }
      cost.weight_bytes += tensor.bytes;
      weights_.insert(tensor.proto->name());
      values_[tensor.proto->name()] = std::move(value);
    }
    return {};
  }

  Status nodes() {
    const std::vector<const onnx::NodeProto*> order = in_order(graph_);
    std::unordered_map<std::string_view, std::size_t> last_use;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::string& input : order[i]->input()) last_use[input] = i;
    for (const onnx::ValueInfoProto& output : graph_.output()) last_use[output.name()] = order.size();
    std::uint64_t alive = 0;
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      if (!weights_.contains(input.name())) alive += bytes_of(values_[input.name()]);
    }
    cost.peak_activation_bytes = alive;
    std::size_t known = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSAY_TRY(const bool counted, visit(*order[i]));
      if (counted) ++known;
      for (const std::string& output : order[i]->output()) alive += bytes_of(values_[output]);
      cost.peak_activation_bytes = std::max(cost.peak_activation_bytes, alive);
      const auto ends = [&](const std::string& name) {
        if (name.empty() || weights_.contains(name)) return;
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
    std::vector<std::optional<std::vector<float>>> floats;
    bool shapes = true;
    for (const std::string& name : node.input()) {
      const auto found = name.empty() ? values_.end() : values_.find(name);
      inputs.push_back(found == values_.end() ? nullptr : &found->second);
      if (!name.empty() && (found == values_.end() || !found->second.shape)) shapes = false;
      const auto constant = floats_.find(name);
      floats.push_back(constant == floats_.end() ? std::nullopt : std::optional(constant->second));
    }
    const std::string domain(normal_domain(node.domain()));
    const bool local = functions_.contains(domain + ":" + node.op_type());
    const ShapeRule rule = domain.empty() && !local ? find_rule(node.op_type()) : nullptr;
    if (rule == nullptr) unknown.insert(sanitise(domain.empty() ? node.op_type() : domain + ":" + node.op_type()));
    Site site(node, opset_, std::move(inputs), std::move(floats));
    // Rules write to a first output and read what their operator must have.
    if (rule != nullptr && node.output_size() == 0) return site.contradiction("it has no outputs");
    if (rule != nullptr && shapes) {
      const Status ruled = rule(site);
      if (site.lacks()) return site.contradiction("an input that it needs is missing");
      ASSAY_CHECK_OK(ruled);
    }
    bool complete = rule != nullptr && shapes;
    for (int i = 0; i < node.output_size(); ++i) {
      StaticValue& output = site.outputs()[static_cast<std::size_t>(i)];
      if (node.output(i).empty()) continue;
      if (output.shape && !byte_size(output.dtype, *output.shape))
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

  const onnx::GraphProto& graph_;
  const CheckedGraph& checked_;
  TensorReader reader_;
  std::map<std::string, StaticValue>& values_;
  std::unordered_map<std::string, std::vector<float>> floats_;
  std::set<std::string> weights_, freed_, functions_;
  std::int64_t opset_ = 0;
};

// The file's extents and those asked for must not contradict each other.
Status take_input(const onnx::ValueInfoProto& input, const std::map<std::string, Shape>& shapes,
                  std::map<std::string, StaticValue>& values) {
  const auto& type = input.type().tensor_type();
  const auto asked = shapes.find(input.name());
  if (asked == shapes.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("input {} has no shape given", shown(input.name())));
  }
  const Shape& shape = asked->second;
  bool fits = !type.has_shape() || type.shape().dim_size() == static_cast<int>(shape.size());
  for (int i = 0; fits && i < type.shape().dim_size(); ++i) {
    const auto& extent = type.shape().dim(i);
    const std::int64_t given = shape[static_cast<std::size_t>(i)];
    if (given < 0 || (extent.has_dim_value() && extent.dim_value() >= 0 && extent.dim_value() != given)) fits = false;
  }
  const auto dtype = static_cast<DType>(type.elem_type());
  if (!fits || !byte_size(dtype, shape)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("input {} cannot have the shape {}", shown(input.name()), to_string(shape)));
  }
  values[input.name()] = {dtype, shape, std::nullopt};
  return {};
}

}  // namespace

Result<StaticGraph> StaticGraph::infer(const std::filesystem::path& model, const std::map<std::string, Shape>& shapes) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(model));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  StaticGraph graph;
  Walk walk(file, checked, graph.values_);
  ASSAY_CHECK_OK(walk.constants());
  for (const onnx::ValueInfoProto& input : file.model().graph().input()) {
    if (!graph.values_.contains(input.name())) ASSAY_CHECK_OK(take_input(input, shapes, graph.values_));
  }
  ASSAY_CHECK_OK(walk.nodes());
  graph.cost_ = walk.cost;
  graph.unknown_.assign(walk.unknown.begin(), walk.unknown.end());
  return graph;
}

}  // namespace assay
