// SPDX-License-Identifier: Apache-2.0
#include "models/graph/window.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace assay::graph {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::int64_t kMost = 1 << 24;

Extents list_of(const Node& node, std::string_view name, std::int64_t otherwise, std::size_t count) {
  const auto given = node.integers(name);
  return given ? Extents(given->begin(), given->end()) : Extents(count, otherwise);
}

std::string_view automatic_padding(const Node& node) { return node.text("auto_pad", "NOTSET"); }

// The half of the padding that is at the beginning: the odd element is at the end, except with SAME_LOWER.
std::int64_t first_half(std::int64_t total, bool lower) { return lower ? total - total / 2 : total / 2; }

}  // namespace

std::int64_t Window::count(std::size_t axis, std::int64_t extent, bool ceil) const {
  const std::int64_t room = extent + before[axis] + after[axis] - reach(axis);
  if (room < 0) return 0;
  const std::int64_t windows = (room + (ceil ? stride[axis] - 1 : 0)) / stride[axis] + 1;
  return ceil && (windows - 1) * stride[axis] >= extent + before[axis] ? windows - 1 : windows;
}

std::vector<std::int64_t> Window::elements(std::size_t axis, std::int64_t extent, std::int64_t count,
                                           bool with_padding) const {
  const std::int64_t low = with_padding ? -before[axis] : 0, high = extent + (with_padding ? after[axis] : 0);
  Extents all;
  // How many elements of a window that begins at `first` lie before `end`.
  const auto elements_before = [&](std::int64_t end, std::int64_t first) {
    const std::int64_t room = end - first;
    return room <= 0 ? 0 : std::min((room - 1) / dilation[axis] + 1, kernel[axis]);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * stride[axis] - before[axis];
    all.push_back(std::max<std::int64_t>(elements_before(high, first) - elements_before(low, first), 1));
  }
  return all;
}

bool pads_itself(const Node& node) {
  return node.attribute("output_shape") != nullptr || automatic_padding(node).starts_with("SAME");
}

tl::expected<Window, std::string> read_window(const Node& node, const Shape& in, Extents kernel) {
  Window window;
  const std::size_t axes = kernel.size();
  window.kernel = std::move(kernel);
  window.stride = list_of(node, "strides", 1, axes);
  window.dilation = list_of(node, "dilations", 1, axes);
  window.output_padding = list_of(node, "output_padding", 0, axes);
  const Extents pads = list_of(node, "pads", 0, 2 * axes);
  if (in.size() != axes + 2 || window.stride.size() != axes || window.dilation.size() != axes ||
      window.output_padding.size() != axes || pads.size() != 2 * axes)
    return tl::unexpected<std::string>("attributes of another rank");
  const std::string_view automatic = automatic_padding(node);
  for (std::size_t i = 0; i < axes; ++i) {
    for (const std::int64_t value : {window.kernel[i], window.stride[i], window.dilation[i]})
      if (value < 1 || value > kMost)
        return tl::unexpected<std::string>("a kernel, stride or dilation below 1 or too large");
    std::int64_t before = pads[i], after = pads[axes + i];
    if (std::min(before, after) < -kMost || std::max(before, after) > kMost)
      return tl::unexpected<std::string>("padding that is too large");
    if (automatic == "VALID") before = after = 0;
    if (automatic.starts_with("SAME")) {
      const std::int64_t extent = in[i + 2], count = (extent + window.stride[i] - 1) / window.stride[i];
      const std::int64_t total = std::max<std::int64_t>((count - 1) * window.stride[i] + window.reach(i) - extent, 0);
      before = first_half(total, automatic == "SAME_LOWER");
      after = total - before;
    }
    window.before.push_back(before);
    window.after.push_back(after);
  }
  return window;
}

std::int64_t cut_before(const Node& node, const Window& window, std::size_t axis, std::int64_t in, std::int64_t out) {
  if (!pads_itself(node)) return window.before[axis];
  const std::int64_t total =
      std::max<std::int64_t>(window.transposed_extent(axis, in) + window.output_padding[axis] - out, 0);
  return first_half(total, automatic_padding(node) != "SAME_UPPER");
}

}  // namespace assay::graph
