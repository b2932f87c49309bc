// SPDX-License-Identifier: Apache-2.0
// Members of the writer that need several operations.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {
Hlo HloWriter::spread(const Hlo& reduced, const Hlo& like, const Axes& axes) {
  return broadcast(keep_axes(reduced, like, axes), like.shape);
}

Hlo HloWriter::softmax(const Hlo& x, const Axes& axes) {
  const Hlo from = convert(x, wide(x.dtype));
  const Hlo raised = unary("stablehlo.exponential", subtract(from, spread(largest(from, axes), from, axes)));
  return convert(divide(raised, spread(sum(raised, axes), from, axes)), x.dtype);
}

Hlo HloWriter::log_softmax(const Hlo& x, const Axes& axes) {
  const Hlo from = convert(x, wide(x.dtype));
  const Hlo shifted = subtract(from, spread(largest(from, axes), from, axes));
  const Hlo total = sum(unary("stablehlo.exponential", shifted), axes);
  return convert(subtract(shifted, spread(unary("stablehlo.log", total), from, axes)), x.dtype);
}

Hlo HloWriter::matmul(const Hlo& a, const Hlo& b, DType result) {
  if (a.rank() < 2 || b.rank() < 2) return misfit(a, "a product of operands that are not matrices");
  const Shape batch_a(a.shape.begin(), a.shape.end() - 2), batch_b(b.shape.begin(), b.shape.end() - 2);
  const std::int64_t rows = a.extent(a.rank() - 2), inner = a.extent(a.rank() - 1), columns = b.extent(b.rank() - 1);
  const std::size_t rank = std::max(batch_a.size(), batch_b.size());
  Shape batch(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < batch_a.size() ? batch_a[batch_a.size() - 1 - i] : 1;
    const std::int64_t y = i < batch_b.size() ? batch_b[batch_b.size() - 1 - i] : 1;
    batch[rank - 1 - i] = x == 1 ? y : x;
  }
  Shape shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  // One matrix for all: its columns are multiplied by every row, without batch axes.
  if (std::ranges::all_of(batch_b, [](auto extent) { return extent == 1; }))
    return reshape(dot(a, reshape(b, {inner, columns}), {.contract_a = {a.rank() - 1}, .contract_b = {0}}, result),
                   shape);
  Axes axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  const auto whole = [&](const Hlo& x) {
    Shape full = batch;
    full.insert(full.end(), x.shape.end() - 2, x.shape.end());
    return broadcast(x, full);
  };
  const auto last = static_cast<std::int64_t>(rank);
  return dot(whole(a), whole(b), {.batch_a = axes, .batch_b = axes, .contract_a = {last + 1}, .contract_b = {last}},
             result);
}

Hlo HloWriter::take(const Hlo& x, const Hlo& indices, std::int64_t axis) {
  if (axis < 0 || axis >= x.rank()) return misfit(x, fmt::format("axis {} of rank {}", axis, x.rank()));
  GatherAxes axes;
  Axes sizes = x.shape;
  Shape shape;
  for (std::int64_t i = 0; i < axis; ++i) {
    axes.offset.push_back(i);
    shape.push_back(x.extent(i));
  }
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  for (std::int64_t i = axis + 1; i < x.rank(); ++i) {
    axes.offset.push_back(i - 1 + indices.rank());
    shape.push_back(x.extent(i));
  }
  sizes[static_cast<std::size_t>(axis)] = 1;
  axes.collapsed = axes.index_map = {axis};
  axes.vector_axis = indices.rank();
  return gather(x, indices, axes, sizes, shape);
}

Hlo HloWriter::gather_nd(const Hlo& x, const Hlo& indices) {
  if (indices.shape.empty() || indices.shape.back() > x.rank())
    return misfit(x, fmt::format("indices of rank {} into rank {}", indices.rank(), x.rank()));
  const std::int64_t depth = indices.shape.back(), outer = indices.rank() - 1;
  GatherAxes axes;
  Axes sizes = x.shape;
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  for (std::int64_t i = 0; i < depth; ++i) {
    axes.collapsed.push_back(i);
    sizes[static_cast<std::size_t>(i)] = 1;
  }
  axes.index_map = axes.collapsed;
  for (std::int64_t i = depth; i < x.rank(); ++i) {
    axes.offset.push_back(outer + i - depth);
    shape.push_back(x.extent(i));
  }
  axes.vector_axis = outer;
  return gather(x, indices, axes, sizes, shape);
}

}  // namespace assay::lowering::stablehlo
