// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "models/graph/view.hpp"

namespace assay::graph {

/// The window that a convolution, a pooling or Col2Im moves over the axes of [N, C, spatial…] behind N and C. Each list
/// has an element for each of these axes. Source of the formulas: ONNX's descriptions of Conv, ConvTranspose and
/// MaxPool.
struct Window {
  std::vector<std::int64_t> kernel, stride, dilation, before, after;
  std::vector<std::int64_t> output_padding;  ///< attribute of ConvTranspose; 0 for other operators

  [[nodiscard]] std::size_t axes() const { return kernel.size(); }
  /// How many elements lie between the first and the last one of the window, both included.
  [[nodiscard]] std::int64_t reach(std::size_t axis) const { return (kernel[axis] - 1) * dilation[axis] + 1; }
  /// How many windows an input of `extent` has; below 1: it is smaller than one. `ceil`: the last one may reach beyond
  /// the end, but not begin there.
  [[nodiscard]] std::int64_t count(std::size_t axis, std::int64_t extent, bool ceil = false) const;
  /// The padding behind the end with which `count` windows over `extent` elements end exactly there.
  [[nodiscard]] std::int64_t exact_after(std::size_t axis, std::int64_t extent, std::int64_t count) const {
    return (count - 1) * stride[axis] + reach(axis) - extent - before[axis];
  }
  /// How many elements of an input of `extent` each of `count` windows has, at least 1; `with_padding`: those of the
  /// node's padding count, too.
  [[nodiscard]] std::vector<std::int64_t> elements(std::size_t axis, std::int64_t extent, std::int64_t count,
                                                   bool with_padding) const;
  /// The extent of a transposed convolution's result before its padding and output_padding.
  [[nodiscard]] std::int64_t transposed_extent(std::size_t axis, std::int64_t extent) const {
    return stride[axis] * (extent - 1) + reach(axis);
  }
};

/// Whether auto_pad or output_shape determine the padding of the node, and not pads.
[[nodiscard]] bool pads_itself(const Node& node);

/// Reads the attributes of `node`; auto_pad is resolved for an input of shape `in` ([N, C, spatial…]). The error says
/// what contradicts: attributes of another rank, a kernel, stride or dilation below 1, numbers beyond 2^24.
[[nodiscard]] tl::expected<Window, std::string> read_window(const Node& node, const Shape& in,
                                                            std::vector<std::int64_t> kernel);

/// How much ConvTranspose cuts off at the beginning of transposed_extent(). `in`, `out`: extents of the axis.
[[nodiscard]] std::int64_t cut_before(const Node& node, const Window& window, std::size_t axis, std::int64_t in,
                                      std::int64_t out);

}  // namespace assay::graph
