// SPDX-License-Identifier: Apache-2.0
// Operators that read or write elements at given places.
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::indexing {
namespace {

using graph::Node;

constexpr int kLong = 4;  // int64

// Places that count from the end become those from the front. `extent`: of the axis.
std::string from_front(TorchWriter& writer, const Node& node, std::size_t i, std::int64_t extent) {
  const std::string_view name = node.inputs[i];
  std::string places = writer.in(node, i);
  if (writer.dtype(node, i) != DType::kInt64) places = torch_call("to", places, kLong);
  if (writer.program().constant(name) != nullptr) {
    if (const auto all = writer.program().integers(node, name);
        all && std::ranges::all_of(*all, [](std::int64_t place) { return place >= 0; }))
      return places;
  }
  places = writer.let(places);
  return writer.let(torch_call("where", torch_call("lt", places, 0), torch_call("add", places, extent), places));
}

Status gather(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)];
  const std::string data = writer.in(node, 0);
  if (writer.program().constant(node.inputs[1]) != nullptr) {
    ASSAY_TRY(std::vector<std::int64_t> places, writer.program().integers(node, node.inputs[1]));
    for (std::int64_t& place : places) place = TorchWriter::axis(place, extent);
    if (writer.rank(node, 1) == 0) {
      writer.out(node, torch_call("select", data, axis, places.front()));
      return {};
    }
    const bool in_a_row = std::ranges::adjacent_find(places, [](auto a, auto b) { return b != a + 1; }) == places.end();
    const std::string chosen = in_a_row && !places.empty()
                                   ? torch_call("narrow", data, axis, places.front(), places.size())
                                   : torch_call("index_select", data, axis, writer.integers(places));
    writer.out(node,
               writer.rank(node, 1) == 1 ? chosen : torch_call("reshape", chosen, torch_list(writer.out_shape(node))));
    return {};
  }
  const std::string places = from_front(writer, node, 1, extent);
  if (axis == 0 && writer.rank(node, 0) == 2 && is_floating(writer.dtype(node, 0))) {
    writer.out(node, torch_call("embedding", data, places));
    return {};
  }
  const std::string chosen = torch_call("index_select", data, axis, torch_call("reshape", places, "[-1]"));
  writer.out(node, torch_call("reshape", chosen, torch_list(writer.out_shape(node))));
  return {};
}

Status gather_elements(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)];
  const std::string places = from_front(writer, node, 1, extent);
  writer.out(node, torch_call("gather", writer.in(node, 0), axis, places));
  return {};
}

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(first),
                         shape.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{1}, std::multiplies<>());
}

// Tuples of places become places in the tensor whose axes `first` to `last` are one.
std::string joined_places(TorchWriter& writer, const Node& node, std::size_t input, std::size_t first,
                          std::size_t last) {
  const Shape& data = writer.shape(node, 0);
  const std::int64_t tuple_axis = writer.rank(node, input) - 1;
  std::string tuples = writer.in(node, input);
  if (writer.dtype(node, input) != DType::kInt64) tuples = torch_call("to", tuples, kLong);
  tuples = writer.let(tuples);
  std::string joined;
  for (std::size_t axis = first; axis < last; ++axis) {
    const std::string place = writer.let(torch_call("select", tuples, tuple_axis, axis - first));
    const std::string front =
        torch_call("where", torch_call("lt", place, 0), torch_call("add", place, data[axis]), place);
    const std::string scaled = torch_call("mul", front, product(data, axis + 1, last));
    joined = joined.empty() ? scaled : torch_call("add", joined, scaled);
  }
  return writer.let(joined);
}

Status gather_nd(TorchWriter& writer, const Node& node) {
  const auto batch = static_cast<std::size_t>(node.integer("batch_dims", 0));
  const Shape& data = writer.shape(node, 0);
  const Shape& indices = writer.shape(node, 1);
  const std::size_t last = batch + static_cast<std::size_t>(indices.back());
  if (last == batch) return refuse(node, "an index of no places");
  std::string places = joined_places(writer, node, 1, batch, last);
  const std::int64_t batches = product(data, 0, batch), joined = product(data, batch, last),
                     rest = product(data, last, data.size());
  const std::string rows = torch_call("reshape", writer.in(node, 0), torch_list(std::vector{batches * joined, rest}));
  if (batches > 1) {
    std::vector<std::int64_t> starts(static_cast<std::size_t>(batches));
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<std::int64_t>(i) * joined;
    places = torch_call("add", torch_call("reshape", places, torch_list(std::vector<std::int64_t>{batches, -1})),
                        torch_call("unsqueeze", writer.integers(starts), 1));
  }
  const std::string chosen = torch_call("index_select", rows, 0, torch_call("reshape", places, "[-1]"));
  writer.out(node, torch_call("reshape", chosen, torch_list(writer.out_shape(node))));
  return {};
}

// How values are written over others. nullopt: they replace them.
Result<std::optional<std::string>> reduction_of(const Node& node) {
  using Found = std::optional<std::string>;
  const std::string_view given = node.text("reduction", "none");
  if (given == "none") return Found();
  if (given == "add") return Found("sum");
  if (given == "mul") return Found("prod");
  if (given == "max") return Found("amax");
  if (given == "min") return Found("amin");
  return refuse(node, "the reduction");
}

Status scatter_elements(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::optional<std::string> reduction, reduction_of(node));
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", 0), writer.rank(node, 0)));
  const std::int64_t extent = writer.shape(node, 0)[static_cast<std::size_t>(axis)];
  const std::string places = from_front(writer, node, 1, extent);
  const std::string data = writer.in(node, 0), updates = writer.in(node, 2);
  writer.out(node, reduction
                       ? torch_call("scatter_reduce", data, axis, places, updates, fmt::format("\"{}\"", *reduction))
                       : torch_call("scatter", data, axis, places, updates));
  return {};
}

Status scatter_nd(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::optional<std::string> reduction, reduction_of(node));
  const Shape& data = writer.shape(node, 0);
  const auto last = static_cast<std::size_t>(writer.shape(node, 1).back());
  if (last == 0) return refuse(node, "an index of no places");
  const std::string places = torch_call("reshape", joined_places(writer, node, 1, 0, last), "[-1]");
  const std::int64_t joined = product(data, 0, last), rest = product(data, last, data.size());
  const std::string rows = torch_call("reshape", writer.in(node, 0), torch_list(std::vector{joined, rest}));
  const std::string updates =
      torch_call("reshape", writer.in(node, 2), torch_list(std::vector<std::int64_t>{-1, rest}));
  std::string made;
  if (!reduction)
    made = torch_call("index_copy", rows, 0, places, updates);
  else if (*reduction == "sum")
    made = torch_call("index_add", rows, 0, places, updates);
  else
    made = torch_call("index_reduce", rows, 0, places, updates, fmt::format("\"{}\"", *reduction));
  writer.out(node, torch_call("reshape", made, torch_list(data)));
  return {};
}

Status one_hot(TorchWriter& writer, const Node& node) {
  const std::int64_t rank = static_cast<std::int64_t>(writer.out_shape(node).size());
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), rank));
  const std::int64_t depth = writer.out_shape(node)[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> all(static_cast<std::size_t>(depth));
  std::iota(all.begin(), all.end(), 0);
  Shape along(static_cast<std::size_t>(rank), 1);
  along[static_cast<std::size_t>(axis)] = depth;
  const std::string places = writer.let(torch_call("unsqueeze", torch_call("to", writer.in(node, 0), kLong), axis));
  const std::string range = writer.let(torch_call("reshape", writer.integers(all), torch_list(along)));
  const std::string hot = torch_call("logical_or", torch_call("eq", places, range),
                                     torch_call("eq", torch_call("add", places, depth), range));
  const std::string values = writer.in(node, 2);
  writer.out(node, torch_call("where", hot, torch_call("select", values, 0, 1), torch_call("select", values, 0, 0)));
  return {};
}

// The first ones come first among equal elements.
Status top_k(TorchWriter& writer, const Node& node) {
  ASSAY_TRY(const std::int64_t axis, axis_of(node, node.integer("axis", -1), writer.rank(node, 0)));
  const std::int64_t count = writer.out_shape(node)[static_cast<std::size_t>(axis)];
  if (writer.dtype(node, 0) == DType::kUInt64) return refuse(node, "the type uint64");
  const std::string sorted = writer.let(torch_call(
      "sort", computable(writer.in(node, 0), writer.dtype(node, 0)), "stable=True", fmt::format("dim={}", axis),
      fmt::format("descending={}", torch_bool(node.integer("largest", 1) != 0))));
  ASSAY_CHECK_OK(out_as(writer, node, 0, torch_call("narrow", sorted + "[0]", axis, 0, count)));
  if (node.outputs.size() > 1) writer.out(node, 1, torch_call("narrow", sorted + "[1]", axis, 0, count));
  return {};
}

Status reverse_sequence(TorchWriter& writer, const Node& node) {
  const std::int64_t time = node.integer("time_axis", 0), batch = node.integer("batch_axis", 1);
  const Shape& shape = writer.shape(node, 0);
  std::vector<std::int64_t> steps(static_cast<std::size_t>(shape[static_cast<std::size_t>(time)]));
  std::iota(steps.begin(), steps.end(), 0);
  Shape along_time(shape.size(), 1), along_batch(shape.size(), 1);
  along_time[static_cast<std::size_t>(time)] = shape[static_cast<std::size_t>(time)];
  along_batch[static_cast<std::size_t>(batch)] = shape[static_cast<std::size_t>(batch)];
  const std::string place = writer.let(torch_call("reshape", writer.integers(steps), torch_list(along_time)));
  const std::string length =
      writer.let(torch_call("reshape", torch_call("to", writer.in(node, 1), kLong), torch_list(along_batch)));
  const std::string mirrored = torch_call("sub", torch_call("sub", length, 1), place);
  const std::string read = torch_call("where", torch_call("lt", place, length), mirrored, place);
  writer.out(node, torch_call("gather", writer.in(node, 0), time, torch_call("broadcast_to", read, torch_list(shape))));
  return {};
}

}  // namespace
}  // namespace torchscript::indexing

TorchOperators torch_indexing() {
  using namespace torchscript::indexing;
  return {since(1, "Gather", gather),
          since(11, "GatherElements", gather_elements),
          since(11, "GatherND", gather_nd),
          since(9, "OneHot", one_hot, "a depth that is not a constant"),
          since(10, "ReverseSequence", reverse_sequence),
          {{"", "Scatter", 9, 10, {}}, scatter_elements},
          since(11, "ScatterElements", scatter_elements),
          since(11, "ScatterND", scatter_nd),
          since(1, "TopK", top_k, "a count that is not a constant, uint64")};
}

}  // namespace assay::lowering
