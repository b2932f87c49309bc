// SPDX-License-Identifier: Apache-2.0
// Normalisations.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

Hlo rsqrt(HloWriter& writer, const Hlo& x) { return writer.unary("stablehlo.rsqrt", x); }

Hlo with_epsilon(HloWriter& writer, const graph::Node& node, const Hlo& x) {
  return writer.add(x, writer.splat_like(node.attribute("epsilon") != nullptr ? node.number("epsilon", 0) : 1e-5F, x));
}

struct Moments {
  Hlo centred, mean, variance;  ///< mean and variance without the axes
};
Moments moments_of(HloWriter& writer, const Hlo& x, const Axes& axes) {
  const Hlo mean = writer.mean(x, axes);
  const Hlo centred = writer.subtract(x, writer.spread(mean, x, axes));
  return {centred, mean, writer.mean(writer.multiply(centred, centred), axes)};
}

// One number for each channel.
Hlo along_channels(HloWriter& writer, const Hlo& numbers, const Hlo& like, bool last) {
  return writer.broadcast_in_dim(writer.convert(numbers, like.dtype), like.shape, {last ? like.rank() - 1 : 1});
}

Status batch_normalisation(HloWriter& writer, const graph::Node& node) {
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo given, last ? writer.input_last(node, 0) : writer.input(node, 0));
  const DType type = wide(given.dtype);
  const Hlo x = writer.convert(given, type);
  std::vector<Hlo> numbers;  // scale, bias, mean, variance
  for (std::size_t i = 1; i <= 4; ++i) {
    ASSAY_TRY(const Hlo read, writer.input(node, i));
    numbers.push_back(writer.convert(read, type));
  }
  Hlo mean = numbers[2], variance = numbers[3];
  if (node.integer("training_mode", 0) != 0) {
    Axes axes = all_axes(x);
    axes.erase(axes.begin() + (last ? x.rank() - 1 : 1));
    const Moments found = moments_of(writer, x, axes);
    mean = found.mean;
    variance = found.variance;
    const double momentum = node.attribute("momentum") != nullptr ? node.number("momentum", 0) : 0.9F;
    const auto running = [&](const Hlo& before, const Hlo& now) {
      return writer.add(writer.multiply(before, writer.splat_like(momentum, before)),
                        writer.multiply(now, writer.splat_like(1 - momentum, now)));
    };
    for (const std::size_t i : {1, 2}) {
      if (node.outputs.size() <= i || node.outputs[i].empty()) continue;
      const Hlo kept = i == 1 ? running(numbers[2], mean) : running(numbers[3], variance);
      ASSAY_CHECK_OK(writer.output(node, i, writer.convert(kept, writer.program().dtype(node.outputs[i]))));
    }
  }
  const Hlo factor = writer.multiply(rsqrt(writer, with_epsilon(writer, node, variance)), numbers[0]);
  const Hlo centred = writer.subtract(x, along_channels(writer, mean, x, last));
  const Hlo scaled = writer.multiply(centred, along_channels(writer, factor, x, last));
  const Hlo y = writer.add(scaled, along_channels(writer, numbers[1], x, last));
  return element_output(writer, node, writer.convert(y, given.dtype), last);
}

Axes axes_from(std::int64_t axis, std::int64_t rank) {
  Axes axes;
  for (; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

// Scale and bias follow the numbers' last axes.
Result<Hlo> scaled_and_moved(HloWriter& writer, const graph::Node& node, const Hlo& normal, DType result) {
  ASSAY_TRY(const Hlo scale, writer.input(node, 1));
  Hlo y = writer.multiply(normal, writer.broadcast(writer.convert(scale, normal.dtype), normal.shape));
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo bias, writer.input(node, 2));
    y = writer.add(y, writer.broadcast(writer.convert(bias, normal.dtype), normal.shape));
  }
  return writer.convert(y, result);
}

Status layer_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), given.rank()));
  const Axes axes = axes_from(axis, given.rank());
  const Hlo x = writer.convert(given, wide(given.dtype));
  const Moments found = moments_of(writer, x, axes);
  const Hlo factor = rsqrt(writer, with_epsilon(writer, node, found.variance));
  ASSAY_TRY(const Hlo y, scaled_and_moved(writer, node, writer.multiply(found.centred, writer.spread(factor, x, axes)),
                                          given.dtype));
  ASSAY_CHECK_OK(writer.output(node, 0, y));
  for (const std::size_t i : {1, 2}) {
    if (node.outputs.size() <= i || node.outputs[i].empty()) continue;
    const Hlo kept = writer.keep_axes(i == 1 ? found.mean : factor, x, axes);
    ASSAY_CHECK_OK(writer.output(node, i, writer.convert(kept, writer.program().dtype(node.outputs[i]))));
  }
  return {};
}

Status root_mean_square_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), given.rank()));
  const Axes axes = axes_from(axis, given.rank());
  const Hlo x = writer.convert(given, wide(given.dtype));
  const Hlo squares = writer.mean(writer.multiply(x, x), axes);
  const Hlo factor = rsqrt(writer, with_epsilon(writer, node, squares));
  ASSAY_TRY(const Hlo y,
            scaled_and_moved(writer, node, writer.multiply(x, writer.spread(factor, x, axes)), given.dtype));
  return writer.output(node, y);
}

Status instance_normalisation(HloWriter& writer, const graph::Node& node) {
  const bool last = writer.prefers_last(node, 0);
  ASSAY_TRY(const Hlo given, last ? writer.input_last(node, 0) : writer.input(node, 0));
  const Hlo x = writer.convert(given, wide(given.dtype));
  Axes axes;
  for (std::int64_t axis = last ? 1 : 2; axis < x.rank() - (last ? 1 : 0); ++axis) axes.push_back(axis);
  const Moments found = moments_of(writer, x, axes);
  ASSAY_TRY(const Hlo scale, writer.input(node, 1));
  ASSAY_TRY(const Hlo bias, writer.input(node, 2));
  const Hlo factor = writer.spread(rsqrt(writer, with_epsilon(writer, node, found.variance)), x, axes);
  const Hlo scaled = writer.multiply(writer.multiply(found.centred, factor), along_channels(writer, scale, x, last));
  const Hlo y = writer.add(scaled, along_channels(writer, bias, x, last));
  return element_output(writer, node, writer.convert(y, given.dtype), last);
}

// Scale and bias: one for each group before opset 21, then one for each channel.
Status group_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  const std::int64_t groups = node.integer("num_groups", 1), channels = given.extent(1);
  const Hlo wider = writer.convert(given, wide(given.dtype));
  const Hlo x = writer.reshape(
      wider, {given.extent(0), groups, channels / groups,
              std::accumulate(given.shape.begin() + 2, given.shape.end(), std::int64_t{1}, std::multiplies<>())});
  const Axes axes{2, 3};
  const Moments found = moments_of(writer, x, axes);
  Hlo y =
      writer.multiply(found.centred, writer.spread(rsqrt(writer, with_epsilon(writer, node, found.variance)), x, axes));
  for (const std::size_t i : {1, 2}) {
    ASSAY_TRY(const Hlo read, writer.input(node, i));
    const Hlo numbers = writer.convert(read, x.dtype);
    const bool each_channel = numbers.extent(0) == channels && channels != groups;
    const Hlo whole =
        each_channel ? writer.broadcast_in_dim(writer.reshape(numbers, {groups, channels / groups}), x.shape, {1, 2})
                     : writer.broadcast_in_dim(numbers, x.shape, {1});
    y = i == 1 ? writer.multiply(y, whole) : writer.add(y, whole);
  }
  return writer.output(node, writer.convert(writer.reshape(y, given.shape), given.dtype));
}

Status mean_variance_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  Axes axes{0, 2, 3};
  if (const auto given = node.integers("axes")) axes.assign(given->begin(), given->end());
  for (std::int64_t& axis : axes) {
    ASSAY_TRY(axis, axis_of(node, axis, x.rank()));
  }
  std::ranges::sort(axes);
  const Moments found = moments_of(writer, x, axes);
  const Hlo deviation = writer.unary("stablehlo.sqrt", found.variance);
  const Hlo safe = writer.add(deviation, writer.splat_like(1e-9, deviation));
  return writer.output(node, writer.divide(found.centred, writer.spread(safe, x, axes)));
}

// A vector of length 0 stays 0.
Status lp_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), x.rank()));
  const bool squared = node.integer("p", 2) == 2;
  const Hlo total = writer.sum(squared ? writer.multiply(x, x) : writer.unary("stablehlo.abs", x), {axis});
  const Hlo length = writer.spread(squared ? writer.unary("stablehlo.sqrt", total) : total, x, {axis});
  const Hlo zero = writer.splat_like(0, x);
  return writer.output(node, writer.select(writer.compare("EQ", length, zero), zero, writer.divide(x, length)));
}

// x / (bias + alpha / size · Σ x²) ^ beta, the sum over neighbouring channels.
Status local_response_normalisation(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input(node, 0));
  const std::int64_t size = node.integer("size", 1);
  HloWindow window{.size = Axes(x.shape.size(), 1),
                   .stride = Axes(x.shape.size(), 1),
                   .dilation = Axes(x.shape.size(), 1),
                   .before = Axes(x.shape.size(), 0),
                   .after = Axes(x.shape.size(), 0)};
  window.size[1] = size;
  window.before[1] = (size - 1) / 2;
  window.after[1] = size - 1 - window.before[1];
  const Hlo total = writer.reduce_window("stablehlo.add", writer.multiply(x, x), writer.splat(0, x.dtype), window);
  const auto number = [&](const char* name, float otherwise) {
    return static_cast<double>(node.attribute(name) != nullptr ? node.number(name, 0) : otherwise);
  };
  const Hlo scaled =
      writer.multiply(total, writer.splat_like(number("alpha", 0.0001F) / static_cast<double>(size), total));
  const Hlo base = writer.add(scaled, writer.splat_like(number("bias", 1), scaled));
  const Hlo divisor = writer.binary("stablehlo.power", base, writer.splat_like(number("beta", 0.75F), base));
  return writer.output(node, writer.divide(x, divisor));
}

constexpr HloRow kNormalisations[] = {
    {{"", "BatchNormalization", 9, kNewestOpset, ""}, batch_normalisation},
    {{"", "GroupNormalization", 18, kNewestOpset, ""}, group_normalisation},
    {{"", "InstanceNormalization", 6, kNewestOpset, ""}, instance_normalisation},
    {{"", "LRN", 1, kNewestOpset, ""}, local_response_normalisation},
    {{"", "LayerNormalization", 17, kNewestOpset, ""}, layer_normalisation},
    {{"", "LpNormalization", 1, kNewestOpset, ""}, lp_normalisation},
    {{"", "MeanVarianceNormalization", 9, kNewestOpset, ""}, mean_variance_normalisation},
    {{"", "RMSNormalization", 23, kNewestOpset, ""}, root_mean_square_normalisation},
};

}  // namespace

std::span<const HloRow> hlo_normalisations() { return kNormalisations; }

}  // namespace assay::lowering::stablehlo
