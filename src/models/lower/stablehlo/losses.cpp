// SPDX-License-Identifier: Apache-2.0
// Losses: the scores of the right classes, weighted and reduced.
#include <fmt/format.h>

#include <algorithm>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

// For each label the number of its class: scores are [N, C, …] and labels [N, …]. 0 if a label is not a class.
Hlo picked(HloWriter& writer, const Hlo& numbers, const Hlo& labels) {
  Axes others;
  for (std::int64_t axis = 0; axis < numbers.rank(); ++axis)
    if (axis != 1) others.push_back(axis);
  const Hlo classes = writer.iota(labels.dtype, numbers.shape, 1);
  const Hlo is_right = writer.compare("EQ", writer.broadcast_in_dim(labels, numbers.shape, others), classes);
  return writer.sum(writer.select(is_right, numbers, writer.splat_like(0, numbers)), {1});
}

// `likelihoods`: logarithms of the probabilities, [N, C, …].
Status loss_of(HloWriter& writer, const graph::Node& node, const Hlo& likelihoods) {
  ASSAY_TRY(const Hlo labels, writer.input(node, 1));
  Hlo loss = writer.unary("stablehlo.negate", picked(writer, likelihoods, labels));
  std::optional<Hlo> weights;
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo given, writer.input(node, 2));
    weights = picked(writer, writer.broadcast_in_dim(given, likelihoods.shape, {1}), labels);
  }
  if (node.attribute("ignore_index") != nullptr) {
    const auto ignored = static_cast<double>(node.integer("ignore_index", 0));
    const Hlo counts = writer.compare("NE", labels, writer.splat_like(ignored, labels));
    const Hlo others = weights ? *weights : writer.splat_like(1, loss);
    weights = writer.select(counts, others, writer.splat_like(0, loss));
  }
  if (weights)
    loss = writer.select(writer.compare("EQ", *weights, writer.splat_like(0, loss)), writer.splat_like(0, loss),
                         writer.multiply(loss, *weights));
  const std::string_view reduction = node.text("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return refuse(node, fmt::format("the reduction '{}'", reduction));
  if (reduction == "mean" && !weights)
    loss = writer.mean(loss, all_axes(loss));
  else if (reduction == "mean")
    loss = writer.divide(writer.sum(loss, all_axes(loss)), writer.sum(*weights, all_axes(*weights)));
  else if (reduction == "sum")
    loss = writer.sum(loss, all_axes(loss));
  return writer.output(node, loss);
}

Status likelihood_loss(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo likelihoods, writer.input(node, 0));
  return loss_of(writer, node, likelihoods);
}

Status cross_entropy(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo scores, writer.input(node, 0));
  const Hlo likelihoods = writer.log_softmax(scores, {1});
  ASSAY_CHECK_OK(writer.output(node, 1, likelihoods));
  return loss_of(writer, node, likelihoods);
}

constexpr HloRow kLosses[] = {
    {{"", "NegativeLogLikelihoodLoss", 12, kNewestOpset, ""}, likelihood_loss},
    {{"", "SoftmaxCrossEntropyLoss", 12, kNewestOpset, ""}, cross_entropy},
};

}  // namespace

std::span<const HloRow> hlo_losses() { return kLosses; }

}  // namespace assay::lowering::stablehlo
