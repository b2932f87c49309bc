// SPDX-License-Identifier: Apache-2.0
// Convolutions. All compute with channels last.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/lower/stablehlo/elementwise.hpp"
#include "models/lower/stablehlo/windows.hpp"

namespace assay::lowering::stablehlo {
namespace {

Shape shape_last(Shape plain) {
  channels_to_last(plain);
  return plain;
}

// [O, I, spatial…] to [spatial…, I, O]
Axes kernel_order(std::int64_t rank) {
  Axes order;
  for (std::int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  order.push_back(0);
  return order;
}

Result<Hlo> kernel_of(HloWriter& writer, const graph::Node& node, std::size_t index) {
  const Axes order = kernel_order(static_cast<std::int64_t>(writer.program().shape(node.inputs[index]).size()));
  if (const auto constant = writer.permuted_constant(node, index, order)) return *constant;
  ASSAY_TRY(const Hlo kernel, writer.input(node, index));
  return writer.transpose(kernel, order);
}

Hlo with_bias(HloWriter& writer, const Hlo& y, const Hlo& bias) {
  return writer.add(y, writer.broadcast_in_dim(bias, y.shape, {y.rank() - 1}));
}

Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Status convolution(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
  const Shape& weights = writer.program().shape(node.inputs[1]);
  ASSAY_TRY(const graph::Window window, window_of(node, writer.program().shape(node.inputs[0]), spatial(weights)));
  ASSAY_TRY(const Hlo kernel, kernel_of(writer, node, 1));
  const Shape shape = shape_last(writer.program().shape(node.outputs[0]));
  Hlo y = writer.convolution(x, kernel, hlo_window(window), node.integer("group", 1), shape, x.dtype);
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo bias, writer.input(node, 2));
    y = with_bias(writer, y, bias);
  }
  return writer.output_last(node, 0, y);
}

Status convolution_of_integers(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo y, integer_convolution(writer, node, {}));
  return writer.output_last(node, 0, y);
}

// [C, M / groups, spatial…] to [spatial…, C / groups, M], mirrored in space.
Result<Hlo> mirrored_kernel(HloWriter& writer, const graph::Node& node, std::int64_t groups) {
  ASSAY_TRY(const Hlo kernel, writer.input(node, 1));
  const std::int64_t inputs = kernel.extent(0), outputs = kernel.extent(1);
  Shape apart{groups, inputs / groups, outputs};
  Axes order, mirrored;
  Shape joined_shape;
  for (std::int64_t axis = 2; axis < kernel.rank(); ++axis) {
    apart.push_back(kernel.extent(axis));
    order.push_back(axis + 1);
    mirrored.push_back(axis - 2);
    joined_shape.push_back(kernel.extent(axis));
  }
  for (const std::int64_t axis : {1, 0, 2}) order.push_back(axis);
  joined_shape.push_back(inputs / groups);
  joined_shape.push_back(groups * outputs);
  const Hlo moved = writer.reshape(writer.transpose(writer.reshape(kernel, apart), order), joined_shape);
  return writer.reverse(moved, mirrored);
}

// A convolution over the input with zeros between its elements. Padding cuts off the result.
Status transposed_convolution(HloWriter& writer, const graph::Node& node) {
  ASSAY_TRY(const Hlo x, writer.input_last(node, 0));
  const std::int64_t groups = node.integer("group", 1);
  const Shape in = spatial(writer.program().shape(node.inputs[0]));
  const Shape size = spatial(writer.program().shape(node.inputs[1]));
  const Shape out = spatial(writer.program().shape(node.outputs[0]));
  ASSAY_TRY(const graph::Window window, window_of(node, writer.program().shape(node.inputs[0]), size));
  HloWindow spread{.size = size, .stride = Axes(size.size(), 1), .dilation = window.dilation};
  spread.base_dilation = window.stride;
  for (std::size_t i = 0; i < size.size(); ++i) {
    const std::int64_t reach = window.reach(i) - 1;
    spread.before.push_back(reach - graph::cut_before(node, window, i, in[i], out[i]));
    // What is left is determined by the result's extent.
    spread.after.push_back(out[i] + 2 * reach - window.transposed_extent(i, in[i]) - spread.before[i]);
  }
  ASSAY_TRY(const Hlo kernel, mirrored_kernel(writer, node, groups));
  const Shape shape = shape_last(writer.program().shape(node.outputs[0]));
  Hlo y = writer.convolution(x, kernel, spread, groups, shape, x.dtype);
  if (has_input(node, 2)) {
    ASSAY_TRY(const Hlo bias, writer.input(node, 2));
    y = with_bias(writer, y, bias);
  }
  return writer.output_last(node, 0, y);
}

constexpr HloRow kConvolutions[] = {
    {{"", "Conv", 1, kNewestOpset, ""}, convolution},
    {{"", "ConvInteger", 10, kNewestOpset, ""}, convolution_of_integers},
    {{"", "ConvTranspose", 1, kNewestOpset, ""}, transposed_convolution},
};

}  // namespace

Result<Hlo> integer_convolution(HloWriter& writer, const graph::Node& node, const IntegerConvolution& inputs) {
  ASSAY_TRY(const Hlo given, writer.input_last(node, inputs.x));
  const Shape& weights = writer.program().shape(node.inputs[inputs.kernel]);
  ASSAY_TRY(const graph::Window window,
            window_of(node, writer.program().shape(node.inputs[inputs.x]), spatial(weights)));
  ASSAY_TRY(const Hlo stored, kernel_of(writer, node, inputs.kernel));
  Hlo x = writer.convert(given, DType::kInt32), kernel = writer.convert(stored, DType::kInt32);
  const auto less = [&](const Hlo& numbers, std::size_t index) -> Result<Hlo> {
    if (!has_input(node, index)) return numbers;
    ASSAY_TRY(const Hlo read, writer.input(node, index));
    const Hlo zero = writer.convert(read, DType::kInt32);
    const bool one = zero.rank() == 1 && zero.extent(0) == 1;
    return writer.subtract(numbers, writer.broadcast(one ? writer.reshape(zero, {}) : zero, numbers.shape));
  };
  ASSAY_TRY(x, less(x, inputs.x_zero));
  ASSAY_TRY(kernel, less(kernel, inputs.kernel_zero));
  const Shape shape = shape_last(writer.program().shape(node.outputs[0]));
  return writer.convolution(x, kernel, hlo_window(window), node.integer("group", 1), shape, DType::kInt32);
}

HloWindow hlo_window(const graph::Window& window) {
  return {.size = window.kernel,
          .stride = window.stride,
          .dilation = window.dilation,
          .before = window.before,
          .after = window.after};
}

HloWindow over_all_axes(const HloWindow& window, bool last) {
  const auto spread = [last](const Axes& spatial, std::int64_t other) {
    Axes all{other};
    if (!last) all.push_back(other);
    all.insert(all.end(), spatial.begin(), spatial.end());
    if (last) all.push_back(other);
    return all;
  };
  return {spread(window.size, 1), spread(window.stride, 1), spread(window.dilation, 1), spread(window.before, 0),
          spread(window.after, 0)};
}

std::span<const HloRow> hlo_convolutions() { return kConvolutions; }

}  // namespace assay::lowering::stablehlo
