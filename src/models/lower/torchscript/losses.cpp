// SPDX-License-Identifier: Apache-2.0
// Losses.
#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::losses {
namespace {

using graph::Node;

// `logarithms`: of probabilities, by class on axis 1; labels are input 1, weights of classes input 2.
Status write_loss(TorchWriter& writer, const Node& node, const std::string& logarithms) {
  const std::string_view reduction = node.text("reduction", "mean");
  const int how = reduction == "none" ? 0 : reduction == "mean" ? 1 : reduction == "sum" ? 2 : -1;
  if (how < 0) return refuse(node, fmt::format("the reduction {}", reduction));
  const std::string labels = torch_call("to", writer.in(node, 1), *torch_type(DType::kInt64));
  const std::string weights = has_input(node, 2) ? writer.in(node, 2) : "None";
  constexpr std::int64_t kNone = -100;  // no class has this number
  writer.out(node, 0, torch_call("nll_loss_nd", logarithms, labels, weights, how, node.integer("ignore_index", kNone)));
  return {};
}

Status negative_logarithm(TorchWriter& writer, const Node& node) {
  return write_loss(writer, node, writer.in(node, 0));
}

Status cross_entropy(TorchWriter& writer, const Node& node) {
  const std::string logarithms = writer.let(torch_call("log_softmax", writer.in(node, 0), 1));
  if (node.outputs.size() > 1 && !node.outputs[1].empty()) writer.is(node.outputs[1], logarithms);
  return write_loss(writer, node, logarithms);
}

}  // namespace
}  // namespace torchscript::losses

TorchOperators torch_losses() {
  using namespace torchscript::losses;
  return {since(12, "NegativeLogLikelihoodLoss", negative_logarithm),
          since(12, "SoftmaxCrossEntropyLoss", cross_entropy)};
}

}  // namespace assay::lowering
