// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace assay {

/// A number for people with `digits` significant digits: "12.3", "0.0123", "0.000231", "10415". Digits before the point
/// are never cut off. There is no exponent from 1e-6 on: a nanosecond is 0.000001 ms, so no measured time becomes 0.
[[nodiscard]] std::string significant(double value, int digits = 3);

/// Milliseconds with three decimals, as the guides print them, and with as many as three significant digits need if
/// that is more: "12.345", "0.0123", "0.000231".
[[nodiscard]] std::string fixed_milliseconds(double value);

}  // namespace assay
