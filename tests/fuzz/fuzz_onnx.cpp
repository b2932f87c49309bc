// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>

#include "core/base/files.hpp"
#include "models/graph/specialise.hpp"
#include "models/graph/view.hpp"
#include "models/inputs/inputs.hpp"
#include "models/lower/program.hpp"
#include "models/onnx/inspect.hpp"
#include "models/onnx/perturb.hpp"

namespace {

void read_graph(const assay::graph::Model& model, const assay::graph::Graph& graph);

void read_nodes(const assay::graph::Model& model, const std::vector<assay::graph::Node>& nodes,
                const std::vector<std::size_t>& order) {
  if (order.size() != nodes.size()) std::abort();
  for (const assay::graph::Node& node : nodes) {
    for (const assay::graph::Attribute& attribute : node.attributes) {
      if (const auto* constant = attribute.get<assay::graph::Constant>()) static_cast<void>(model.data(*constant));
      if (const auto* inner = attribute.get<std::shared_ptr<const assay::graph::Graph>>()) read_graph(model, **inner);
    }
  }
}

// All names and elements that the view has.
void read_graph(const assay::graph::Model& model, const assay::graph::Graph& graph) {
  for (const assay::graph::Constant& constant : graph.initializers) {
    const auto data = model.data(constant);
    if (data && data->bytes.size() != constant.bytes) std::abort();
  }
  read_nodes(model, graph.nodes, graph.order);
}

}  // namespace

// Any bytes are refused with a reason, or describe a model that can be read, fed and perturbed, and lowered or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const assay::TemporaryDirectory folder = assay::TemporaryDirectory::create("assay-fuzz-").value();
  const std::filesystem::path path = folder.path() / "model.onnx";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto info = assay::inspect_model(path);
  if (!info) {
    if (info.error().message.empty()) std::abort();
    return 0;
  }
  if (info->outputs.empty()) std::abort();
  if (const auto model = assay::graph::Model::open(path)) {
    read_graph(*model, model->graph());
    for (const assay::graph::Function& function : model->functions())
      read_nodes(*model, function.nodes, function.order);
  } else if (model.error().message.empty()) {
    std::abort();
  }
  if (const auto inputs = assay::make_inputs(*info, {})) {
    assay::SpecialiseRequest request;
    for (const assay::InputRecipe& input : inputs->recipes) request.shapes[input.name] = input.shape;
    static_cast<void>(assay::specialise(path, request, folder.path() / "static.onnx"));
    if (const auto opened = assay::StaticModel::open(path)) {
      for (const auto dialect : {assay::lowering::Dialect::kTorchScript, assay::lowering::Dialect::kStableHlo}) {
        const auto program = assay::lowering::lower(*opened, request, dialect);
        if (program ? program->text.empty() : program.error().message.empty()) std::abort();
      }
    }
  }
  const auto perturbed = folder.path() / "perturbed" / "model.onnx";
  if (!assay::write_perturbed(path, assay::DType::kFloat16, 1, perturbed) || !assay::inspect_model(perturbed))
    std::abort();
  return 0;
}
