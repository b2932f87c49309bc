// SPDX-License-Identifier: Apache-2.0
#include "models/graph/specialise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "models/graph/static_model.hpp"
#include "models/graph/static_parts.hpp"
#include "models/graph/view_state.hpp"
#include "models/onnx/model_writer.hpp"

namespace assay {
namespace {

// Writes down what of a graph stays.
class Specialiser {
 public:
  Specialiser(const StaticModel::State& model, const StaticGraph& graph, const SpecialiseRequest& request)
      : model_(model),
        graph_(model.model.graph()),
        inferred_(graph),
        request_(request),
        kept_(static_parts(model, graph)) {}

  ModelParts run() {
    parts_.nodes = kept_.nodes;
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

  std::vector<DynamicNode> dynamic() const { return kept_.dynamic; }

 private:
  // Initialisers that a kept node reads, or that are outputs, and that no constant of the request replaces.
  [[nodiscard]] bool keeps(std::string_view name) const {
    return kept_.needed.contains(name) && !request_.constants.contains(std::string(name));
  }

  // An output must be made by a node: engines require that, though ONNX does not.
  void add_constant(AddedConstant constant) {
    if (graph_.has_output(constant.name)) {
      std::string inner = constant.name + "/constant";
      while (inferred_.values().contains(inner)) inner += '_';
      parts_.copies.push_back({inner + "/Identity", inner, constant.name});
      constant.name = inner;
    }
    parts_.constants.push_back(std::move(constant));
  }

  void add_constants() {
    for (const auto& [name, given] : request_.constants) {
      if (!kept_.needed.contains(name)) continue;
      const auto bytes = given.bytes();
      add_constant({name, given.dtype(), given.shape(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
    for (const std::string_view name : kept_.folded) {
      const StaticValue& known = *inferred_.find(name);
      add_constant({std::string(name), known.dtype, *known.shape, packed_elements(known)});
    }
  }

  [[nodiscard]] DeclaredValue declared(std::string_view name) const {
    if (!inferred_.has_shape(name)) return {std::string(name)};
    const StaticValue& known = *inferred_.find(name);
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
        if (name.empty() || graph_.has_output(name)) continue;
        if (inferred_.has_shape(name) || before.contains(name)) parts_.values.push_back(declared(name));
      }
    }
  }

  const StaticModel::State& model_;
  const graph::Graph& graph_;
  const StaticGraph& inferred_;
  const SpecialiseRequest& request_;
  StaticParts kept_;
  ModelParts parts_;
};

}  // namespace

std::string no_static_shape(const DynamicNode& node) {
  return fmt::format("node '{}' ({}) has no static shape", node.name, node.op_type);
}

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
