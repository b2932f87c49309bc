// SPDX-License-Identifier: Apache-2.0
#include "graph_editor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace assay::faults {

bool is_heavy(std::string_view op_type) {
  return op_type == "MatMul" || op_type == "Gemm" || op_type == "Conv" || op_type == "ConvTranspose" ||
         op_type == "MatMulInteger" || op_type == "ConvInteger" || op_type == "QLinearMatMul" ||
         op_type == "QLinearConv" || op_type == "MatMulNBits" || op_type == "DynamicQuantizeMatMul";
}

GraphEditor::GraphEditor(onnx::ModelProto& model) : graph_(*model.mutable_graph()) {
  for (int i = 0; i < graph_.node_size(); ++i)
    for (const std::string& output : graph_.node(i).output()) producers_.emplace(output, i);
  for (const onnx::TensorProto& tensor : graph_.initializer()) initializers_.emplace(tensor.name(), &tensor);
}

int GraphEditor::producer(const std::string& value) const {
  const auto found = producers_.find(value);
  return found == producers_.end() ? -1 : found->second;
}

const onnx::TensorProto* GraphEditor::initializer(const std::string& value) const {
  const auto found = initializers_.find(value);
  return found == initializers_.end() ? nullptr : found->second;
}

const onnx::TensorProto* GraphEditor::constant(const std::string& value) const {
  if (const onnx::TensorProto* own = initializer(value)) return own;
  const int made = producer(value);
  if (made < 0 || node(made).input_size() == 0) return nullptr;
  const std::string& op = node(made).op_type();
  if (op != "Identity" && op != "Cast" && op != "DequantizeLinear" && op != "QuantizeLinear") return nullptr;
  return constant(node(made).input(0));
}

std::vector<std::int64_t> GraphEditor::integers(const std::string& value) const {
  const onnx::TensorProto* tensor = initializer(value);
  if (tensor == nullptr || tensor->data_type() != onnx::TensorProto::INT64) return {};
  if (tensor->int64_data_size() > 0) return {tensor->int64_data().begin(), tensor->int64_data().end()};
  std::vector<std::int64_t> values(tensor->raw_data().size() / sizeof(std::int64_t));
  if (!values.empty()) std::memcpy(values.data(), tensor->raw_data().data(), values.size() * sizeof(std::int64_t));
  return values;
}

bool GraphEditor::computes_between(const std::string& from, const std::string& to) const {
  // Backwards from `to`, never past `from`; a value is visited once with and once without a product behind it.
  std::vector<std::pair<std::string, bool>> open{{to, false}};
  std::unordered_set<std::string> seen[2];
  while (!open.empty()) {
    const auto [value, product] = open.back();
    open.pop_back();
    if (value == from) {
      if (product) return true;
      continue;
    }
    if (!seen[product ? 1 : 0].insert(value).second) continue;
    const int made = producer(value);
    if (made < 0) continue;
    for (const std::string& input : node(made).input())
      open.emplace_back(input, product || is_heavy(node(made).op_type()));
  }
  return false;
}

bool GraphEditor::depends_on(const std::string& value, std::string_view op_type) const {
  std::vector<std::string> open{value};
  std::unordered_set<std::string> seen;
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const int made = producer(name);
    if (made < 0 || !seen.insert(name).second) continue;
    if (node(made).op_type() == op_type) return true;
    open.insert(open.end(), node(made).input().begin(), node(made).input().end());
  }
  return false;
}

bool GraphEditor::leads_to_softmax(const std::string& value) const {
  constexpr std::string_view kPassed[] = {
      "Add", "Mul", "Where", "Cast", "Clip", "Reshape", "Max", "QuantizeLinear", "DequantizeLinear"};
  std::vector<std::string> open{value};
  for (int step = 0; step < 8 && !open.empty(); ++step) {
    std::vector<std::string> next;
    for (const onnx::NodeProto& reader : graph_.node()) {
      if (std::ranges::none_of(reader.input(), [&](const auto& i) { return std::ranges::find(open, i) != open.end(); }))
        continue;
      if (reader.op_type() == "Softmax") return true;
      if (std::ranges::find(kPassed, reader.op_type()) != std::end(kPassed)) next.push_back(reader.output(0));
    }
    open = std::move(next);
  }
  return false;
}

std::string GraphEditor::fresh() { return "planted/" + std::to_string(made_++); }

std::string GraphEditor::add(const char* op_type, std::vector<std::string> inputs) {
  std::string output = fresh();
  onnx::NodeProto& made = *graph_.add_node();
  made.set_op_type(op_type);
  made.set_name(output + "/" + op_type);
  for (std::string& input : inputs) made.add_input(std::move(input));
  made.add_output(output);
  producers_.emplace(output, graph_.node_size() - 1);
  return output;
}

onnx::TensorProto& GraphEditor::add_initializer(const std::string& name) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  // Adding may move the others' addresses in the list, never the messages themselves.
  initializers_.emplace(name, &tensor);
  return tensor;
}

std::string GraphEditor::scalar(double value) {
  std::string name = fresh();
  onnx::TensorProto& tensor = add_initializer(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(static_cast<float>(value));
  return name;
}

std::string GraphEditor::list(const std::vector<std::int64_t>& values) {
  std::string name = fresh();
  onnx::TensorProto& tensor = add_initializer(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return name;
}

std::string GraphEditor::scalar_like(double value, const std::string& like) {
  return add("CastLike", {scalar(value), like});
}

std::string GraphEditor::mix(const std::string& right, const std::string& wrong, double strength) {
  if (strength == 1.0) return wrong;
  const std::string difference = add("Sub", {wrong, right});
  return add("Add", {right, add("Mul", {difference, scalar_like(strength, right)})});
}

void GraphEditor::replace(const std::string& value, const std::string& by, int first_new) {
  for (int i = 0; i < first_new; ++i)
    for (std::string& input : *node(i).mutable_input())
      if (input == value) input = by;
  const bool is_output = std::ranges::any_of(graph_.output(), [&](const auto& o) { return o.name() == value; });
  if (!is_output) return;
  // The output keeps its name: what computed it gets another.
  const std::string renamed = fresh();
  const int made = producer(value);
  for (int i = 0; i < graph_.node_size(); ++i) {
    for (std::string& input : *node(i).mutable_input())
      if (input == value) input = renamed;
    for (std::string& output : *node(i).mutable_output())
      if (output == value) output = renamed;
  }
  producers_.erase(value);
  producers_.emplace(renamed, made);
  onnx::NodeProto& copy = *graph_.add_node();
  copy.set_op_type("Identity");
  copy.set_name(renamed + "/Identity");
  copy.add_input(by);
  copy.add_output(value);
  producers_.emplace(value, graph_.node_size() - 1);
}

void GraphEditor::sort() {
  std::vector<int> order, state(static_cast<std::size_t>(graph_.node_size()), 0);
  // Depth first without recursion: 1 while its inputs are visited, 2 when it is in the order.
  for (int root = 0; root < graph_.node_size(); ++root) {
    std::vector<int> open{root};
    while (!open.empty()) {
      const int at = open.back();
      int& mark = state[static_cast<std::size_t>(at)];
      if (mark == 0) {
        mark = 1;
        for (const std::string& input : node(at).input())
          if (const int made = producer(input); made >= 0 && state[static_cast<std::size_t>(made)] == 0)
            open.push_back(made);
        continue;
      }
      open.pop_back();
      if (mark == 1) {
        mark = 2;
        order.push_back(at);
      }
    }
  }
  onnx::GraphProto sorted;
  for (const int at : order) sorted.add_node()->Swap(&node(at));
  graph_.mutable_node()->Swap(sorted.mutable_node());
  producers_.clear();
  for (int i = 0; i < graph_.node_size(); ++i)
    for (const std::string& output : graph_.node(i).output()) producers_.emplace(output, i);
}

}  // namespace assay::faults
