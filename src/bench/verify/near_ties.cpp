// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/near_ties.hpp"

#include <algorithm>

namespace assay {
namespace {

// With one output as the logits; nullopt: its largest elements are not these integers.
Result<std::optional<bool>> ties_in(const std::string& logits, const std::string& output, const JudgedFiles& files,
                                    double limit) {
  bool ties = true;
  for (std::size_t set = 0; set < files.reference.size(); ++set) {
    ASSAY_TRY(const TensorView expected, files.reference[set].tensor(output));
    ASSAY_TRY(const TensorView actual, files.candidate[set].tensor(output));
    ASSAY_TRY(const TensorView stored, files.reference[set].tensor(logits));
    Tensor wide;
    ASSAY_TRY(const TensorView values, widened(stored, wide));
    if (values.shape.empty() || !is_integer(expected.dtype)) return std::optional<bool>();
    const std::int64_t width = values.shape.back();
    ASSAY_TRY(const std::int64_t rows, element_count(expected.shape));
    ASSAY_TRY(const std::int64_t all, element_count(values.shape));
    if (width < 2 || all != rows * width) return std::optional<bool>();
    std::int64_t explained = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      double best = element_as_double(values, row * width);
      for (std::int64_t i = 1; i < width; ++i) best = std::max(best, element_as_double(values, row * width + i));
      const auto at = [&](const TensorView& chosen) -> std::optional<double> {
        const double id = element_as_double(chosen, row);
        if (!(id >= 0) || id >= static_cast<double>(width)) return std::nullopt;
        return element_as_double(values, row * width + static_cast<std::int64_t>(id));
      };
      const auto right = at(expected), other = at(actual);
      explained += right && *right == best ? 1 : 0;
      if (element_as_double(expected, row) != element_as_double(actual, row))
        ties = ties && other && best - *other <= 2.0 * limit;
    }
    if (explained < rows) return std::optional<bool>();
  }
  return std::optional(ties);
}

}  // namespace

Result<std::optional<bool>> are_near_ties(const std::string& output, const JudgedFiles& files) {
  for (const auto& [name, limit] : files.element_limits) {
    ASSAY_TRY(const std::optional<bool> ties, ties_in(name, output, files, limit));
    if (ties) return ties;
  }
  return std::optional<bool>();
}

}  // namespace assay
