// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "models/graph/shape_rules.hpp"
#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::convolutions {
namespace {

using graph::Node;
using Extents = std::vector<std::int64_t>;

/// A window, and the extents of the tensors behind batch and channels.
struct Window : graph::Window {
  Extents in, out;

  [[nodiscard]] bool is_even() const { return before == after; }
};

Result<Window> window_of(const TorchWriter& writer, const Node& node, const Extents& kernel) {
  const Shape& in = writer.shape(node, 0);
  const Shape& out = writer.out_shape(node);
  if (in.size() < 3 || in.size() > 5) return refuse(node, fmt::format("an input of rank {}", in.size()));
  ASSAY_TRY(graph::Window read, lowering::window_of(node, in, kernel));
  return Window{{std::move(read)}, {in.begin() + 2, in.end()}, {out.begin() + 2, out.end()}};
}

// The window of a node that has the attribute kernel_shape.
Result<Window> stated_window(const TorchWriter& writer, const Node& node) {
  const auto kernel = node.integers("kernel_shape");
  if (!kernel) return refuse(node, "the missing kernel_shape");
  return window_of(writer, node, {kernel->begin(), kernel->end()});
}

// x with its last axes padded; libtorch begins with the last axis.
std::string padded(const std::string& x, const Extents& before, const Extents& behind, const char* fill) {
  Extents pads;
  for (std::size_t i = before.size(); i-- > 0;) {
    pads.push_back(before[i]);
    pads.push_back(behind[i]);
  }
  if (std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; })) return x;
  return torch_call("constant_pad_nd", x, torch_list(pads), fill);
}

// The window of a convolution whose weights are input `weights`.
Result<Window> kernel_of(const TorchWriter& writer, const Node& node, std::size_t weights) {
  const Shape& shape = writer.shape(node, weights);
  return window_of(writer, node, Extents(shape.begin() + std::min<std::ptrdiff_t>(2, std::ssize(shape)), shape.end()));
}

Status convolution(TorchWriter& writer, const Node& node) {
  const std::string bias = has_input(node, 2) ? writer.in(node, 2) : "None";
  ASSAY_TRY(const std::string made, torch_convolution(writer, node, writer.in(node, 0), 1, writer.in(node, 1), bias));
  writer.out(node, made);
  return {};
}

Status transposed_convolution(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(Window window, kernel_of(writer, node, 1));
  const Extents& more = window.output_padding;
  const std::string bias = has_input(node, 2) ? writer.in(node, 2) : "None";
  Extents longer(window.axes(), 0);
  bool even = true;
  for (std::size_t i = 0; i < window.axes(); ++i) {
    const std::int64_t whole = window.transposed_extent(i, window.in[i]);
    window.before[i] = graph::cut_before(node, window, i, window.in[i], window.out[i]);
    longer[i] = std::max<std::int64_t>(window.before[i] + window.out[i] - whole, 0);
    even = even && whole + more[i] - 2 * window.before[i] == window.out[i];
    if (longer[i] >= std::max(window.stride[i], window.dilation[i]) && longer[i] > 0)
      return refuse(node, "an output that is longer than the stride allows");
  }
  const std::string name = fmt::format("conv_transpose{}d", window.axes());
  const Extents zeros(window.axes(), 0);
  std::string made = torch_call(name, writer.in(node, 0), writer.in(node, 1), bias, torch_list(window.stride),
                                torch_list(even ? window.before : zeros), torch_list(even ? more : longer),
                                node.integer("group", 1), torch_list(window.dilation));
  for (std::size_t i = 0; !even && i < window.axes(); ++i)
    made = torch_call("narrow", made, i + 2, window.before[i], window.out[i]);
  writer.out(node, made);
  return {};
}

// Padding behind each axis with which the windows of the result end exactly there.
Extents exact_after(const Window& window) {
  Extents after;
  for (std::size_t i = 0; i < window.axes(); ++i) after.push_back(window.exact_after(i, window.in[i], window.out[i]));
  return after;
}

bool fits_pooling(const Window& window) {
  for (std::size_t i = 0; i < window.axes(); ++i)
    if (2 * window.before[i] > window.kernel[i] ||
        (window.in[i] + 2 * window.before[i] - window.reach(i)) / window.stride[i] + 1 != window.out[i])
      return false;
  return true;
}

Status max_pool(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(Window window, stated_window(writer, node));
  const bool places = node.outputs.size() > 1 && !node.outputs[1].empty();
  const DType dtype = writer.dtype(node, 0);
  std::string x =
      is_floating(dtype) ? writer.in(node, 0) : torch_call("to", writer.in(node, 0), *torch_type(DType::kFloat32));
  if (!window.is_even() || !fits_pooling(window)) {
    if (places) return refuse(node, "the places of an unevenly padded input");
    x = padded(x, window.before, exact_after(window), "-inf");
    window.before.assign(window.axes(), 0);
  }
  const auto pool = [&](const char* suffix) {
    return torch_call(fmt::format("max_pool{}d{}", window.axes(), suffix), x, torch_list(window.kernel),
                      torch_list(window.stride), torch_list(window.before), torch_list(window.dilation));
  };
  if (!places) {
    std::string made = pool("");
    if (!is_floating(dtype)) {
      ASSAY_TRY(made, torch_cast(node, made, dtype));
    }
    writer.out(node, made);
    return {};
  }
  if (!is_floating(dtype)) return refuse(node, "the places of integers");
  const std::string both = writer.let(pool("_with_indices"));
  writer.out(node, 0, both + "[0]");
  // libtorch counts within a channel, ONNX within the tensor; with storage_order 1, columns first.
  std::string place = both + "[1]";
  const std::int64_t size = count_of(window.in);
  if (node.integer("storage_order", 0) != 0) {
    if (window.axes() != 2) return refuse(node, "the order of places");
    place = writer.let(place);
    place = torch_call("add", torch_call("mul", torch_call("remainder", place, window.in[1]), window.in[0]),
                       torch_call("div", place, window.in[1], "rounding_mode=\"floor\""));
  }
  const Shape& shape = writer.shape(node, 0);
  Extents starts(static_cast<std::size_t>(shape[0] * shape[1]));
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(i) * size;
  Shape channels(shape.size(), 1);
  channels[0] = shape[0];
  channels[1] = shape[1];
  writer.out(node, 1, torch_call("add", place, torch_call("reshape", writer.integers(starts), torch_list(channels))));
  return {};
}

// The sum over each window of a padded input, as a sum of shifted inputs.
Result<std::string> windowed_sum(TorchWriter& writer, const Node& node, std::string x, const Window& window) {
  constexpr std::int64_t kMostTerms = 1024;
  for (std::size_t axis = 0; axis < window.axes(); ++axis) {
    if (window.kernel[axis] > kMostTerms)
      return refuse(node, fmt::format("a window of {} (at most {})", window.kernel[axis], kMostTerms));
    std::string sum;
    for (std::int64_t k = 0; k < window.kernel[axis]; ++k) {
      const std::int64_t from = k * window.dilation[axis];
      const std::string shifted = torch_call(
          "slice", x, axis + 2, from, from + (window.out[axis] - 1) * window.stride[axis] + 1, window.stride[axis]);
      sum = sum.empty() ? shifted : torch_call("add", sum, shifted);
    }
    x = writer.let(sum);
  }
  return x;
}

// How many elements each window has, without or with the padding that the node itself has.
std::vector<float> counts_of(const Window& window, bool with_padding) {
  std::vector<float> counts{1.0F};
  for (std::size_t axis = 0; axis < window.axes(); ++axis) {
    std::vector<float> next;
    for (const float outer : counts)
      for (const std::int64_t inside : window.elements(axis, window.in[axis], window.out[axis], with_padding))
        next.push_back(outer * static_cast<float>(inside));
    counts = std::move(next);
  }
  return counts;
}

Status average_pool(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Window window, stated_window(writer, node));
  const bool with_padding = node.integer("count_include_pad", 0) != 0;
  const bool dense = std::ranges::all_of(window.dilation, [](std::int64_t dilation) { return dilation == 1; });
  if (dense && window.is_even() && fits_pooling(window)) {
    writer.out(node,
               torch_call(fmt::format("avg_pool{}d", window.axes()), writer.in(node, 0), torch_list(window.kernel),
                          torch_list(window.stride), torch_list(window.before), "False", torch_bool(with_padding)));
    return {};
  }
  const std::string x = writer.let(padded(writer.in(node, 0), window.before, exact_after(window), "0.0"));
  const std::vector<float> counts = counts_of(window, with_padding);
  Shape extents{1, 1};
  extents.insert(extents.end(), window.out.begin(), window.out.end());
  const std::string count = writer.floats(counts, extents);
  ASSAY_TRY(const std::string typed, torch_cast(node, count, writer.dtype(node, 0)));
  ASSAY_TRY(const std::string sum, windowed_sum(writer, node, x, window));
  writer.out(node, torch_call("div", sum, typed));
  return {};
}

Status lp_pool(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Window window, stated_window(writer, node));
  const std::int64_t p = node.integer("p", 2);
  const std::string x = writer.let(
      torch_call("pow", torch_call("abs", padded(writer.in(node, 0), window.before, exact_after(window), "0.0")), p));
  ASSAY_TRY(const std::string sum, windowed_sum(writer, node, x, window));
  writer.out(node, torch_call("pow", sum, torch_number(1.0 / static_cast<double>(p))));
  return {};
}

// The axes behind batch and channels.
std::string spatial_axes(const TorchWriter& writer, const Node& node) {
  Extents axes(static_cast<std::size_t>(std::max<std::int64_t>(writer.rank(node, 0) - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  return torch_list(axes);
}

Status global_average_pool(TorchWriter& writer, const Node& node) {
  writer.out(node, writer.rank(node, 0) == 4
                       ? torch_call("adaptive_avg_pool2d", writer.in(node, 0), "[1, 1]")
                       : torch_call("mean", writer.in(node, 0), spatial_axes(writer, node), "True"));
  return {};
}

Status global_max_pool(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("amax", writer.in(node, 0), spatial_axes(writer, node), "True"));
  return {};
}

Status global_lp_pool(TorchWriter& writer, const Node& node) {
  writer.out(node, torch_call("linalg_vector_norm", writer.in(node, 0), node.integer("p", 2),
                              spatial_axes(writer, node), "True"));
  return {};
}

}  // namespace
}  // namespace torchscript::convolutions

Result<std::string> torch_convolution(const TorchWriter& writer, const graph::Node& node, const std::string& x,
                                      std::size_t weights, const std::string& kernel, const std::string& bias) {
  using namespace torchscript::convolutions;
  ASSAY_TRY(Window window, kernel_of(writer, node, weights));
  std::string image = x;
  if (!window.is_even()) {
    image = padded(x, window.before, window.after, "0.0");
    window.before.assign(window.axes(), 0);
  }
  return torch_call(fmt::format("conv{}d", window.axes()), image, kernel, bias, torch_list(window.stride),
                    torch_list(window.before), torch_list(window.dilation), node.integer("group", 1));
}

TorchOperators torch_convolutions() {
  using namespace torchscript::convolutions;
  return {since(1, "AveragePool", average_pool, "more than three spatial axes"),
          since(1, "Conv", convolution, "more than three spatial axes"),
          since(1, "ConvTranspose", transposed_convolution, "more than three spatial axes"),
          since(1, "GlobalAveragePool", global_average_pool),
          since(2, "GlobalLpPool", global_lp_pool),
          since(1, "GlobalMaxPool", global_max_pool),
          since(2, "LpPool", lp_pool, "more than three spatial axes"),
          since(1, "MaxPool", max_pool, "more than three spatial axes, places of an unevenly padded input")};
}

}  // namespace assay::lowering
