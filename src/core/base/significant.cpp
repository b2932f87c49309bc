// SPDX-License-Identifier: Apache-2.0
#include "core/base/significant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLeastWithoutExponent = 1e-6;

// Decimals that show `digits` significant digits of a value below 1.
int decimals_of(double value, int digits) {
  const double size = std::abs(value);
  return size > 0 ? digits - 1 - static_cast<int>(std::floor(std::log10(size))) : 0;
}

}  // namespace

std::string significant(double value, int digits) {
  constexpr double kGeneralFormat = 1e-4;  // below it, {:g} has an exponent
  const double size = std::abs(value);
  if (size >= std::pow(10.0, digits - 1)) return fmt::format("{:.0f}", value);
  if (size >= kGeneralFormat || size < kLeastWithoutExponent) return fmt::format("{:.{}g}", value, digits);
  std::string text = fmt::format("{:.{}f}", value, decimals_of(value, digits));
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

std::string fixed_milliseconds(double value) {
  constexpr int kDecimals = 3, kSignificant = 3;
  const bool small = std::abs(value) < 1 && std::abs(value) >= kLeastWithoutExponent / 10;
  return fmt::format("{:.{}f}", value, small ? std::max(kDecimals, decimals_of(value, kSignificant)) : kDecimals);
}

}  // namespace assay
