// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "models/evaluate/kernel.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

Result<const graph::Graph*> graph_of(const Call& call, std::string_view attribute) {
  const auto* found = call.node().attribute(attribute);
  const auto* graph = found == nullptr ? nullptr : found->get<std::shared_ptr<const graph::Graph>>();
  if (graph == nullptr || *graph == nullptr) return call.invalid("it has no graph '" + std::string(attribute) + "'");
  return graph->get();
}

Outputs if_else(const Call& call) {
  ASSAY_TRY(const double condition, call.scalar(0));
  ASSAY_TRY(const graph::Graph* const branch, graph_of(call, condition != 0 ? "then_branch" : "else_branch"));
  return call.run_graph()(*branch, {});
}

// Values of equal shape, one behind the other along a new axis (at `axis` of the result).
Result<Value> stacked(const Call& call, const Values& all, std::int64_t axis) {
  const Value& first = all.front();
  Shape shape = first.shape();
  if (axis < 0) axis += first.rank() + 1;
  if (axis < 0 || axis > first.rank()) return call.invalid("an axis beyond its output");
  const Around parts = around(first.shape(), axis, axis);
  shape.insert(shape.begin() + axis, static_cast<std::int64_t>(all.size()));
  for (const Value& one : all)
    if (one.shape() != first.shape() || one.dtype() != first.dtype())
      return call.invalid("outputs of two iterations have different shapes");
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  return with_elements(first, [&](auto elements) -> Result<Value> {
    using T = std::remove_cvref_t<decltype(elements[0])>;
    std::vector<T> y;
    y.reserve(count);
    const auto inner = static_cast<std::size_t>(parts.inner);
    for (std::size_t o = 0; o < static_cast<std::size_t>(parts.outer); ++o)
      for (const Value& one : all)
        with_elements(one, [&](auto from) {
          for (std::size_t i = 0; i < inner; ++i) y.push_back(static_cast<T>(from[o * inner + i]));
        });
    return Value(first.dtype(), std::move(shape), std::move(y));
  });
}

// What a body without iterations leaves of a scanned output: no elements of the type that it declares.
Result<Value> nothing_of(const Call& call, const graph::ValueInfo& output) {
  Shape shape{0};
  if (output.shape)
    for (const graph::Dimension& extent : *output.shape) shape.push_back(extent.extent.value_or(0));
  ASSAY_CHECK_OK(call.elements_of(shape));
  if (is_real_type(output.dtype)) return Value(output.dtype, std::move(shape), Reals());
  return Value(output.dtype, std::move(shape), Integers());
}

Outputs loop(const Call& call) {
  ASSAY_TRY(const graph::Graph* const body, graph_of(call, "body"));
  std::int64_t trips = std::int64_t{1} << 40;
  if (call.has(0)) {
    ASSAY_TRY(trips, call.integer_scalar(0));
  }
  bool goes_on = true;
  if (call.has(1)) {
    ASSAY_TRY(const double condition, call.scalar(1));
    goes_on = condition != 0;
  }
  Values state;
  for (std::size_t i = 2; i < call.operand_count(); ++i) {
    if (!call.has(i)) return call.invalid("a value of its state is missing");
    state.push_back(call.operand(i));
  }
  const std::size_t carried = state.size();
  if (body->outputs.size() < carried + 1) return call.invalid("its body has too few outputs");
  std::vector<Values> scanned(body->outputs.size() - 1 - carried);
  for (std::int64_t i = 0; i < trips && goes_on; ++i) {
    Values inputs{Value(DType::kInt64, {}, Integers{i}), Value(DType::kBool, {}, Integers{1})};
    inputs.insert(inputs.end(), state.begin(), state.end());
    ASSAY_TRY(Values results, call.run_graph()(*body, std::move(inputs)));
    goes_on = results[0].count() > 0 && results[0].number(0) != 0;
    state.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(results[1 + carried + k]);
  }
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    if (scanned[k].empty()) {
      ASSAY_TRY(Value nothing, nothing_of(call, body->outputs[1 + carried + k]));
      state.push_back(std::move(nothing));
      continue;
    }
    ASSAY_TRY(Value all, stacked(call, scanned[k], 0));
    state.push_back(std::move(all));
  }
  return state;
}

// One place of an axis, which the result does not have any more.
Value place_on(const Value& x, std::int64_t axis, std::int64_t place) {
  Strided walk{.shape = x.shape(), .strides = strides_of(x.shape())};
  walk.offset = place * walk.strides[static_cast<std::size_t>(axis)];
  walk.shape.erase(walk.shape.begin() + axis);
  walk.strides.erase(walk.strides.begin() + axis);
  return gathered(x, walk);
}

std::int64_t element_or(const Call& call, std::string_view list, std::size_t i, std::int64_t otherwise) {
  const auto given = call.node().integers(list);
  return given && i < given->size() ? (*given)[i] : otherwise;
}

Outputs scan(const Call& call) {
  if (call.opset() < 9) return call.unsupported("the version 8 of this operator");
  ASSAY_TRY(const graph::Graph* const body, graph_of(call, "body"));
  for (std::size_t i = 0; i < call.operand_count(); ++i)
    if (!call.has(i)) return call.invalid("input " + std::to_string(i) + " is missing");
  const std::int64_t scans = call.integer("num_scan_inputs", 0);
  if (scans < 1 || scans > static_cast<std::int64_t>(call.operand_count()))
    return call.invalid("num_scan_inputs does not fit its inputs");
  const std::size_t carried = call.operand_count() - static_cast<std::size_t>(scans);
  if (body->outputs.size() < carried) return call.invalid("its body has too few outputs");
  Values state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(call.operand(i));
  std::int64_t length = -1;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scans); ++i) {
    ASSAY_TRY(const std::int64_t axis,
              call.axis(element_or(call, "scan_input_axes", i, 0), call.operand(carried + i).rank()));
    axes.push_back(axis);
    const std::int64_t extent = call.operand(carried + i).extent(axis);
    if (length >= 0 && extent != length) return call.invalid("its scanned inputs have different lengths");
    length = extent;
  }
  std::vector<Values> scanned(body->outputs.size() - carried);
  for (std::int64_t t = 0; t < length; ++t) {
    Values inputs = state;
    for (std::size_t i = 0; i < axes.size(); ++i)
      inputs.push_back(place_on(call.operand(carried + i), axes[i],
                                element_or(call, "scan_input_directions", i, 0) != 0 ? length - 1 - t : t));
    ASSAY_TRY(Values results, call.run_graph()(*body, std::move(inputs)));
    state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carried));
    for (std::size_t k = 0; k < scanned.size(); ++k) scanned[k].push_back(results[carried + k]);
  }
  for (std::size_t k = 0; k < scanned.size(); ++k) {
    if (scanned[k].empty()) {
      ASSAY_TRY(Value nothing, nothing_of(call, body->outputs[carried + k]));
      state.push_back(std::move(nothing));
      continue;
    }
    if (element_or(call, "scan_output_directions", k, 0) != 0) std::ranges::reverse(scanned[k]);
    ASSAY_TRY(Value all, stacked(call, scanned[k], element_or(call, "scan_output_axes", k, 0)));
    state.push_back(std::move(all));
  }
  return state;
}

}  // namespace

Operators control_operators() { return {{"If", &if_else}, {"Loop", &loop, 0}, {"Scan", &scan, 0}}; }

}  // namespace assay::evaluate
