// SPDX-License-Identifier: Apache-2.0
// Operators that shrink axes to one value.
#include <algorithm>
#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;
using Unsigned = std::uint64_t;

// The axes that a reduction removes or leaves as 1: attribute until opset 17 (12 for ReduceSum), input from then on.
Status reduced(Site& site) {
  bool given = false;
  const auto axes = site.integers_of("axes", 1, given);
  if (given && !axes) return {};
  const bool keep = site.integer("keepdims", 1) != 0;
  std::vector<bool> gone(site.shape(0).size(), !axes || axes->empty());
  const std::string_view op = site.node().op_type;
  if ((!axes || axes->empty()) && site.integer("noop_with_empty_axes", 0) != 0) {
    const bool alone_stays = op == "ReduceMax" || op == "ReduceMin" || op == "ReduceSum" || op == "ReduceProd";
    site.give(0, site.in(0).dtype, site.shape(0));
    if (alone_stays) site.keep_elements();  // of one element, others are its square, logarithm, …
    return {};
  }
  for (const std::int64_t axis : axes.value_or(Elements{})) {
    ASSAY_TRY(const std::size_t at, site.axis(axis, site.rank(0)));
    gone[at] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i])
      shape.push_back(site.shape(0)[i]);
    else if (keep)
      shape.push_back(1);
  }
  site.give(0, site.in(0).dtype, shape);
  // Only of a vector, because exporters reduce shapes.
  const Elements* elements = site.elements(0);
  if (elements == nullptr || elements->empty() || !std::all_of(gone.begin(), gone.end(), [](bool g) { return g; }))
    return {};
  std::optional<std::int64_t> value;
  if (op == "ReduceMax") value = *std::max_element(elements->begin(), elements->end());
  if (op == "ReduceMin") value = *std::min_element(elements->begin(), elements->end());
  const auto fold = [&](Unsigned first, auto combine) {
    for (const std::int64_t x : *elements) first = combine(first, static_cast<Unsigned>(x));
    return static_cast<std::int64_t>(first);
  };
  if (op == "ReduceSum") value = fold(0, [](Unsigned a, Unsigned b) { return a + b; });
  if (op == "ReduceProd") value = fold(1, [](Unsigned a, Unsigned b) { return a * b; });
  if (value) site.give_elements(0, {*value});
  return {};
}

Status best(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  Shape shape = site.shape(0);
  if (site.integer("keepdims", 1) != 0)
    shape[axis] = 1;
  else
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  site.give(0, DType::kInt64, shape);
  return {};
}

}  // namespace

ShapeRule find_reduce_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"ArgMax", best},       {"ArgMin", best},          {"ReduceL1", reduced},        {"ReduceL2", reduced},
      {"ReduceMax", reduced}, {"ReduceMean", reduced},   {"ReduceMin", reduced},       {"ReduceProd", reduced},
      {"ReduceSum", reduced}, {"ReduceLogSum", reduced}, {"ReduceLogSumExp", reduced}, {"ReduceSumSquare", reduced},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
