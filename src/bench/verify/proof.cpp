// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// What counts as equal in a reference, whose arithmetic is float32.
constexpr double kEqual = 1e-5;

// In every set, also in those that were not computed.
Result<bool> is_constant(const std::string& output, bool counted, const JudgedFiles& files,
                         const VerifyOptions& options, std::span<const Comparison> sets) {
  const auto constant = [&](const Comparison& c) {
    if (counted) return files.number_of_sets() == 1 && c.reference_constant && c.elements > 1;
    const double range = c.reference_max - c.reference_min;
    return c.elements > 1 && range <= kEqual * std::max(std::abs(c.reference_max), std::abs(c.reference_min));
  };
  if (!std::ranges::all_of(sets, constant)) return false;
  for (std::size_t i = 0; i < files.others.size(); ++i) {
    ASSAY_TRY(const TensorView view, files.others[i].tensor(output));
    Tensor wide;
    ASSAY_TRY(const TensorView r, widened(view, wide));
    ASSAY_TRY(const Comparison itself,
              compare(r, r, {}, mask_of(options.inputs, files.reference.size() + i, output, r.shape)));
    if (!constant(itself)) return false;
  }
  return true;
}

}  // namespace

Result<std::optional<std::string>> why_degenerate(const std::string& output, bool counted, const JudgedFiles& files,
                                                  const VerifyOptions& options, std::span<const Comparison> sets) {
  using Why = std::optional<std::string>;
  ASSAY_TRY(const bool constant, is_constant(output, counted, files, options, sets));
  if (constant) return Why("the reference is constant and proves nothing");
  if (files.number_of_sets() < 2) return Why();
  const SafetensorsFile& another = files.reference.size() > 1 ? files.reference[1] : files.others.front();
  ASSAY_TRY(const TensorView first, files.reference[0].tensor(output));
  ASSAY_TRY(const TensorView second, another.tensor(output));
  if (first.shape != second.shape) return Why();
  ASSAY_TRY(const Comparison change, compare(first, second, {}, mask_of(options.inputs, 0, output, first.shape)));
  if (change.max_abs_error <= (counted ? 0.0 : kEqual * change.reference_rms))
    return Why("the reference does not change with its inputs and proves nothing");
  return Why();
}

std::optional<std::string> why_ill_conditioned(const HonestOutput& honest, bool counted, const OutputErrors& errors,
                                               double scale) {
  if (!honest.same_shape) return "honest arithmetic gives it another shape";
  // One element has no deviation; integers no scale: a tenth of them is a tenth.
  const double deviation = counted ? 1.0 : errors.reference_elements > 1 ? errors.reference_deviation / scale : 1.0;
  const double moves = counted ? honest.changed : honest.moves;
  if (!(moves > kIllConditioned * deviation)) return std::nullopt;
  return fmt::format(
      "the error of honest arithmetic, {:.3g} of the output, is more than a tenth of its deviation, {:.3g}", moves,
      deviation);
}

}  // namespace assay
