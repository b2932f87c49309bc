// SPDX-License-Identifier: Apache-2.0
// Operators on images: sampling, regions, cropping, the inverse of pooling and of im2col.
#include <fmt/format.h>

#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

// X [N, C, …], grid [N, out…, r].
Status sampled(Site& site) {
  const Shape& in = site.shape(0);
  const Shape& grid = site.shape(1);
  if (in.size() < 3 || grid.size() != in.size() || grid.back() != site.rank(0) - 2 || grid[0] != in[0])
    return site.contradiction(to_string(in) + " sampled at " + to_string(grid));
  Shape shape{in[0], in[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return site.give_checked(site.in(0).dtype, shape);
}

// size: [N, C, H, W] or [N, C, D, H, W].
Status affine_grid(Site& site) {
  ASSAY_TRY(const std::optional<Shape> size, extents_from(site, site.elements(1)));
  if (!size) return {};
  if (size->size() != 4 && size->size() != 5) return site.contradiction("a size of " + to_string(*size));
  Shape shape{(*size)[0]};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.push_back(static_cast<std::int64_t>(size->size()) - 2);
  return site.give_checked(site.in(0).dtype, shape);
}

Status regions(Site& site) {
  if (site.rank(0) != 4 || site.rank(1) != 2) return site.contradiction("operands of another rank");
  const std::int64_t height = site.integer("output_height", 1), width = site.integer("output_width", 1);
  if (height < 1 || width < 1) return site.contradiction(fmt::format("an output of {} x {}", height, width));
  return site.give_checked(site.in(0).dtype, {site.shape(1)[0], site.shape(0)[1], height, width});
}

// offset: [N, …, out…]
Status deformed_convolution(Site& site) {
  const Shape& offset = site.shape(2);
  if (site.rank(1) != site.rank(0) || site.rank(2) != site.rank(0) || site.rank(0) < 3)
    return site.contradiction("operands of different ranks");
  Shape shape{site.shape(0)[0], site.shape(1)[0]};
  shape.insert(shape.end(), offset.begin() + 2, offset.end());
  return site.give_checked(site.in(0).dtype, shape);
}

// input [N, C · block, …], image and block shapes as inputs.
Status image_of_columns(Site& site) {
  ASSAY_TRY(const std::optional<Shape> image, extents_from(site, site.elements(1)));
  ASSAY_TRY(const std::optional<Shape> block, extents_from(site, site.elements(2)));
  if (!image || !block) return {};
  const std::int64_t block_elements = count_of(*block);
  if (site.rank(0) != 3 || block_elements < 1 || site.shape(0)[1] % block_elements != 0)
    return site.contradiction(fmt::format("{} in blocks of {}", to_string(site.shape(0)), to_string(*block)));
  Shape shape{site.shape(0)[0], site.shape(0)[1] / block_elements};
  shape.insert(shape.end(), image->begin(), image->end());
  return site.give_checked(site.in(0).dtype, shape);
}

Status cropped(Site& site) {
  ASSAY_TRY(const std::optional<Shape> to, extents_from(site, site.elements(1)));
  if (!to) return {};
  Shape shape = site.shape(0);
  Elements all;
  for (std::int64_t i = 0; i < site.rank(0); ++i) all.push_back(i);
  const Elements axes = site.integers("axes").value_or(all);
  if (axes.size() != to->size()) return site.contradiction("axes and extents of different lengths");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ASSAY_TRY(const std::size_t axis, site.axis(axes[i], site.rank(0)));
    shape[axis] = (*to)[i];
  }
  return site.give_checked(site.in(0).dtype, shape);
}

Status unpooled(Site& site) {
  Shape shape = site.shape(0);
  if (site.shape(1) != shape) return site.contradiction("places of another shape");
  if (site.has(2)) {
    ASSAY_TRY(const std::optional<Shape> stated, extents_from(site, site.elements(2)));
    if (!stated) return {};
    if (stated->size() != shape.size()) return site.contradiction("an output shape of another rank");
    return site.give_checked(site.in(0).dtype, *stated);
  }
  const auto kernel = site.integers("kernel_shape");
  if (shape.size() < 3 || !kernel || kernel->size() + 2 != shape.size())
    return site.contradiction("a kernel of another rank");
  const std::size_t axes = kernel->size();
  const Elements strides = site.integers("strides").value_or(Elements(axes, 1));
  const Elements pads = site.integers("pads").value_or(Elements(2 * axes, 0));
  if (strides.size() != axes || pads.size() != 2 * axes) return site.contradiction("attributes of another rank");
  for (std::size_t i = 0; i < axes; ++i) {
    constexpr std::int64_t kMost = 1 << 24;
    if (strides[i] < 1 || strides[i] > kMost || shape[i + 2] > INT32_MAX || (*kernel)[i] < 1 || (*kernel)[i] > kMost ||
        pads[i] < 0 || pads[i] > kMost || pads[axes + i] < 0 || pads[axes + i] > kMost)
      return site.contradiction("attributes that are too large");
    shape[i + 2] = (shape[i + 2] - 1) * strides[i] + (*kernel)[i] - pads[i] - pads[axes + i];
    if (shape[i + 2] < 0) return site.contradiction("padding beyond the output");
  }
  return site.give_checked(site.in(0).dtype, shape);
}

}  // namespace

ShapeRule find_image_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"GridSample", sampled},      {"AffineGrid", affine_grid}, {"RoiAlign", regions},
      {"Col2Im", image_of_columns}, {"CenterCropPad", cropped},  {"DeformConv", deformed_convolution},
      {"MaxUnpool", unpooled},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
