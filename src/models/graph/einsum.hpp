// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "models/graph/view.hpp"

namespace assay::graph {

/// The equation of an Einsum for operands of known shapes: a label for each axis. A label is a letter of the equation
/// or, for an axis of an ellipsis, a character below ' ', counted from the last axis of the ellipsis on.
/// Source: ONNX's description of Einsum, and numpy.einsum, which its reference implementation calls.
struct Einsum {
  std::vector<std::string> operands;  ///< the labels of each operand, one for each axis
  /// The labels of the result. Without "->" they are those of the ellipsis, then the letters that occur once, in the
  /// order of their character codes.
  std::string result;
  /// By label. An operand may have the extent 1 instead: it is repeated then, as by NumPy's rule.
  std::map<char, std::int64_t> extents;
};

/// The error says what contradicts: another number of operands, another rank, two extents with one label, a label of
/// the result that no operand has or that it has twice, a character that is not a letter.
[[nodiscard]] tl::expected<Einsum, std::string> read_einsum(std::string_view equation, std::span<const Shape> operands);

}  // namespace assay::graph
