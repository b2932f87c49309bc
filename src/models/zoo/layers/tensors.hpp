// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/zoo/layers/module.hpp"

namespace assay::zoo {

// Reshaping, cutting and joining: the small nodes that skeletons of images and boxes are full of.

Value reshape(const Module& at, const Value& input, const std::vector<std::int64_t>& shape);  ///< 0 keeps, -1 computes
Value transpose(const Module& at, const Value& input, const std::vector<std::int64_t>& order);
/// Elements [first, last) of an axis; last may be beyond the end.
Value slice(const Module& at, const Value& input, std::int64_t axis, std::int64_t first, std::int64_t last,
            std::int64_t step = 1);
/// Element `index` of an axis, which goes away.
Value pick(const Module& at, const Value& input, std::int64_t axis, std::int64_t index);
Value concat(const Module& at, const std::vector<Value>& inputs, std::int64_t axis);
/// The first `out` equal parts along an axis.
std::vector<Value> split(const Module& at, const Value& input, std::int64_t axis, std::size_t parts);
Value cast(const Module& at, const Value& input, DType to);  ///< the input itself if it has the type
Value mean(const Module& at, const Value& input, const std::vector<std::int64_t>& axes, bool keep = false);

Value add(const Module& at, const Value& a, const Value& b);
Value multiply(const Module& at, const Value& a, const Value& b);
Value multiply(const Module& at, const Value& a, float b);

/// Extent `axis` of `input` as int64 [1].
Value extent(const Module& at, const Value& input, std::int64_t axis);
/// The same as a scalar.
Value scalar_extent(const Module& at, const Value& input, std::int64_t axis);
/// Extents [first, last) of `input` as int64 [last - first].
Value extents(const Module& at, const Value& input, std::int64_t first, std::int64_t last);

/// 0, 1, … `length`-1 as int64 [length]; `length` int64 [1].
Value count_up(const Module& at, const Value& length);
/// `constant` [1, …rest] for every row of `like`'s batch. Shape: [B, …rest].
Value for_each_row(const Module& at, const Value& constant, const Value& like, const std::vector<std::int64_t>& rest);

/// A constant of the graph's own, `name` beside the module's parameters.
Value constant(const Module& at, std::string_view name, const Shape& shape, std::vector<float> values);
Value constant_ids(const Module& at, std::string_view name, const Shape& shape, std::vector<std::int64_t> values);

}  // namespace assay::zoo
