// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "bench/verify/honest.hpp"
#include "bench/verify/verify.hpp"

namespace assay {

/// Relative to the output's root mean square.
struct Limits {
  double rms, row, element;
  [[nodiscard]] Limits or_more(const Limits& other) const {
    return {std::max(rms, other.rms), std::max(row, other.row), std::max(element, other.element)};
  }
};

/// Within `right` an output is right, beyond `wrong` it is wrong. They differ if the honest error is not that of this
/// arithmetic.
struct Bounds {
  Limits right, wrong;
};

/// What matters of a candidate's arithmetic.
struct Arithmetic {
  bool narrow = false;  ///< 16 bits, or quantised: the error depends on the graph more than on its last operator
  bool known = false;   ///< the honest error is that of this arithmetic
};
/// `honest`: nullptr if nothing is known of the output.
[[nodiscard]] Arithmetic arithmetic_of(const VerifyOptions& options, const HonestOutput* honest);

/// The floor of a candidate's arithmetic; nullptr: there is none.
[[nodiscard]] const Floor* floor_of(const VerifyOptions& options);

/// The bounds of a float output from its honest error (docs/statistics.md, "When numbers count as equal").
[[nodiscard]] Bounds bounds_of(const Floor& floor, const HonestOutput& honest, const Arithmetic& arithmetic,
                               const VerifyOptions& options);

}  // namespace assay
