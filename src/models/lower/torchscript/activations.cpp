// SPDX-License-Identifier: Apache-2.0
// Activations, softmax among them.
#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::activations {
namespace {

using graph::Node;

double attribute(const Node& node, std::string_view name, float otherwise) {
  return double{node.number(name, otherwise)};
}
std::string number_of(const Node& node, std::string_view name, float otherwise) {
  return torch_number(attribute(node, name, otherwise));
}

Status elu(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("elu", writer.in(node, 0), number_of(node, "alpha", 1.0F)));
  return {};
}

Status celu(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("celu", writer.in(node, 0), number_of(node, "alpha", 1.0F)));
  return {};
}

Status selu(TorchWriter& writer, const Node& node) {
  const std::string inner = torch_call("elu", writer.in(node, 0), number_of(node, "alpha", 1.67326319217681884765625F));
  writer.out(node, torch_call("mul", inner, number_of(node, "gamma", 1.05070102214813232421875F)));
  return {};
}

Status gelu(TorchWriter& writer, const Node& node) {
  const bool tanh = node.text("approximate", "none") == "tanh";
  writer.out(node, torch_call("gelu", writer.in(node, 0), fmt::format("approximate=\"{}\"", tanh ? "tanh" : "none")));
  return {};
}

Status hard_sigmoid(TorchWriter& writer, const Node& node) {
  const std::string line = torch_call("add", torch_call("mul", writer.in(node, 0), number_of(node, "alpha", 0.2F)),
                                      number_of(node, "beta", 0.5F));
  writer.out(node, torch_call("clamp", line, "0.0", "1.0"));
  return {};
}

Status leaky_relu(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("leaky_relu", writer.in(node, 0), number_of(node, "alpha", 0.01F)));
  return {};
}

Status prelu(TorchWriter& writer, const Node& node) {
  const std::string x = writer.in(node, 0);
  writer.out(node, torch_call("where", torch_call("lt", x, 0), torch_call("mul", x, writer.in(node, 1)), x));
  return {};
}

Status shrink(TorchWriter& writer, const Node& node) {
  const std::string x = writer.in(node, 0);
  const double bias = attribute(node, "bias", 0.0F), edge = attribute(node, "lambd", 0.5F);
  const bool whole = is_integer(writer.dtype(node, 0));
  const std::string by = whole ? fmt::format("{}", static_cast<std::int64_t>(bias)) : torch_number(bias);
  const std::string zero = torch_call("zeros_like", x);
  const std::string above =
      torch_call("where", torch_call("gt", x, torch_number(edge)), torch_call("sub", x, by), zero);
  writer.out(node, torch_call("where", torch_call("lt", x, torch_number(-edge)), torch_call("add", x, by), above));
  return {};
}

Status softplus(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("softplus", writer.in(node, 0)));
  return {};
}

Status softsign(TorchWriter& writer, const Node& node) {
  const std::string x = writer.in(node, 0);
  writer.out(node, torch_call("div", x, torch_call("add", torch_call("abs", x), 1)));
  return {};
}

std::string swish_of(const Node& node, const std::string& x) {
  const double alpha = attribute(node, "alpha", 1.0F);
  return alpha == 1.0 ? torch_call("silu", x)
                      : torch_call("mul", x, torch_call("sigmoid", torch_call("mul", x, torch_number(alpha))));
}

Status swish(TorchWriter& writer, const Node& node) {
  writer.out(node, swish_of(node, writer.in(node, 0)));
  return {};
}

Status gated_swish(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("mul", swish_of(node, writer.in(node, 0)), writer.in(node, 1)));
  return {};
}

Status thresholded_relu(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("threshold", writer.in(node, 0), number_of(node, "alpha", 1.0F), "0.0"));
  return {};
}

// Older operators work on a matrix: the axes before `axis`, and those from it on.
template <class Along>
Status along_axis(TorchWriter& writer, const Node& node, const Along& along) {
  const std::int64_t rank = writer.rank(node, 0);
  const std::string x = writer.in(node, 0);
  const std::int64_t axis = TorchWriter::axis(node.integer("axis", writer.opset(node) < 13 ? 1 : -1), rank);
  if (writer.opset(node) >= 13 || axis == rank - 1) {
    writer.out(node, along(x, axis));
    return {};
  }
  const Shape& shape = writer.shape(node, 0);
  Shape matrix{1, 1};
  for (std::int64_t i = 0; i < rank; ++i) matrix[i < axis ? 0 : 1] *= shape[static_cast<std::size_t>(i)];
  writer.out(node, torch_call("reshape", along(torch_call("reshape", x, torch_list(matrix)), 1), torch_list(shape)));
  return {};
}

Status softmax(TorchWriter& writer, const Node& node) {
  return along_axis(writer, node,
                    [](const std::string& x, std::int64_t axis) { return torch_call("softmax", x, axis); });
}

Status log_softmax(TorchWriter& writer, const Node& node) {
  return along_axis(writer, node,
                    [](const std::string& x, std::int64_t axis) { return torch_call("log_softmax", x, axis); });
}

Status hardmax(TorchWriter& writer, const Node& node) {
  return along_axis(writer, node, [&](const std::string& given, std::int64_t axis) {
    const std::string x = writer.let(given);
    const std::string most = torch_call("argmax", x, axis, "True");
    return torch_call("scatter", torch_call("zeros_like", x), axis, most, "1.0");
  });
}

}  // namespace
}  // namespace torchscript::activations

TorchOperators torch_activations() {
  using namespace torchscript::activations;
  return {since(12, "Celu", celu),
          since(6, "Elu", elu),
          since(20, "Gelu", gelu),
          since(6, "HardSigmoid", hard_sigmoid),
          since(14, "HardSwish", torch_unary<"hardswish">),
          since(1, "Hardmax", hardmax),
          since(6, "LeakyRelu", leaky_relu),
          since(1, "LogSoftmax", log_softmax),
          since(18, "Mish", torch_unary<"mish">),
          since(7, "PRelu", prelu),
          since(1, "Relu", torch_unary<"relu">),
          since(6, "Selu", selu),
          since(9, "Shrink", shrink),
          since(1, "Sigmoid", torch_unary<"sigmoid">),
          since(1, "Softmax", softmax),
          since(1, "Softplus", softplus),
          since(1, "Softsign", softsign),
          since(28, "SwiGLU", gated_swish),
          since(24, "Swish", swish),
          since(10, "ThresholdedRelu", thresholded_relu)};
}

}  // namespace assay::lowering
