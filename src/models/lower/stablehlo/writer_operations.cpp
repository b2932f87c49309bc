// SPDX-License-Identifier: Apache-2.0
// The operations, one member each, in StableHLO's own syntax where it has one.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/graph/shape_rules.hpp"
#include "models/lower/stablehlo/text.hpp"
#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {
namespace {

bool is_small_float(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

double element_count_of(const Hlo& x, const Axes& axes) {
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(x.extent(axis));
  return count;
}

constexpr std::string_view kHighest = "precision = [HIGHEST, HIGHEST]";

bool is_same_type(const Hlo& a, const Hlo& b) { return a.shape == b.shape && a.dtype == b.dtype; }

std::string both(std::string_view what, const Hlo& a, const Hlo& b) {
  return fmt::format("{} of {} and {}", what, type_text(a), type_text(b));
}

bool has_axes(const Hlo& x, const Axes& axes) {
  return std::ranges::all_of(axes, [&](std::int64_t axis) { return axis >= 0 && axis < x.rank(); });
}

bool has_same_extents(const Hlo& a, const Axes& of_a, const Hlo& b, const Axes& of_b) {
  return has_axes(a, of_a) && has_axes(b, of_b) &&
         std::ranges::equal(of_a, of_b, [&](auto i, auto j) { return a.extent(i) == b.extent(j); });
}

}  // namespace

Hlo HloWriter::misfit(const Hlo& instead, std::string what) {
  if (!misfit_) misfit_ = std::move(what);
  return instead;
}

Status HloWriter::fault(const graph::Node& node) const { return misfit_ ? Status(refuse(node, *misfit_)) : Status(); }

// ---- elementwise

Hlo HloWriter::unary(std::string_view operation, const Hlo& x) {
  const std::string type = type_text(x);
  return operation.starts_with("chlo.")
             ? line(fmt::format("{} {} : {} -> {}", operation, x.id, type, type), x.dtype, x.shape)
             : line(fmt::format("{} {} : {}", operation, x.id, type), x.dtype, x.shape);
}

Hlo HloWriter::binary(std::string_view operation, const Hlo& a, const Hlo& b) {
  if (!is_same_type(a, b)) return misfit(a, both(operation, a, b));
  return line(fmt::format("{} {}, {} : {}", operation, a.id, b.id, type_text(a)), a.dtype, a.shape);
}

Hlo HloWriter::compare(std::string_view direction, const Hlo& a, const Hlo& b) {
  if (!is_same_type(a, b)) return misfit(type(DType::kBool, a.shape), both("stablehlo.compare", a, b));
  return line(fmt::format("stablehlo.compare {}, {}, {} : ({}, {}) -> {}", direction, a.id, b.id, type_text(a),
                          type_text(b), type_text(type(DType::kBool, a.shape))),
              DType::kBool, a.shape);
}

Hlo HloWriter::select(const Hlo& condition, const Hlo& yes, const Hlo& no) {
  if (!is_same_type(yes, no)) return misfit(yes, both("stablehlo.select", yes, no));
  if (condition.dtype != DType::kBool || (!condition.shape.empty() && condition.shape != yes.shape))
    return misfit(yes, both("stablehlo.select", condition, yes));
  return line(fmt::format("stablehlo.select {}, {}, {} : {}, {}", condition.id, yes.id, no.id, type_text(condition),
                          type_text(yes)),
              yes.dtype, yes.shape);
}

Hlo HloWriter::convert(const Hlo& x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (!mlir_element(dtype)) return misfit(x, fmt::format("the type {}", to_string(dtype)));
  if (dtype == DType::kBool) return compare("NE", x, splat_like(0, x));
  return line(fmt::format("stablehlo.convert {} : ({}) -> {}", x.id, type_text(x), type_text(type(dtype, x.shape))),
              dtype, x.shape);
}

// ---- complex numbers

Hlo HloWriter::complex(const Hlo& real, const Hlo& imaginary) {
  if (!is_same_type(real, imaginary)) return misfit(real, both("stablehlo.complex", real, imaginary));
  const DType dtype = real.dtype == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
  return line(fmt::format("stablehlo.complex {}, {} : {}", real.id, imaginary.id, type_text(type(dtype, real.shape))),
              dtype, real.shape);
}

Hlo HloWriter::part_of(const Hlo& x, std::string_view part) {
  const DType dtype = x.dtype == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
  return line(fmt::format("stablehlo.{} {} : ({}) -> {}", part, x.id, type_text(x), type_text(type(dtype, x.shape))),
              dtype, x.shape);
}

Hlo HloWriter::fourier(const Hlo& x, std::string_view kind, std::int64_t length) {
  if (x.shape.empty() || length < 1) return misfit(x, fmt::format("a transform of {} to {}", type_text(x), length));
  Hlo y = x;
  if (kind == "IRFFT") {
    y.dtype = x.dtype == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
    y.shape.back() = length;
  }
  return line(fmt::format("stablehlo.fft {}, type = {}, length = [{}] : ({}) -> {}", x.id, kind, length, type_text(x),
                          type_text(y)),
              y.dtype, y.shape);
}

// ---- layout

Hlo HloWriter::broadcast_in_dim(const Hlo& x, const Shape& shape, const Axes& axes) {
  if (x.shape == shape && axes == all_axes(x)) return x;
  bool fits = axes.size() == x.shape.size();
  for (std::size_t i = 0; fits && i < axes.size(); ++i) {
    const std::int64_t axis = axes[i];
    fits = axis >= 0 && axis < std::ssize(shape) &&
           (x.shape[i] == 1 || x.shape[i] == shape[static_cast<std::size_t>(axis)]);
  }
  if (!fits)
    return misfit(type(x.dtype, shape), fmt::format("{} along the axes {} of {}", type_text(x), list_text(axes),
                                                    type_text(type(x.dtype, shape))));
  return line(fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", x.id, list_text(axes), type_text(x),
                          type_text(type(x.dtype, shape))),
              x.dtype, shape);
}

Hlo HloWriter::broadcast(const Hlo& x, const Shape& shape) {
  Axes axes = all_axes(x);
  const auto offset = static_cast<std::int64_t>(shape.size()) - x.rank();
  for (std::int64_t& axis : axes) axis += offset;
  return broadcast_in_dim(x, shape, axes);
}

Hlo HloWriter::reshape(const Hlo& x, const Shape& shape) {
  if (x.shape == shape) return x;
  if (count_of(x.shape) != count_of(shape))
    return misfit(type(x.dtype, shape), both("a reshape", x, type(x.dtype, shape)));
  return line(fmt::format("stablehlo.reshape {} : ({}) -> {}", x.id, type_text(x), type_text(type(x.dtype, shape))),
              x.dtype, shape);
}

Hlo HloWriter::transpose(const Hlo& x, const Axes& permutation) {
  if (permutation == all_axes(x)) return x;
  if (!std::ranges::is_permutation(permutation, all_axes(x)))
    return misfit(x, fmt::format("the permutation {} of {}", list_text(permutation), type_text(x)));
  Shape shape;
  for (const std::int64_t axis : permutation) shape.push_back(x.extent(axis));
  return line(fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", x.id, list_text(permutation), type_text(x),
                          type_text(type(x.dtype, shape))),
              x.dtype, shape);
}

Hlo HloWriter::slice(const Hlo& x, const Axes& begin, const Axes& end, const Axes& step) {
  Shape shape;
  std::string ranges;
  const std::size_t rank = x.shape.size();
  bool fits = begin.size() == rank && end.size() == rank && step.size() == rank;
  for (std::size_t i = 0; fits && i < rank; ++i)
    fits = begin[i] >= 0 && begin[i] <= end[i] && end[i] <= x.shape[i] && step[i] >= 1;
  if (!fits) return misfit(x, fmt::format("a slice {} to {} of {}", list_text(begin), list_text(end), type_text(x)));
  for (std::size_t i = 0; i < rank; ++i) {
    shape.push_back(end[i] == begin[i] ? 0 : (end[i] - begin[i] - 1) / step[i] + 1);
    ranges += fmt::format("{}{}:{}", i > 0 ? ", " : "", begin[i], end[i]);
    if (step[i] != 1) ranges += fmt::format(":{}", step[i]);
  }
  if (shape == x.shape) return x;
  return line(
      fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", x.id, ranges, type_text(x), type_text(type(x.dtype, shape))),
      x.dtype, shape);
}

Hlo HloWriter::slice_axis(const Hlo& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  if (!has_axes(x, {axis})) return misfit(x, fmt::format("axis {} of {}", axis, type_text(x)));
  Axes from(x.shape.size(), 0), to = x.shape;
  from[static_cast<std::size_t>(axis)] = begin;
  to[static_cast<std::size_t>(axis)] = end;
  return slice(x, from, to, Axes(x.shape.size(), 1));
}

Hlo HloWriter::concatenate(std::span<const Hlo> values, std::int64_t axis) {
  if (values.size() == 1) return values[0];
  if (values.empty()) return misfit({}, "a concatenation of nothing");
  Shape shape = values[0].shape;
  std::string ids, types;
  std::int64_t extent = 0;
  for (const Hlo& value : values) {
    Hlo like = value;
    if (has_axes(value, {axis}) && value.rank() == values[0].rank())
      like.shape[static_cast<std::size_t>(axis)] = values[0].extent(axis);
    if (!has_axes(value, {axis}) || !is_same_type(like, values[0]))
      return misfit(values[0], fmt::format("a concatenation of {} and {} along axis {}", type_text(values[0]),
                                           type_text(value), axis));
    extent += value.extent(axis);
    ids += (ids.empty() ? "" : ", ") + value.id;
    types += (types.empty() ? "" : ", ") + type_text(value);
  }
  shape[static_cast<std::size_t>(axis)] = extent;
  return line(fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", ids, axis, types,
                          type_text(type(values[0].dtype, shape))),
              values[0].dtype, shape);
}

Hlo HloWriter::pad(const Hlo& x, const Hlo& scalar, const Axes& before, const Axes& after, const Axes& between) {
  const Axes inner = between.empty() ? Axes(x.shape.size(), 0) : between;
  const std::size_t rank = x.shape.size();
  Shape shape = x.shape;
  bool fits = before.size() == rank && after.size() == rank && inner.size() == rank && scalar.shape.empty() &&
              scalar.dtype == x.dtype;
  for (std::size_t i = 0; fits && i < rank; ++i) {
    shape[i] += before[i] + after[i] + std::max<std::int64_t>(x.shape[i] - 1, 0) * inner[i];
    fits = shape[i] >= 0;
  }
  if (!fits)
    return misfit(x, fmt::format("padding {}, {} of {} with {}", list_text(before), list_text(after), type_text(x),
                                 type_text(scalar)));
  if (shape == x.shape && std::ranges::all_of(before, [](auto each) { return each == 0; })) return x;
  return line(fmt::format("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", x.id, scalar.id,
                          list_text(before), list_text(after), list_text(inner), type_text(x), type_text(scalar),
                          type_text(type(x.dtype, shape))),
              x.dtype, shape);
}

Hlo HloWriter::reverse(const Hlo& x, const Axes& axes) {
  if (axes.empty()) return x;
  if (!has_axes(x, axes)) return misfit(x, fmt::format("axes {} of {}", list_text(axes), type_text(x)));
  return line(fmt::format("stablehlo.reverse {}, dims = {} : {}", x.id, list_text(axes), type_text(x)), x.dtype,
              x.shape);
}

Hlo HloWriter::to_last(const Hlo& x) { return transpose(x, order_to_last(x.rank())); }
Hlo HloWriter::from_last(const Hlo& x) { return transpose(x, order_from_last(x.rank())); }

// ---- combining

Hlo HloWriter::reduce(std::string_view operation, const Hlo& x, const Hlo& start, const Axes& axes) {
  if (axes.empty()) return x;
  if (!has_axes(x, axes) || !start.shape.empty() || start.dtype != x.dtype)
    return misfit(x, fmt::format("a reduction of {} over {} from {}", type_text(x), list_text(axes), type_text(start)));
  Shape shape;
  for (std::int64_t axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) shape.push_back(x.extent(axis));
  return line(
      fmt::format("stablehlo.reduce({} init: {}) applies {} across dimensions = {} : ({}, {}) -> {}", x.id, start.id,
                  operation, list_text(axes), type_text(x), type_text(start), type_text(type(x.dtype, shape))),
      x.dtype, shape);
}

Hlo HloWriter::sum(const Hlo& x, const Axes& axes) {
  const Hlo from = is_small_float(x.dtype) ? convert(x, DType::kFloat32) : x;
  return convert(reduce("stablehlo.add", from, splat(0, from.dtype), axes), x.dtype);
}

Hlo HloWriter::mean(const Hlo& x, const Axes& axes) {
  const Hlo from = is_small_float(x.dtype) ? convert(x, DType::kFloat32) : x;
  const Hlo total = reduce("stablehlo.add", from, splat(0, from.dtype), axes);
  return convert(divide(total, splat_like(element_count_of(x, axes), total)), x.dtype);
}

Hlo HloWriter::largest(const Hlo& x, const Axes& axes) { return reduce("stablehlo.maximum", x, lowest(x.dtype), axes); }

Hlo HloWriter::keep_axes(const Hlo& reduced, const Hlo& of, const Axes& axes) {
  if (!has_axes(of, axes)) return misfit(of, fmt::format("axes {} of {}", list_text(axes), type_text(of)));
  Shape shape = of.shape;
  for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return reshape(reduced, shape);
}

Hlo HloWriter::dot(const Hlo& a, const Hlo& b, const DotAxes& axes, DType result) {
  Shape shape;
  if (a.dtype != b.dtype || !has_same_extents(a, axes.batch_a, b, axes.batch_b) ||
      !has_same_extents(a, axes.contract_a, b, axes.contract_b))
    misfit(a, both("a product", a, b));
  for (const std::int64_t axis : axes.batch_a) shape.push_back(a.extent(axis));
  const auto add_free = [&](const Hlo& x, const Axes& batch, const Axes& contracted) {
    for (std::int64_t axis = 0; axis < x.rank(); ++axis)
      if (std::ranges::find(batch, axis) == batch.end() && std::ranges::find(contracted, axis) == contracted.end())
        shape.push_back(x.extent(axis));
  };
  add_free(a, axes.batch_a, axes.contract_a);
  add_free(b, axes.batch_b, axes.contract_b);
  const std::string batch =
      axes.batch_a.empty() ? ""
                           : fmt::format("batching_dims = {} x {}, ", list_text(axes.batch_a), list_text(axes.batch_b));
  return line(fmt::format("stablehlo.dot_general {}, {}, {}contracting_dims = {} x {}, {} : ({}, {}) -> {}", a.id, b.id,
                          batch, list_text(axes.contract_a), list_text(axes.contract_b), kHighest, type_text(a),
                          type_text(b), type_text(type(result, shape))),
              result, shape);
}

Hlo HloWriter::convolution(const Hlo& x, const Hlo& kernel, const HloWindow& window, std::int64_t groups,
                           const Shape& shape, DType result) {
  const std::size_t axes = window.size.size();
  if (x.shape.size() != axes + 2 || kernel.shape.size() != axes + 2 || x.dtype != kernel.dtype || groups < 1 ||
      x.shape.back() != kernel.shape[axes] * groups)
    return misfit(type(result, shape), both("a convolution", x, kernel));
  std::string spatial;
  for (std::size_t i = 0; i < axes; ++i) spatial += fmt::format("{}, ", i);
  const Axes base = window.base_dilation.empty() ? Axes(window.size.size(), 1) : window.base_dilation;
  return line(
      fmt::format(
          "stablehlo.convolution({}, {}) dim_numbers = [b, {}f]x[{}i, o]->[b, {}f], window = {{stride = {}, pad = "
          "[{}], lhs_dilate = {}, rhs_dilate = {}}} {{batch_group_count = 1 : i64, feature_group_count = {} : i64, "
          "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}} : ({}, {}) -> {}",
          x.id, kernel.id, spatial, spatial, spatial, list_text(window.stride), pairs_text(window.before, window.after),
          list_text(base), list_text(window.dilation), groups, type_text(x), type_text(kernel),
          type_text(type(result, shape))),
      result, shape);
}

}  // namespace assay::lowering::stablehlo
