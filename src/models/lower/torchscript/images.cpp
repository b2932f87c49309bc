// SPDX-License-Identifier: Apache-2.0
// Operators on images: sampling, regions, cropping, the inverses of pooling and of im2col.
#include <algorithm>

#include <fmt/format.h>

#include "models/graph/shape_rules.hpp"
#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::images {
namespace {

using graph::Node;
using Extents = std::vector<std::int64_t>;

Status grid_sample(TorchWriter& writer, const Node& node) {
  const std::string_view mode = node.text("mode", writer.opset(node) < 20 ? "bilinear" : "linear");
  const std::string_view padding = node.text("padding_mode", "zeros");
  const int how = mode.ends_with("linear") ? 0 : mode == "nearest" ? 1 : mode.ends_with("cubic") ? 2 : -1;
  const int beyond = padding == "zeros" ? 0 : padding == "border" ? 1 : padding == "reflection" ? 2 : -1;
  const std::int64_t rank = writer.rank(node, 0);
  if (how < 0 || beyond < 0) return refuse(node, fmt::format("the mode {} with {}", mode, padding));
  if (rank < 4 || rank > 5 || (rank == 5 && how == 2))
    return refuse(node, fmt::format("the mode {} of rank {}", mode, rank));
  ASSAY_TRY(const std::string grid, torch_cast(node, writer.in(node, 1), writer.dtype(node, 0)));
  writer.out(node, torch_call("grid_sampler", writer.in(node, 0), grid, how, beyond,
                              torch_bool(node.integer("align_corners", 0) != 0)));
  return {};
}

Status affine_grid(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Extents size, writer.program().integers(node, node.inputs[1]));
  writer.out(node, torch_call("affine_grid_generator", writer.in(node, 0), torch_list(size),
                              torch_bool(node.integer("align_corners", 0) != 0)));
  return {};
}

Status center_crop_or_pad(TorchWriter& writer, const Node& node) {
  const Shape& in = writer.shape(node, 0);
  const Shape& out = writer.out_shape(node);
  std::string x = writer.in(node, 0);
  Extents pads(2 * in.size(), 0);  // libtorch begins with the last axis
  for (std::size_t axis = 0; axis < in.size(); ++axis) {
    if (out[axis] < in[axis]) x = torch_call("narrow", x, axis, (in[axis] - out[axis]) / 2, out[axis]);
    const std::int64_t more = std::max<std::int64_t>(out[axis] - in[axis], 0);
    pads[2 * (in.size() - 1 - axis)] = more / 2;
    pads[2 * (in.size() - 1 - axis) + 1] = more - more / 2;
  }
  writer.out(node, torch_call("constant_pad_nd", x, torch_list(pads), "0"));
  return {};
}

// Each element goes to the place that its pooling took it from.
Status max_unpool(TorchWriter& writer, const Node& node) {
  const Shape& in = writer.shape(node, 0);
  const Shape& out = writer.out_shape(node);
  const std::size_t axes = in.size() - 2;
  const auto kernel = node.integers("kernel_shape");
  if (!kernel) return refuse(node, "the missing kernel_shape");
  ASSAY_TRY(const graph::Window window, window_of(node, in, {kernel->begin(), kernel->end()}));
  Extents natural{in[0], in[1]};
  for (std::size_t i = 0; i < axes; ++i)
    natural.push_back(window.transposed_extent(i, in[i + 2]) - window.before[i] - window.after[i]);
  const std::string zeros = torch_call("zeros", torch_list(Extents{count_of(natural)}),
                                       fmt::format("dtype={}", *torch_type(writer.out_dtype(node))));
  const auto flat = [&](std::size_t i) { return torch_call("reshape", writer.in(node, i), "[-1]"); };
  const std::string made =
      torch_call("reshape", torch_call("scatter", zeros, 0, flat(1), flat(0)), torch_list(natural));
  Extents behind;
  for (std::size_t axis = out.size(); axis-- > 0;) {
    behind.push_back(0);
    behind.push_back(out[axis] - natural[axis]);
  }
  writer.out(node, natural == out ? made : torch_call("constant_pad_nd", made, torch_list(behind), "0"));
  return {};
}

// The place of the image that each element of a column is added to; one beyond the last: none.
Extents places_of_columns(const graph::Window& window, const Extents& image) {
  const Extents& block = window.kernel;
  const std::size_t axes = image.size();
  Extents steps;
  for (std::size_t i = 0; i < axes; ++i) steps.push_back(window.count(i, image[i]));
  const std::int64_t all = count_of(image), columns = count_of(steps);
  Extents places;
  for (std::int64_t at = 0; at < count_of(block) * columns; ++at) {
    std::int64_t in_block = at / columns, step = at % columns, place = 0, size = 1;
    bool inside = true;
    for (std::size_t i = axes; i-- > 0;) {
      const std::int64_t on_axis =
          step % steps[i] * window.stride[i] - window.before[i] + in_block % block[i] * window.dilation[i];
      inside = inside && on_axis >= 0 && on_axis < image[i];
      place += on_axis * size;
      size *= image[i];
      step /= steps[i];
      in_block /= block[i];
    }
    places.push_back(inside ? place : all);
  }
  return places;
}

Status image_of_columns(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const Extents image, writer.program().integers(node, node.inputs[1]));
  ASSAY_TRY(const Extents block, writer.program().integers(node, node.inputs[2]));
  const Shape& out = writer.out_shape(node);
  ASSAY_TRY(const graph::Window window, window_of(node, out, block));
  const Extents places = places_of_columns(window, image);
  if (const Shape& in = writer.shape(node, 0); in[1] * in[2] != out[1] * static_cast<std::int64_t>(places.size()))
    return refuse(node, fmt::format("a number of columns other than {}", places.size()));
  const std::int64_t planes = out[0] * out[1];
  const std::string zeros = torch_call("zeros", torch_list(Extents{planes, count_of(image) + 1}),
                                       fmt::format("dtype={}", *torch_type(writer.out_dtype(node))));
  const std::string columns =
      torch_call("reshape", writer.in(node, 0), torch_list(Extents{planes, static_cast<std::int64_t>(places.size())}));
  const std::string sums = torch_call("index_add", zeros, 1, writer.integers(places), columns);
  writer.out(node, torch_call("reshape", torch_call("narrow", sums, 1, 0, count_of(image)), torch_list(out)));
  return {};
}

// Where a region's samples lie on one axis: places below and above with their shares, [regions, samples].
struct Samples {
  std::string low, high, low_share, high_share, inside;
};

Samples samples_of(TorchWriter& writer, const std::string& begin, const std::string& length, std::int64_t bins,
                   std::int64_t per_bin, std::int64_t extent) {
  const std::int64_t count = bins * per_bin;
  const std::string middle =
      torch_call("div", torch_call("add", torch_call("arange", 0, count, 1, "dtype=6"), "0.5"), count);
  const std::string at = writer.let(torch_call("add", begin, torch_call("mul", length, middle)));
  Samples samples;
  samples.inside = writer.let(torch_call("logical_and", torch_call("ge", at, "-1.0"),
                                         torch_call("le", at, torch_number(static_cast<double>(extent)))));
  const std::string within = writer.let(torch_call("clamp", at, "0.0", torch_number(static_cast<double>(extent - 1))));
  const std::string low = writer.let(torch_call("floor", within));
  samples.high_share = writer.let(torch_call("sub", within, low));
  samples.low_share = writer.let(torch_call("rsub", samples.high_share, 1));
  samples.low = writer.let(torch_call("to", low, 4));
  samples.high = writer.let(torch_call("clamp", torch_call("add", samples.low, 1), "None", extent - 1));
  return samples;
}

Status region_align(TorchWriter& writer, const Node& node) {
  const Shape& in = writer.shape(node, 0);
  const Shape& out = writer.out_shape(node);
  const std::int64_t per_bin = node.integer("sampling_ratio", 0);
  if (per_bin <= 0) return refuse(node, "a number of samples that depends on the regions");
  if (writer.dtype(node, 0) != DType::kFloat32) return refuse(node, "a type other than float32");
  const bool half = node.text("coordinate_transformation_mode",
                              writer.opset(node) < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  const std::string corners = writer.let(
      torch_call("sub", torch_call("mul", writer.in(node, 1), torch_number(double{node.number("spatial_scale", 1.0F)})),
                 half ? "0.5" : "0.0"));
  const auto corner = [&](int i) { return torch_call("narrow", corners, 1, i, 1); };
  const auto samples = [&](int first, std::int64_t bins, std::int64_t extent) {
    const std::string length = torch_call("sub", corner(first + 2), corner(first));
    return samples_of(writer, corner(first), half ? length : torch_call("clamp", length, "1.0"), bins, per_bin, extent);
  };
  const Samples x = samples(0, out[3], in[3]), y = samples(1, out[2], in[2]);
  const std::int64_t rows = out[2] * per_bin, columns = out[3] * per_bin;
  const std::string pixels = writer.let(torch_call("reshape", torch_call("permute", writer.in(node, 0), "[0, 2, 3, 1]"),
                                                   torch_list(Extents{in[0] * in[2] * in[3], in[1]})));
  const std::string image = writer.let(
      torch_call("mul", torch_call("reshape", torch_call("to", writer.in(node, 2), 4), "[-1, 1, 1]"), in[2] * in[3]));
  const std::string inside =
      writer.let(torch_call("logical_and", torch_call("unsqueeze", y.inside, 2), torch_call("unsqueeze", x.inside, 1)));
  std::vector<std::string> parts;
  for (const auto& [row, row_share] : {std::pair(y.low, y.low_share), std::pair(y.high, y.high_share)})
    for (const auto& [column, column_share] : {std::pair(x.low, x.low_share), std::pair(x.high, x.high_share)}) {
      const std::string place =
          torch_call("add", torch_call("add", image, torch_call("mul", torch_call("unsqueeze", row, 2), in[3])),
                     torch_call("unsqueeze", column, 1));
      const std::string share = torch_call(
          "where", inside,
          torch_call("mul", torch_call("unsqueeze", row_share, 2), torch_call("unsqueeze", column_share, 1)), "0.0");
      parts.push_back(
          writer.let(torch_call("mul", torch_call("embedding", pixels, place), torch_call("unsqueeze", share, 3))));
    }
  const bool most = node.text("mode", "avg") == "max";
  const std::string stacked = torch_call("stack", torch_list(parts), 0);
  const std::string samples_of_all =
      torch_call("reshape", most ? torch_call("amax", stacked, "[0]") : torch_call("sum", stacked, "[0]"),
                 torch_list(Extents{out[0], out[2], rows / out[2], out[3], columns / out[3], in[1]}));
  const std::string bins = torch_call(most ? "amax" : "mean", samples_of_all, "[2, 4]");
  writer.out(node, torch_call("permute", bins, "[0, 3, 1, 2]"));
  return {};
}

// The image is sampled at the moved places of the kernel, as channels by kernel place, and multiplied with the weights.
Status deformed_convolution(TorchWriter& writer, const Node& node) {
  const Shape& in = writer.shape(node, 0);
  const Shape& weights = writer.shape(node, 1);
  const Shape& out = writer.out_shape(node);
  if (in.size() != 4) return refuse(node, fmt::format("an input of rank {}", in.size()));
  if (writer.dtype(node, 0) != DType::kFloat32) return refuse(node, "a type other than float32");
  if (in[2] < 2 || in[3] < 2) return refuse(node, "an image of one row or column");
  ASSAY_TRY(const graph::Window window, window_of(node, in, {weights[2], weights[3]}));
  const std::int64_t groups = node.integer("group", 1), moved = node.integer("offset_group", 1);
  const std::int64_t batch = in[0], places = weights[2] * weights[3], per_group = in[1] / moved;
  // Offsets: [batch · offset groups, kernel places, 2, rows, columns].
  const std::string offsets = writer.let(
      torch_call("reshape", writer.in(node, 2), torch_list(Extents{batch * moved, places, 2, out[2], out[3]})));
  const auto coordinate = [&](std::size_t axis) {
    std::vector<float> base;  // [kernel places, rows, columns]
    for (std::int64_t place = 0; place < places; ++place)
      for (std::int64_t row = 0; row < out[2]; ++row)
        for (std::int64_t column = 0; column < out[3]; ++column) {
          const std::int64_t in_kernel = axis == 0 ? place / weights[3] : place % weights[3];
          const std::int64_t step = axis == 0 ? row : column;
          base.push_back(
              static_cast<float>(step * window.stride[axis] - window.before[axis] + in_kernel * window.dilation[axis]));
        }
    const std::string at =
        torch_call("add", torch_call("select", offsets, 2, axis), writer.floats(base, {places, out[2], out[3]}));
    const auto last = static_cast<double>(in[axis + 2] - 1);  // grid_sampler counts from -1 to 1
    return torch_call("sub", torch_call("mul", at, torch_number(2.0 / last)), "1.0");
  };
  const std::string grid = torch_call("stack", torch_list(std::vector{coordinate(1), coordinate(0)}), -1);
  const std::string flat_grid =
      torch_call("reshape", grid, torch_list(Extents{batch * moved, places * out[2], out[3], 2}));
  const std::string image =
      torch_call("reshape", writer.in(node, 0), torch_list(Extents{batch * moved, per_group, in[2], in[3]}));
  std::string samples = torch_call("reshape", torch_call("grid_sampler", image, flat_grid, 0, 0, "True"),
                                   torch_list(Extents{batch * moved, per_group, places, out[2] * out[3]}));
  if (has_input(node, 4))
    samples = torch_call(
        "mul", samples,
        torch_call("reshape", writer.in(node, 4), torch_list(Extents{batch * moved, 1, places, out[2] * out[3]})));
  const std::string columns =
      torch_call("reshape", samples, torch_list(Extents{batch, groups, in[1] / groups * places, out[2] * out[3]}));
  const std::string kernel = torch_call("reshape", writer.in(node, 1),
                                        torch_list(Extents{1, groups, weights[0] / groups, weights[1] * places}));
  std::string made = torch_call("reshape", torch_call("matmul", kernel, columns), torch_list(out));
  if (has_input(node, 3)) made = torch_call("add", made, torch_call("reshape", writer.in(node, 3), "[1, -1, 1, 1]"));
  writer.out(node, made);
  return {};
}

}  // namespace
}  // namespace torchscript::images

TorchOperators torch_images() {
  using namespace torchscript::images;
  return {
      since(20, "AffineGrid", affine_grid, "a size that is not a constant"),
      since(18, "CenterCropPad", center_crop_or_pad, "a shape that is not a constant"),
      since(18, "Col2Im", image_of_columns, "shapes that are not constants"),
      since(19, "DeformConv", deformed_convolution, "more or fewer than two spatial axes, types other than float32"),
      since(16, "GridSample", grid_sample, "one spatial axis, more than three, cubic with three"),
      since(9, "MaxUnpool", max_unpool, "a shape that is not a constant"),
      since(10, "RoiAlign", region_align, "types other than float32, a sampling_ratio of 0")};
}

}  // namespace assay::lowering
