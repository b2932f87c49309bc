// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "models/lower/torchscript/groups.hpp"
#include "models/lower/torchscript/patterns.hpp"

namespace assay::lowering {

std::span<const TorchOperator> torch_operators() {
  static const TorchOperators all = [] {
    TorchOperators rows;
    for (TorchOperators (*group)() :
         {&torch_activations, &torch_attention, &torch_elementwise, &torch_layout, &torch_linear, &torch_convolutions,
          &torch_normalisations, &torch_reductions, &torch_indexing, &torch_making, &torch_resizing, &torch_images,
          &torch_quantised, &torch_losses, &torch_recurrent, &torch_signals}) {
      const TorchOperators some = group();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    return rows;
  }();
  return all;
}

Status lower_to_torch(const StaticProgram& program, Program& into) {
  std::map<std::pair<std::string_view, std::string_view>, const TorchOperator*> rows;
  for (const TorchOperator& row : torch_operators()) rows.emplace(std::pair(row.known.domain, row.known.name), &row);
  TorchWriter writer(program, into);
  const TorchPatterns patterns(program);
  for (const graph::Node* node : program.nodes()) {
    if (!patterns.write(writer, *node)) ASSAY_CHECK_OK(rows.at({node->domain, node->op_type})->lower(writer, *node));
    ASSAY_CHECK_OK(writer.fault());
  }
  writer.finish();
  return writer.fault();
}

}  // namespace assay::lowering
