// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

namespace assay::lowering {

/// What ONNX says about the inputs and outputs of an operator, in all versions that the dialects implement: where these
/// differ, what the widest of them allows. Source: the schemas of onnx; tests/cli/test_engines.py compares them.
struct Signature {
  std::string_view name;  ///< an operator of ONNX's own domain
  /// A letter for each input: equal letters have the same element type. "?": may be left out; "*": one or more.
  std::string_view inputs;
  std::size_t most_outputs = 1;
  bool has_first_output = true;  ///< false: also output 0 may be left out
};

inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

/// Sorted by name.
[[nodiscard]] std::span<const Signature> signatures();
/// nullptr: neither dialect has the operator.
[[nodiscard]] const Signature* signature_of(std::string_view name);

}  // namespace assay::lowering
