// SPDX-License-Identifier: Apache-2.0
#include "graph/specialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"
#include "graph/node_order.hpp"
#include "graph/static_model.hpp"
#include "onnx/model_writer.hpp"

namespace assay {
namespace {

// Below, ONNX wants every initialiser to be an input too.
constexpr std::int64_t kFreeInitialisers = 4;

void declare(const StaticValue& value, onnx::ValueInfoProto& as) {
  auto& type = *as.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(value.dtype));
  type.clear_shape();
  type.mutable_shape();  // a scalar has one too
  for (const std::int64_t extent : *value.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

onnx::TensorProto tensor_of(const std::string& name, DType dtype, const Shape& shape) {
  onnx::TensorProto tensor;
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_data_type(static_cast<std::int32_t>(dtype));
  tensor.set_name(name);
  return tensor;
}

template <class T>
std::string packed(const std::vector<std::int64_t>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const T value = static_cast<T>(elements[i]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

std::string packed(const StaticValue& value) {
  if (value.dtype == DType::kInt64) return packed<std::int64_t>(*value.elements);
  if (value.dtype == DType::kInt32) return packed<std::int32_t>(*value.elements);
  return packed<std::uint8_t>(*value.elements);
}

Status check_request(const onnx::GraphProto& graph, const StaticModel::State& model, const SpecialiseRequest& request) {
  std::set<std::string_view> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  for (const auto& given : request.shapes) {
    const std::string& name = given.first;  // no structured binding: the analyzer loses one in a lambda
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("a shape is given for {}, which {}", shown(name), why));
    };
    if (!inputs.contains(name)) return refuse("is no input of the model");
    if (request.constants.contains(name)) return refuse("is given as a constant too");
    if (model.initializers.contains(name)) return refuse("has a value in the file");
  }
  return {};
}

// Decides what of a graph stays.
class Specialiser {
 public:
  Specialiser(const StaticModel::State& model, const StaticGraph& graph, const SpecialiseRequest& request)
      : model_(model), graph_(model.file.model().graph()), values_(graph.values()), request_(request) {}

  ModelParts run() {
    choose_nodes();
    for (const CheckedTensor& tensor : model_.checked.initializers)
      parts_.initializers.push_back(keeps(tensor.proto->name()));
    for (const onnx::SparseTensorProto& tensor : graph_.sparse_initializer())
      parts_.sparse_initializers.push_back(keeps(tensor.values().name()));
    add_constants();
    declare_values();
    const onnx::ModelProto& model = model_.file.model();
    parts_.head.set_ir_version(std::max(model.ir_version(), kFreeInitialisers));
    if (model_.opset == 0) parts_.head.add_opset_import()->set_version(1);
    return std::move(parts_);
  }

  std::vector<const CheckedTensor*> kept_tensors() const {
    std::vector<const CheckedTensor*> kept;
    for (const CheckedTensor& tensor : model_.checked.initializers)
      if (keeps(tensor.proto->name())) kept.push_back(&tensor);
    for (const CheckedTensor& tensor : model_.checked.constants) kept.push_back(&tensor);
    return kept;
  }

  std::vector<DynamicNode> dynamic() const { return dynamic_; }
  std::size_t constants() const { return constants_; }

 private:
  [[nodiscard]] const StaticValue* value(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool has_shape(std::string_view name) const {
    const StaticValue* found = value(std::string(name));
    return found != nullptr && found->shape;
  }
  // Initialisers that somebody reads, or that are outputs, and that no constant of the request replaces.
  [[nodiscard]] bool keeps(const std::string& name) const {
    return needed_.contains(name) && !request_.constants.contains(name);
  }

  // All outputs are known: a node that stays for one of them makes the others too. What makes an output of a constant
  // is what add_constant() would put there.
  [[nodiscard]] bool is_folded(const onnx::NodeProto& node) const {
    if (node.op_type() == "Identity" && node.input_size() == 1 && model_.initializers.contains(node.input(0)) &&
        is_output(node.output(0)))
      return false;
    bool any = false;
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const StaticValue* known = value(output);
      if (known == nullptr || !known->elements) return false;
      any = true;
    }
    return any;
  }

  // From the outputs back: readers are met before what they read.
  void choose_nodes() {
    for (const onnx::ValueInfoProto& output : graph_.output()) needed_.insert(output.name());
    for (auto place = model_.order.rbegin(); place != model_.order.rend(); ++place) {
      const onnx::NodeProto& node = graph_.node(*place);
      const bool wanted = std::any_of(node.output().begin(), node.output().end(),
                                      [&](const std::string& output) { return needed_.contains(output); });
      if (!wanted) continue;
      if (is_folded(node)) {
        for (const std::string& output : node.output())
          if (needed_.contains(output)) folded_.push_back(output);
        continue;
      }
      parts_.nodes.push_back(*place);
      for (const std::string_view name : reads_of(node)) needed_.insert(std::string(name));
    }
    std::reverse(parts_.nodes.begin(), parts_.nodes.end());
    std::reverse(folded_.begin(), folded_.end());
    for (const int place : parts_.nodes) tell_dynamic(graph_.node(place));
  }

  void tell_dynamic(const onnx::NodeProto& node) {
    const std::vector<std::string_view> reads = reads_of(node);
    if (!std::all_of(reads.begin(), reads.end(), [&](auto name) { return has_shape(name); })) return;
    const bool known = std::all_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
      return output.empty() || !needed_.contains(output) || has_shape(output);
    });
    if (known) return;
    const std::string domain(normal_domain(node.domain()));
    dynamic_.push_back({sanitise(node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name()),
                        sanitise(domain.empty() ? node.op_type() : domain + ":" + node.op_type())});
  }

  [[nodiscard]] bool is_output(const std::string& name) const {
    return std::any_of(graph_.output().begin(), graph_.output().end(),
                       [&](const onnx::ValueInfoProto& output) { return output.name() == name; });
  }

  // An output must be made by a node: engines want that, though ONNX does not.
  void add_constant(const std::string& name, onnx::TensorProto tensor) {
    ++constants_;
    if (is_output(name)) {
      std::string inner = name + "/constant";
      while (values_.contains(inner)) inner += "_";
      onnx::NodeProto& node = *parts_.added.add_node();
      node.set_op_type("Identity");
      node.set_name(inner + "/Identity");
      node.add_input(inner);
      node.add_output(name);
      tensor.set_name(inner);
    }
    *parts_.constants.add_initializer() = std::move(tensor);
  }

  void add_constants() {
    for (const auto& [name, given] : request_.constants) {
      if (!needed_.contains(name)) continue;
      onnx::TensorProto tensor = tensor_of(name, given.dtype(), given.shape());
      tensor.set_raw_data(given.bytes().data(), given.bytes().size());
      add_constant(name, std::move(tensor));
    }
    for (const std::string& name : folded_) {
      const StaticValue& known = *value(name);
      onnx::TensorProto tensor = tensor_of(name, known.dtype, *known.shape);
      tensor.set_raw_data(packed(known));
      add_constant(name, std::move(tensor));
    }
  }

  // What the file says of a value, where the shapes say nothing.
  void declare_values() {
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      if (request_.constants.contains(input.name()) || model_.initializers.contains(input.name())) continue;
      onnx::ValueInfoProto& declared = *parts_.added.add_input() = input;
      if (has_shape(input.name())) declare(*value(input.name()), declared);
    }
    for (const onnx::ValueInfoProto& output : graph_.output()) {
      onnx::ValueInfoProto& declared = *parts_.added.add_output() = output;
      if (has_shape(output.name())) declare(*value(output.name()), declared);
    }
    std::unordered_map<std::string_view, const onnx::ValueInfoProto*> before;
    for (const onnx::ValueInfoProto& info : graph_.value_info()) before.emplace(info.name(), &info);
    for (const int place : parts_.nodes) {
      for (const std::string& name : graph_.node(place).output()) {
        if (name.empty() || is_output(name)) continue;
        if (has_shape(name)) {
          onnx::ValueInfoProto& declared = *parts_.added.add_value_info();
          declared.set_name(name);
          declare(*value(name), declared);
        } else if (const auto known = before.find(name); known != before.end()) {
          *parts_.added.add_value_info() = *known->second;
        }
      }
    }
  }

  const StaticModel::State& model_;
  const onnx::GraphProto& graph_;
  const std::map<std::string, StaticValue>& values_;
  const SpecialiseRequest& request_;
  std::set<std::string, std::less<>> needed_;
  std::vector<std::string> folded_;  ///< values that become initialisers, in the order of their nodes
  std::vector<DynamicNode> dynamic_;
  std::size_t constants_ = 0;
  ModelParts parts_;
};

}  // namespace

Result<SpecialisedModel> specialise(const StaticModel& model, const SpecialiseRequest& request,
                                    const std::filesystem::path& output) {
  const StaticModel::State& state = model.state();
  const onnx::GraphProto& before = state.file.model().graph();
  ASSAY_CHECK_OK(check_request(before, state, request));
  ASSAY_TRY(const StaticGraph graph, model.infer(request.shapes, request.constants));
  Specialiser specialiser(state, graph, request);
  const ModelParts parts = specialiser.run();
  ASSAY_CHECK_OK(write_parts(state.file, parts, specialiser.kept_tensors(), output));

  SpecialisedModel result{output};
  for (const onnx::ValueInfoProto& input : parts.added.input()) result.inputs.push_back(input.name());
  result.nodes = parts.nodes.size() + static_cast<std::size_t>(parts.added.node_size());
  result.nodes_before = static_cast<std::size_t>(before.node_size());
  result.constants = specialiser.constants();
  result.dynamic = specialiser.dynamic();
  return result;
}

Result<SpecialisedModel> specialise(const std::filesystem::path& model, const SpecialiseRequest& request,
                                    const std::filesystem::path& output) {
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  return specialise(opened, request, output);
}

}  // namespace assay
