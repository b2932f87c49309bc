// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/limits.hpp"

#include <array>

namespace assay {
namespace {

constexpr std::array<Floor, 5> kFloors{{{DType::kFloat64, 1e-14, 1e-13},
                                        {DType::kFloat32, 2e-6, 1e-5},
                                        {DType::kFloat16, 5e-4, 2e-3},
                                        {DType::kBFloat16, 4e-3, 1.6e-2},
                                        {DType::kInt8, 1e-3, 5e-3}}};
// A row is a part of the output: its least limit is larger than that of the whole.
constexpr double kRowFloor = 2.0;

}  // namespace

std::span<const Floor> floors() { return kFloors; }

const Floor* floor_of(const VerifyOptions& options) {
  const DType precision = options.quantised ? DType::kInt8 : options.precision;
  const auto* floor = std::ranges::find(kFloors, precision, &Floor::precision);
  return floor == kFloors.end() ? nullptr : floor;
}

Arithmetic arithmetic_of(const VerifyOptions& options, const HonestOutput* honest) {
  const bool narrow = options.quantised || bit_width(options.precision) < 32;
  const std::string_view required = options.quantised ? "quantised" : "rounded";
  return {narrow, honest != nullptr && (!narrow || options.honest->method == required)};
}

Bounds bounds_of(const Floor& floor, const HonestOutput& honest, const Arithmetic& arithmetic,
                 const VerifyOptions& options) {
  const Limits from_honest{std::max(floor.rms, kHonestFactor * honest.rms),
                           std::max(floor.rms * kRowFloor, kHonestRowFactor * honest.row),
                           std::max(floor.element, kHonestElementFactor * honest.element)};
  const double rms = options.quantised ? kUnknownQuantised : kUnknownHonest * floor.element;
  const Limits unknown =
      arithmetic.narrow ? Limits{rms, kUnknownRow * rms, kHonestElementFactor * rms} : Limits{rms, rms, rms};
  Bounds found{from_honest, from_honest};
  if (!arithmetic.known || (options.given && !arithmetic.narrow)) found.wrong = from_honest.or_more(unknown);
  if (!arithmetic.narrow) found.right = found.wrong;
  return found;
}

}  // namespace assay
