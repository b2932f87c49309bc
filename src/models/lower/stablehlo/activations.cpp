// SPDX-License-Identifier: Apache-2.0
// Activation functions, and softmax.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

Hlo number_like(HloWriter& writer, const graph::Node& node, const char* name, double otherwise, const Hlo& x) {
  return writer.splat_like(node.attribute(name) != nullptr ? node.number(name, 0) : otherwise, x);
}

Hlo negative_part(HloWriter& writer, const Hlo& x) { return writer.minimum(x, writer.splat_like(0, x)); }
Hlo positive_part(HloWriter& writer, const Hlo& x) { return writer.maximum(x, writer.splat_like(0, x)); }
Hlo exp_minus_one(HloWriter& writer, const Hlo& x) { return writer.unary("stablehlo.exponential_minus_one", x); }

// log(1 + exp(x)), without overflow.
Hlo log_one_plus_exp(HloWriter& writer, const Hlo& x) {
  const Hlo magnitude = writer.unary("stablehlo.abs", x);
  const Hlo small = writer.unary("stablehlo.exponential", writer.unary("stablehlo.negate", magnitude));
  return writer.add(positive_part(writer, x), writer.unary("stablehlo.log_plus_one", small));
}

Hlo relu(HloWriter& writer, const graph::Node&, const Hlo& x) { return positive_part(writer, x); }

Hlo leaky_relu(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const Hlo scaled = writer.multiply(x, number_like(writer, node, "alpha", 0.01, x));
  return writer.select(writer.compare("GE", x, writer.splat_like(0, x)), x, scaled);
}

Hlo learned_relu(HloWriter& writer, const graph::Node&, const Hlo& x, const Hlo& slope) {
  return writer.select(writer.compare("GE", x, writer.splat_like(0, x)), x, writer.multiply(x, slope));
}

Hlo elu(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const Hlo below =
      writer.multiply(exp_minus_one(writer, negative_part(writer, x)), number_like(writer, node, "alpha", 1, x));
  return writer.select(writer.compare("GE", x, writer.splat_like(0, x)), x, below);
}

// max(0, x) + min(0, α (exp(x / α) − 1))
Hlo celu(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const Hlo alpha = number_like(writer, node, "alpha", 1, x);
  const Hlo below = writer.multiply(exp_minus_one(writer, writer.divide(negative_part(writer, x), alpha)), alpha);
  return writer.add(positive_part(writer, x), writer.minimum(below, writer.splat_like(0, x)));
}

Hlo selu(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const Hlo alpha = number_like(writer, node, "alpha", 1.67326319217681884765625, x);
  const Hlo gamma = number_like(writer, node, "gamma", 1.05070102214813232421875, x);
  const Hlo below = writer.multiply(exp_minus_one(writer, negative_part(writer, x)), alpha);
  const Hlo chosen = writer.select(writer.compare("GT", x, writer.splat_like(0, x)), x, below);
  return writer.multiply(chosen, gamma);
}

Hlo logistic(HloWriter& writer, const graph::Node&, const Hlo& x) { return writer.unary("stablehlo.logistic", x); }

Hlo hard_sigmoid_of(HloWriter& writer, const Hlo& x, const Hlo& alpha, const Hlo& beta) {
  const Hlo line = writer.add(writer.multiply(x, alpha), beta);
  return writer.minimum(positive_part(writer, line), writer.splat_like(1, x));
}
Hlo hard_sigmoid(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  return hard_sigmoid_of(writer, x, number_like(writer, node, "alpha", 0.2, x),
                         number_like(writer, node, "beta", 0.5, x));
}
Hlo hard_swish(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return writer.multiply(x, hard_sigmoid_of(writer, x, writer.splat_like(1.0 / 6, x), writer.splat_like(0.5, x)));
}

Hlo softplus(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return in_wide(writer, x, [&](const Hlo& wide) { return log_one_plus_exp(writer, wide); });
}
Hlo softsign(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return writer.divide(x, writer.add(writer.unary("stablehlo.abs", x), writer.splat_like(1, x)));
}
Hlo mish(HloWriter& writer, const graph::Node&, const Hlo& x) {
  return in_wide(writer, x, [&](const Hlo& wide) {
    return writer.multiply(wide, writer.unary("stablehlo.tanh", log_one_plus_exp(writer, wide)));
  });
}
// x · sigmoid(α x)
Hlo swish(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const Hlo scaled = writer.multiply(x, number_like(writer, node, "alpha", 1, x));
  return writer.multiply(x, writer.unary("stablehlo.logistic", scaled));
}

Hlo gelu(HloWriter& writer, const graph::Node& node, const Hlo& given) {
  const bool is_tanh = node.text("approximate", "none") == "tanh";
  return in_wide(writer, given, [&](const Hlo& x) {
    const Hlo half = writer.multiply(x, writer.splat_like(0.5, x));
    Hlo inner{};
    if (is_tanh) {
      const Hlo cube = writer.multiply(writer.multiply(x, x), x);
      const Hlo sum = writer.add(x, writer.multiply(cube, writer.splat_like(0.044715, x)));
      inner =
          writer.unary("stablehlo.tanh", writer.multiply(sum, writer.splat_like(std::sqrt(2 / std::numbers::pi), x)));
    } else {
      inner = writer.unary("chlo.erf", writer.multiply(x, writer.splat_like(std::numbers::sqrt2 / 2, x)));
    }
    return writer.multiply(half, writer.add(inner, writer.splat_like(1, x)));
  });
}

Hlo thresholded_relu(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  return writer.select(writer.compare("GT", x, number_like(writer, node, "alpha", 1, x)), x, writer.splat_like(0, x));
}

// x < −λ: x + bias; x > λ: x − bias; else 0
Hlo shrink(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  const double lambda = node.attribute("lambd") != nullptr ? node.number("lambd", 0) : 0.5;
  const Hlo bias = number_like(writer, node, "bias", 0, x), zero = writer.splat_like(0, x);
  const Hlo inner =
      writer.select(writer.compare("GT", x, writer.splat_like(lambda, x)), writer.subtract(x, bias), zero);
  return writer.select(writer.compare("LT", x, writer.splat_like(-lambda, x)), writer.add(x, bias), inner);
}

// Before opset 13, all axes from `axis` on are one.
Result<Axes> softmax_axes(HloWriter& writer, const graph::Node& node, std::int64_t rank) {
  const bool is_new = writer.program().opset(node) >= 13;
  ASSAY_TRY(const std::int64_t axis,
            axis_of(node, node.integer("axis", is_new ? -1 : 1), std::max<std::int64_t>(rank, 1)));
  Axes axes{axis};
  for (std::int64_t next = axis + 1; !is_new && next < rank; ++next) axes.push_back(next);
  return axes;
}

enum class SoftmaxKind { kPlain, kLog, kHard };

// The first of the largest elements along the axes gets 1.
Hlo hard_max(HloWriter& writer, const Hlo& x, const Axes& axes) {
  Shape flat = x.shape;
  const auto from = static_cast<std::size_t>(axes.front());
  flat.resize(from);
  std::int64_t extent = 1;
  for (const std::int64_t axis : axes) extent *= x.extent(axis);
  flat.push_back(extent);
  for (std::int64_t axis = axes.back() + 1; axis < x.rank(); ++axis) flat.push_back(x.extent(axis));
  const Hlo rows = writer.reshape(x, flat);
  const Axes over{axes.front()};
  const Hlo is_largest = writer.compare("EQ", rows, writer.spread(writer.largest(rows, over), rows, over));
  const Hlo places = writer.iota(DType::kInt64, rows.shape, axes.front());
  const Hlo candidates = writer.select(is_largest, places, writer.splat_like(static_cast<double>(extent), places));
  const Hlo first =
      writer.reduce("stablehlo.minimum", candidates, writer.splat(static_cast<double>(extent), DType::kInt64), over);
  return writer.reshape(writer.convert(writer.compare("EQ", places, writer.spread(first, rows, over)), x.dtype),
                        x.shape);
}

template <SoftmaxKind Kind>
Status softmax(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  if (x.shape.empty()) return writer.output(node, writer.splat_like(Kind == SoftmaxKind::kLog ? 0 : 1, x));
  ASSAY_TRY(const Axes axes, softmax_axes(writer, node, x.rank()));
  if (Kind == SoftmaxKind::kHard) return writer.output(node, hard_max(writer, x, axes));
  const Hlo y = Kind == SoftmaxKind::kLog ? writer.log_softmax(x, axes) : writer.softmax(x, axes);
  return writer.output(node, y);
}

constexpr HloRow kActivations[] = {
    {{"", "Celu", 12, kNewestOpset, ""}, map_one<celu>},
    {{"", "Elu", 6, kNewestOpset, ""}, map_one<elu>},
    {{"", "Gelu", 20, kNewestOpset, ""}, map_one<gelu>},
    {{"", "HardSigmoid", 6, kNewestOpset, ""}, map_one<hard_sigmoid>},
    {{"", "HardSwish", 14, kNewestOpset, ""}, map_one<hard_swish>},
    {{"", "Hardmax", 1, kNewestOpset, ""}, softmax<SoftmaxKind::kHard>},
    {{"", "LeakyRelu", 6, kNewestOpset, ""}, map_one<leaky_relu>},
    {{"", "LogSoftmax", 1, kNewestOpset, ""}, softmax<SoftmaxKind::kLog>},
    {{"", "Mish", 18, kNewestOpset, ""}, map_one<mish>},
    {{"", "PRelu", 7, kNewestOpset, ""}, map_two<learned_relu>},
    {{"", "Relu", 1, kNewestOpset, ""}, map_one<relu>},
    {{"", "Selu", 6, kNewestOpset, ""}, map_one<selu>},
    {{"", "Shrink", 9, kNewestOpset, ""}, map_one<shrink>},
    {{"", "Sigmoid", 1, kNewestOpset, ""}, map_one<logistic>},
    {{"", "Softmax", 1, kNewestOpset, ""}, softmax<SoftmaxKind::kPlain>},
    {{"", "Softplus", 1, kNewestOpset, ""}, map_one<softplus>},
    {{"", "Softsign", 1, kNewestOpset, ""}, map_one<softsign>},
    {{"", "Swish", 24, kNewestOpset, ""}, map_one<swish>},
    {{"", "ThresholdedRelu", 10, kNewestOpset, ""}, map_one<thresholded_relu>},
};

}  // namespace

std::span<const HloRow> hlo_activations() { return kActivations; }

}  // namespace assay::lowering::stablehlo
