// SPDX-License-Identifier: Apache-2.0
// Windows, reading and writing at positions, loops: operations with regions or numbered axes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/lower/stablehlo/text.hpp"
#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

Hlo HloWriter::reduce_window(std::string_view operation, const Hlo& x, const Hlo& start, const HloWindow& window) {
  Shape shape;
  if (window.size.size() != x.shape.size() || start.dtype != x.dtype || !start.shape.empty())
    return misfit(x, fmt::format("a window of rank {} over {}", window.size.size(), type_text(x)));
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const std::int64_t reach = (window.size[i] - 1) * window.dilation[i] + 1;
    shape.push_back((x.shape[i] + window.before[i] + window.after[i] - reach) / window.stride[i] + 1);
  }
  const Hlo scalar = type(x.dtype);
  const std::pair<std::vector<Hlo>, Region> region{
      {scalar, scalar}, [operation](HloWriter& writer, std::span<const Hlo> pair) -> std::vector<Hlo> {
        return {writer.binary(operation, pair[0], pair[1])};
      }};
  const Hlo operands[] = {x, start}, results[] = {type(x.dtype, shape)};
  return this->operation("stablehlo.reduce_window", operands, window_text(window), results, {&region, 1})[0];
}

Hlo HloWriter::gather(const Hlo& x, const Hlo& indices, const GatherAxes& axes, const Axes& sizes, const Shape& shape) {
  std::string numbers;
  const auto add_axes = [&](const char* name, const Axes& list) {
    if (!list.empty()) numbers += fmt::format("{} = {}, ", name, list_text(list));
  };
  add_axes("offset_dims", axes.offset);
  add_axes("collapsed_slice_dims", axes.collapsed);
  add_axes("operand_batching_dims", axes.batch);
  add_axes("start_indices_batching_dims", axes.index_batch);
  add_axes("start_index_map", axes.index_map);
  const std::string attributes = fmt::format(
      "dimension_numbers = #stablehlo.gather<{}index_vector_dim = {}>, slice_sizes = {}, "
      "indices_are_sorted = false",
      numbers, axes.vector_axis, array_text(sizes));
  const Hlo operands[] = {x, indices}, results[] = {type(x.dtype, shape)};
  return operation("stablehlo.gather", operands, attributes, results)[0];
}

Hlo HloWriter::scatter_nd(const Hlo& x, const Hlo& indices, const Hlo& updates, std::string_view combine) {
  if (indices.shape.empty() || indices.shape.back() > x.rank() || updates.dtype != x.dtype)
    return misfit(x, fmt::format("updates {} of {} at {}", type_text(updates), type_text(x), type_text(indices)));
  const std::int64_t depth = indices.shape.back(), outer = indices.rank() - 1;
  Axes window, inserted;
  for (std::int64_t axis = outer; axis < updates.rank(); ++axis) window.push_back(axis);
  for (std::int64_t axis = 0; axis < depth; ++axis) inserted.push_back(axis);
  std::string numbers;
  if (!window.empty()) numbers += fmt::format("update_window_dims = {}, ", list_text(window));
  numbers += fmt::format("inserted_window_dims = {0}, scatter_dims_to_operand_dims = {0}, ", list_text(inserted));
  const std::string attributes = fmt::format(
      "scatter_dimension_numbers = #stablehlo.scatter<{}index_vector_dim = {}>, "
      "indices_are_sorted = false, unique_indices = false",
      numbers, outer);
  const Hlo scalar = type(x.dtype);
  const std::pair<std::vector<Hlo>, Region> region{
      {scalar, scalar}, [combine](HloWriter& writer, std::span<const Hlo> pair) -> std::vector<Hlo> {
        return {combine.empty() ? pair[1] : writer.binary(combine, pair[0], pair[1])};
      }};
  const Hlo operands[] = {x, indices, updates}, results[] = {type(x.dtype, x.shape)};
  return operation("stablehlo.scatter", operands, attributes, results, {&region, 1})[0];
}

Hlo HloWriter::scatter_slices(const Hlo& x, const Hlo& places, const Hlo& updates, std::int64_t axis) {
  if (places.extent(0) == 1) {  // in place, without a loop
    std::vector<Hlo> starts(x.shape.size(), splat(0, places.dtype));
    starts[static_cast<std::size_t>(axis)] = reshape(places, {});
    return dynamic_update_slice(x, updates, starts);
  }
  Axes window;
  for (std::int64_t i = 0; i < x.rank(); ++i)
    if (i != axis) window.push_back(i);
  const std::string attributes = fmt::format(
      "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, inserted_window_dims = [{}], "
      "scatter_dims_to_operand_dims = [{}], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false",
      list_text(window), axis, axis);
  const Hlo scalar = type(x.dtype);
  const std::pair<std::vector<Hlo>, Region> region{
      {scalar, scalar}, [](HloWriter&, std::span<const Hlo> pair) -> std::vector<Hlo> { return {pair[1]}; }};
  const Hlo operands[] = {x, reshape(places, {places.extent(0), 1}), updates}, results[] = {type(x.dtype, x.shape)};
  return operation("stablehlo.scatter", operands, attributes, results, {&region, 1})[0];
}

Hlo HloWriter::dynamic_slice(const Hlo& x, std::span<const Hlo> starts, const Shape& sizes) {
  std::string ids, types;
  for (const Hlo& start : starts) {
    ids += ", " + start.id;
    types += ", " + type_text(start);
  }
  return line(fmt::format("stablehlo.dynamic_slice {}{}, sizes = {} : ({}{}) -> {}", x.id, ids, list_text(sizes),
                          type_text(x), types, type_text(type(x.dtype, sizes))),
              x.dtype, sizes);
}

Hlo HloWriter::dynamic_update_slice(const Hlo& x, const Hlo& update, std::span<const Hlo> starts) {
  std::string ids, types;
  for (const Hlo& start : starts) {
    ids += ", " + start.id;
    types += ", " + type_text(start);
  }
  return line(fmt::format("stablehlo.dynamic_update_slice {}, {}{} : ({}, {}{}) -> {}", x.id, update.id, ids,
                          type_text(x), type_text(update), types, type_text(x)),
              x.dtype, x.shape);
}

std::vector<Hlo> HloWriter::repeat(std::int64_t count, std::span<const Hlo> state, const Step& step) {
  const Hlo counter = type(DType::kInt32);
  std::vector<Hlo> given{splat(0, DType::kInt32)}, types{counter};
  for (const Hlo& one : state) {
    given.push_back(one);
    types.push_back(type(one.dtype, one.shape));
  }
  const std::pair<std::vector<Hlo>, Region> regions[] = {
      {types,
       [count](HloWriter& writer, std::span<const Hlo> now) -> std::vector<Hlo> {
         return {writer.compare("LT", now[0], writer.splat(static_cast<double>(count), DType::kInt32))};
       }},
      {types, [&step](HloWriter& writer, std::span<const Hlo> now) {
         std::vector<Hlo> next{writer.add(now[0], writer.splat(1, DType::kInt32))};
         for (Hlo& one : step(writer, now[0], now.subspan(1))) next.push_back(std::move(one));
         return next;
       }}};
  std::vector<Hlo> last = operation("stablehlo.while", given, "", types, regions);
  last.erase(last.begin());
  return last;
}

// ---- any operation

std::vector<Hlo> HloWriter::operation(std::string_view name, std::span<const Hlo> operands, std::string_view attributes,
                                      std::span<const Hlo> results,
                                      std::span<const std::pair<std::vector<Hlo>, Region>> regions) {
  std::vector<std::string> bodies;
  for (const auto& [arguments, write] : regions) {
    // Constants in a region are its own.
    const std::string outside = std::exchange(body_, "");
    const auto constants = std::exchange(constants_, {});
    std::vector<Hlo> given = arguments;
    std::string heads;
    for (Hlo& one : given) {
      one.id = fresh();
      heads += fmt::format("{}{}: {}", heads.empty() ? "" : ", ", one.id, type_text(one));
    }
    const std::vector<Hlo> returned = write(*this, given);
    std::string ids, types;
    for (const Hlo& one : returned) {
      ids += (ids.empty() ? "" : ", ") + one.id;
      types += (types.empty() ? "" : ", ") + type_text(one);
    }
    bodies.push_back(
        fmt::format("{{\n    ^bb0({}):\n{}    stablehlo.return {} : {}\n    }}", heads, body_, ids, types));
    body_ = outside;
    constants_ = constants;
  }
  std::string ids, types, made;
  for (const Hlo& one : operands) {
    ids += (ids.empty() ? "" : ", ") + one.id;
    types += (types.empty() ? "" : ", ") + type_text(one);
  }
  std::vector<Hlo> values(results.begin(), results.end());
  const std::string id = fresh();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].id = values.size() == 1 ? id : fmt::format("{}#{}", id, i);
    made += (made.empty() ? "" : ", ") + type_text(values[i]);
  }
  body_ +=
      fmt::format("    {}{} = \"{}\"({})", id, values.size() == 1 ? "" : fmt::format(":{}", values.size()), name, ids);
  if (!attributes.empty()) body_ += fmt::format(" <{{{}}}>", attributes);
  if (!bodies.empty()) body_ += fmt::format(" ({})", fmt::join(bodies, ", "));
  body_ += fmt::format(" : ({}) -> ({})\n", types, made);
  return values;
}

}  // namespace assay::lowering::stablehlo
