// SPDX-License-Identifier: Apache-2.0
#include "graph/specialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_set>

#include "base/text.hpp"
#include "graph/static_model.hpp"
#include "graph/view_state.hpp"
#include "onnx/model_writer.hpp"

namespace assay {
namespace {

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

Status check_request(const StaticModel::State& model, const SpecialiseRequest& request) {
  std::set<std::string_view> inputs;
  for (const graph::ValueInfo& input : model.model.graph().inputs) inputs.insert(input.name);
  for (const auto& given : request.shapes) {
    const std::string& name = given.first;  // no structured binding: the analyzer loses one in a lambda
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("a shape is given for {}, which {}", shown(name), why));
    };
    if (!inputs.contains(name)) return refuse("is not an input of the model");
    if (request.constants.contains(name)) return refuse("is given as a constant too");
    if (model.initializers.contains(name)) return refuse("has a value in the file");
  }
  return {};
}

// Decides what of a graph stays.
class Specialiser {
 public:
  Specialiser(const StaticModel::State& model, const StaticGraph& graph, const SpecialiseRequest& request)
      : model_(model), graph_(model.model.graph()), values_(graph.values()), request_(request) {}

  ModelParts run() {
    choose_nodes();
    for (const graph::Constant& tensor : graph_.initializers) {
      parts_.initializers.push_back(keeps(tensor.name));
      if (parts_.initializers.back() && tensor.external) parts_.external.push_back(*tensor.external);
    }
    for (const graph::Constant& tensor : graph_.sparse_initializers)
      parts_.sparse_initializers.push_back(keeps(tensor.name));
    for (const ExternalRange& data : model_.model.state().inner_external()) parts_.external.push_back(data);
    add_constants();
    declare_values();
    return std::move(parts_);
  }

  std::vector<DynamicNode> dynamic() const { return dynamic_; }

 private:
  [[nodiscard]] const StaticValue* value(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool has_shape(std::string_view name) const {
    const StaticValue* found = value(name);
    return found != nullptr && found->shape;
  }
  // Initialisers that a kept node reads, or that are outputs, and that no constant of the request replaces.
  [[nodiscard]] bool keeps(std::string_view name) const {
    return needed_.contains(name) && !request_.constants.contains(std::string(name));
  }

  // All outputs are known: a node that is kept for one of them computes the others, too. An Identity that makes a
  // constant an output is what add_constant() would add.
  [[nodiscard]] bool is_folded(const graph::Node& node) const {
    if (node.op_type == "Identity" && node.inputs.size() == 1 && model_.initializers.contains(node.inputs[0]) &&
        is_output(node.outputs[0]))
      return false;
    bool any = false;
    for (const std::string_view output : node.outputs) {
      if (output.empty()) continue;
      const StaticValue* known = value(output);
      if (known == nullptr || !known->elements) return false;
      any = true;
    }
    return any;
  }

  // From the outputs back: readers are met before what they read.
  void choose_nodes() {
    for (const graph::ValueInfo& output : graph_.outputs) needed_.insert(output.name);
    for (auto place = graph_.order.rbegin(); place != graph_.order.rend(); ++place) {
      const graph::Node& node = graph_.nodes[*place];
      if (!std::ranges::any_of(node.outputs, [&](std::string_view output) { return needed_.contains(output); }))
        continue;
      if (is_folded(node)) {
        for (const std::string_view output : node.outputs)
          if (needed_.contains(output)) folded_.push_back(output);
        continue;
      }
      parts_.nodes.push_back(*place);
      for (const std::string_view name : reads_of(node)) needed_.insert(name);
    }
    std::ranges::reverse(parts_.nodes);
    std::ranges::reverse(folded_);
    for (const std::size_t place : parts_.nodes) note_dynamic(graph_.nodes[place]);
  }

  void note_dynamic(const graph::Node& node) {
    if (!std::ranges::all_of(reads_of(node), [&](std::string_view name) { return has_shape(name); })) return;
    const bool known = std::ranges::all_of(node.outputs, [&](std::string_view output) {
      return output.empty() || !needed_.contains(output) || has_shape(output);
    });
    if (!known) dynamic_.push_back({sanitise(node.shown_name()), sanitise(node.operator_name())});
  }

  [[nodiscard]] bool is_output(std::string_view name) const {
    return std::ranges::find(graph_.outputs, name, &graph::ValueInfo::name) != graph_.outputs.end();
  }

  // An output must be made by a node: engines require that, though ONNX does not.
  void add_constant(AddedConstant constant) {
    if (is_output(constant.name)) {
      std::string inner = constant.name + "/constant";
      while (values_.contains(inner)) inner += '_';
      parts_.copies.push_back({inner + "/Identity", inner, constant.name});
      constant.name = inner;
    }
    parts_.constants.push_back(std::move(constant));
  }

  void add_constants() {
    for (const auto& [name, given] : request_.constants) {
      if (!needed_.contains(name)) continue;
      const auto bytes = given.bytes();
      add_constant({name, given.dtype(), given.shape(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
    for (const std::string_view name : folded_) {
      const StaticValue& known = *value(name);
      add_constant({std::string(name), known.dtype, *known.shape, packed(known)});
    }
  }

  [[nodiscard]] DeclaredValue declared(std::string_view name) const {
    if (!has_shape(name)) return {std::string(name)};
    const StaticValue& known = *value(name);
    return {std::string(name), known.dtype, known.shape};
  }

  void declare_values() {
    for (const graph::ValueInfo& input : graph_.inputs)
      if (!request_.constants.contains(std::string(input.name)) && !model_.initializers.contains(input.name))
        parts_.inputs.push_back(declared(input.name));
    for (const graph::ValueInfo& output : graph_.outputs) parts_.outputs.push_back(declared(output.name));
    std::unordered_set<std::string_view> before;
    for (const graph::ValueInfo& value : graph_.values) before.insert(value.name);
    for (const std::size_t place : parts_.nodes) {
      for (const std::string_view name : graph_.nodes[place].outputs) {
        if (name.empty() || is_output(name)) continue;
        if (has_shape(name) || before.contains(name)) parts_.values.push_back(declared(name));
      }
    }
  }

  const StaticModel::State& model_;
  const graph::Graph& graph_;
  const std::map<std::string, StaticValue, std::less<>>& values_;
  const SpecialiseRequest& request_;
  std::unordered_set<std::string_view> needed_;
  std::vector<std::string_view> folded_;  ///< values that become initialisers, in the order of their nodes
  std::vector<DynamicNode> dynamic_;
  ModelParts parts_;
};

}  // namespace

Result<SpecialisedModel> specialise(const StaticModel& model, const SpecialiseRequest& request,
                                    const std::filesystem::path& output) {
  const StaticModel::State& state = model.state();
  ASSAY_CHECK_OK(check_request(state, request));
  ASSAY_TRY(const StaticGraph graph, model.infer(request.shapes, request.constants));
  Specialiser specialiser(state, graph, request);
  const ModelParts parts = specialiser.run();
  ASSAY_CHECK_OK(write_parts(state.model.state().file, parts, output));

  SpecialisedModel result{output};
  for (const DeclaredValue& input : parts.inputs) result.inputs.push_back(input.name);
  result.nodes = parts.nodes.size() + parts.copies.size();
  result.nodes_before = state.model.graph().nodes.size();
  result.constants = parts.constants.size();
  result.dynamic = specialiser.dynamic();
  return result;
}

Result<SpecialisedModel> specialise(const std::filesystem::path& model, const SpecialiseRequest& request,
                                    const std::filesystem::path& output) {
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  return specialise(opened, request, output);
}

}  // namespace assay
