// SPDX-License-Identifier: Apache-2.0
// Operators that select elements by their index, and those that write to selected places.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;

// Constant indices must be inside the axis: some runtimes do not check and read other memory.
Status check_indices(const Site& site, std::size_t input, std::int64_t extent) {
  const Elements* indices = site.elements(input);
  if (indices == nullptr) return {};
  for (const std::int64_t index : *indices) {
    if (index < -extent || index >= extent)
      return site.contradiction(fmt::format("index {} of {} elements", index, extent));
  }
  return {};
}

Status gathered(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  const Shape& data = site.shape(0);
  Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), site.shape(1).begin(), site.shape(1).end());
  shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, shape));
  ASSAY_CHECK_OK(check_indices(site, 1, data[axis]));
  const Elements* indices = site.elements(1);
  if (indices == nullptr || count_of(shape) > kMostElements) return {};
  // [outer, extent, inner], of which whole rows of `inner` are taken.
  const std::int64_t inner = count_of(Shape(data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end()));
  const bool none = count_of(shape) == 0;
  const std::int64_t outer = none ? 0 : count_of(Shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis)));
  const auto taken = [&]<class T>(const std::vector<T>& from) {
    std::vector<T> rows;
    for (std::int64_t i = 0; i < outer; ++i) {
      for (const std::int64_t index : *indices) {
        const auto row = from.begin() + (i * data[axis] + (index < 0 ? index + data[axis] : index)) * inner;
        rows.insert(rows.end(), row, row + inner);
      }
    }
    return rows;
  };
  if (const auto* from = site.elements(0)) site.give_elements(0, taken(*from));
  if (const auto* from = site.reals(0)) site.give_reals(0, taken(*from));
  return {};
}

Status gathered_elements(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  if (site.rank(0) != site.rank(1)) return site.contradiction("indices of another rank");
  ASSAY_CHECK_OK(check_indices(site, 1, site.shape(0)[axis]));
  site.give(0, site.in(0).dtype, site.shape(1));
  return {};
}

// Tuples of indices, the last axis of input 1, into the axes of input 0 from `first` on.
Status check_tuples(const Site& site, std::int64_t first) {
  const Elements* indices = site.elements(1);
  const std::int64_t width = site.shape(1).back();
  for (std::size_t i = 0; indices != nullptr && width > 0 && i < indices->size(); ++i) {
    const std::int64_t extent = site.shape(0)[static_cast<std::size_t>(first + static_cast<std::int64_t>(i) % width)];
    const std::int64_t index = (*indices)[i];
    if (index < -extent || index >= extent)
      return site.contradiction(fmt::format("index {} of {} elements", index, extent));
  }
  return {};
}

Status gathered_nd(Site& site) {
  const std::int64_t batch = site.integer("batch_dims", 0);
  if (site.rank(1) < 1) return site.contradiction("indices of rank 0");
  const std::int64_t width = site.shape(1).back();
  if (batch < 0 || batch >= site.rank(1) || width < 0 || width > site.rank(0) - batch)
    return site.contradiction(fmt::format("indices of {} into {}", to_string(site.shape(1)), to_string(site.shape(0))));
  ASSAY_CHECK_OK(check_tuples(site, batch));
  Shape shape(site.shape(1).begin(), site.shape(1).end() - 1);
  shape.insert(shape.end(), site.shape(0).begin() + batch + width, site.shape(0).end());
  return site.give_checked(site.in(0).dtype, shape);
}

Status scattered(Site& site) {
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", 0), site.rank(0)));
  if (site.rank(0) != site.rank(1) || site.shape(1) != site.shape(2))
    return site.contradiction("indices or updates of another shape");
  ASSAY_CHECK_OK(check_indices(site, 1, site.shape(0)[axis]));
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

Status scattered_nd(Site& site) {
  if (site.rank(1) < 1 || site.shape(1).back() > site.rank(0)) return site.contradiction("indices of another rank");
  ASSAY_CHECK_OK(check_tuples(site, 0));
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

// The count is an attribute before opset 10.
Status largest(Site& site) {
  std::int64_t count = site.integer("k", -1);
  if (site.opset() >= 10) {
    const Elements* given = site.elements(1);
    if (given == nullptr || given->size() != 1) return {};
    count = given->front();
  }
  ASSAY_TRY(const std::size_t axis, site.axis(site.integer("axis", -1), site.rank(0)));
  Shape shape = site.shape(0);
  if (count < 0 || count > shape[axis])
    return site.contradiction(fmt::format("the {} largest of {} elements", count, shape[axis]));
  shape[axis] = count;
  ASSAY_CHECK_OK(site.give_checked(site.in(0).dtype, shape));
  site.give(1, DType::kInt64, shape);
  return {};
}

Status one_hot(Site& site) {
  std::optional<std::int64_t> depth;
  if (const Elements* whole = site.elements(1); whole != nullptr && whole->size() == 1) depth = whole->front();
  if (const auto* real = site.reals(1); real != nullptr && real->size() == 1 && std::abs(real->front()) < 1e15)
    depth = static_cast<std::int64_t>(real->front());
  if (!depth) return {};
  Shape shape = site.shape(0);
  const std::int64_t axis = site.integer("axis", -1);
  ASSAY_TRY(const std::size_t at, site.axis(axis, site.rank(0) + 1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), *depth);
  return site.give_checked(site.in(2).dtype, shape);
}

Status summed_along(Site& site) {
  if (const Elements* axis = site.elements(1); axis != nullptr && axis->size() == 1) {
    ASSAY_TRY([[maybe_unused]] const std::size_t at, site.axis(axis->front(), site.rank(0)));
  }
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

}  // namespace

ShapeRule find_index_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"Gather", gathered},
      {"GatherElements", gathered_elements},
      {"GatherND", gathered_nd},
      {"Scatter", scattered},
      {"ScatterElements", scattered},
      {"ScatterND", scattered_nd},
      {"TopK", largest},
      {"OneHot", one_hot},
      {"CumProd", summed_along},
      {"CumSum", summed_along},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
