// SPDX-License-Identifier: Apache-2.0
// Normalisations.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::normalisations {
namespace {

using graph::Node;

std::string epsilon(const Node& node) { return torch_number(double{node.number("epsilon", 1e-5F)}); }

// With the statistics of the batch, which also move the running ones.
Status batch_in_training(TorchWriter& writer, const Node& node) {
  std::vector<std::int64_t> axes(writer.shape(node, 0).size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.erase(axes.begin() + 1);
  const std::string x = writer.in(node, 0);
  const std::string mean = writer.let(torch_call("mean", x, torch_list(axes)));
  const std::string variance = writer.let(torch_call("var", x, torch_list(axes), "correction=0"));
  writer.out(node, 0,
             torch_call("batch_norm", x, writer.in(node, 1), writer.in(node, 2), mean, variance, "False", "0.0",
                        epsilon(node), "False"));
  const double momentum = double{node.number("momentum", 0.9F)};
  for (const std::size_t i : {1U, 2U}) {
    if (node.outputs.size() <= i || node.outputs[i].empty()) continue;
    const std::string kept = torch_call("mul", writer.in(node, i + 2), torch_number(momentum));
    writer.out(node, i,
               torch_call("add", kept, torch_call("mul", i == 1 ? mean : variance, torch_number(1.0 - momentum))));
  }
  return {};
}

Status batch(TorchWriter& writer, const Node& node) {
  if (node.integer("training_mode", 0) != 0) return batch_in_training(writer, node);
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) return refuse(node, "a further output");
  writer.out(node, torch_call("batch_norm", writer.in(node, 0), writer.in(node, 1), writer.in(node, 2),
                              writer.in(node, 3), writer.in(node, 4), "False", "0.0", epsilon(node), "False"));
  return {};
}

Status instance(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("instance_norm", writer.in(node, 0), writer.in(node, 1), writer.in(node, 2), "None",
                              "None", "True", "0.0", epsilon(node), "False"));
  return {};
}

// The extents that a scale of a normalisation over the axes from `axis` on has in libtorch.
Result<Shape> normalised(const TorchWriter& writer, const Node& node) {
  const Shape& shape = writer.shape(node, 0);
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), writer.rank(node, 0)));
  return Shape(shape.begin() + axis, shape.end());
}

Status layer(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Shape extents, normalised(writer, node));
  const bool has_bias = has_input(node, 2);
  const bool native = writer.shape(node, 1) == extents && (!has_bias || writer.shape(node, 2) == extents) &&
                      writer.dtype(node, 1) == writer.dtype(node, 0);
  const bool more = node.outputs.size() > 1;
  const std::string scale = native ? writer.in(node, 1) : "None";
  const std::string bias = native && has_bias ? writer.in(node, 2) : "None";
  std::string made;
  if (more) {
    const std::string all = writer.let(
        torch_call("native_layer_norm", writer.in(node, 0), torch_list(extents), scale, bias, epsilon(node)));
    made = all + "[0]";
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty()) writer.out(node, i, fmt::format("{}[{}]", all, i));
  } else {
    made = torch_call("layer_norm", writer.in(node, 0), torch_list(extents), scale, bias, epsilon(node));
  }
  if (!native) {
    made = torch_call("mul", made, writer.in(node, 1));
    if (has_bias) made = torch_call("add", made, writer.in(node, 2));
  }
  writer.out(node, made);
  return {};
}

Status root_mean_square(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Shape extents, normalised(writer, node));
  const bool native = writer.shape(node, 1) == extents && writer.dtype(node, 1) == writer.dtype(node, 0);
  const std::string made = torch_call("rms_norm", writer.in(node, 0), torch_list(extents),
                                      native ? writer.in(node, 1) : "None", epsilon(node));
  writer.out(node, native ? made : torch_call("mul", made, writer.in(node, 1)));
  return {};
}

Status group(TorchWriter& writer, const Node& node) {
  const std::int64_t groups = node.integer("num_groups", 1), channels = writer.shape(node, 0)[1];
  const auto by_channel = [&](std::size_t i) {
    const std::string given = writer.in(node, i);
    return writer.shape(node, i)[0] == channels ? given : torch_call("repeat_interleave", given, channels / groups);
  };
  writer.out(node, torch_call("group_norm", writer.in(node, 0), groups, by_channel(1), by_channel(2), epsilon(node)));
  return {};
}

Status local_response(TorchWriter& writer, const Node& node) {
  const std::int64_t size = node.integer("size", 1), channels = writer.shape(node, 0)[1];
  const std::int64_t before = (size - 1) / 2, behind = size - 1 - before;
  const std::string x = writer.in(node, 0);
  std::vector<std::int64_t> pads(2 * static_cast<std::size_t>(writer.rank(node, 0) - 1), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = behind;
  const std::string squares =
      writer.let(torch_call("constant_pad_nd", torch_call("mul", x, x), torch_list(pads), "0.0"));
  std::string sum = torch_call("narrow", squares, 1, 0, channels);
  for (std::int64_t i = 1; i < size; ++i) sum = torch_call("add", sum, torch_call("narrow", squares, 1, i, channels));
  const double alpha = double{node.number("alpha", 0.0001F)} / static_cast<double>(size);
  const std::string inner =
      torch_call("add", torch_call("mul", sum, torch_number(alpha)), torch_number(double{node.number("bias", 1.0F)}));
  writer.out(node, torch_call("div", x, torch_call("pow", inner, torch_number(double{node.number("beta", 0.75F)}))));
  return {};
}

Status lp(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), writer.rank(node, 0)));
  const std::string x = writer.in(node, 0);
  const std::string norm =
      writer.let(torch_call("linalg_vector_norm", x, node.integer("p", 2), fmt::format("[{}]", axis), "True"));
  const std::string divisor = torch_call("where", torch_call("eq", norm, 0), "1.0", norm);  // 0 / 0 is 0
  writer.out(node, torch_call("div", x, divisor));
  return {};
}

Status mean_variance(TorchWriter& writer, const Node& node) {
  std::vector<std::int64_t> axes{0, 2, 3};
  if (const auto given = node.integers("axes")) axes.assign(given->begin(), given->end());
  const std::string x = writer.in(node, 0), along = torch_list(axes);
  // E[x²] − E[x]², as ONNX describes it, would be the difference of two nearly equal numbers if the mean is large.
  const std::string centred = writer.let(torch_call("sub", x, torch_call("mean", x, along, "True")));
  const std::string variance = torch_call("mean", torch_call("mul", centred, centred), along, "True");
  writer.out(node, torch_call("div", centred, torch_call("add", torch_call("sqrt", variance), "1e-09")));
  return {};
}

}  // namespace
}  // namespace torchscript::normalisations

TorchOperators torch_normalisations() {
  using namespace torchscript::normalisations;
  return {since(9, "BatchNormalization", batch),
          since(18, "GroupNormalization", group),
          since(6, "InstanceNormalization", instance),
          since(1, "LRN", local_response),
          since(17, "LayerNormalization", layer),
          since(1, "LpNormalization", lp),
          since(9, "MeanVarianceNormalization", mean_variance),
          since(23, "RMSNormalization", root_mean_square)};
}

}  // namespace assay::lowering
