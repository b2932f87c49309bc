// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {

/// How far honest arithmetic is from the reference, for one output: over several runs of graphs that err as an honest
/// runtime may, and over all input sets. Errors are relative to the root mean square of the reference's output.
struct HonestOutput {
  std::string name;
  double moves = 0.0;        ///< root mean square of the errors of the worst run
  double rms = 0.0;          ///< the same; with few elements, its upper 99 % bound
  double row = 0.0;          ///< error of the worst row of all runs (OutputErrors::row)
  double element = 0.0;      ///< largest of all runs
  double correlation = 1.0;  ///< least, of two runs with each other; 1 with one run
  double top1 = 1.0;         ///< least agreement of a run with the reference
  double changed = 0.0;      ///< largest share of integers that differ
  bool same_shape = true;    ///< false: a run gave another shape
};

struct HonestErrors {
  std::string method;  ///< the difference between the runs: "rounded", "perturbed" or "quantised"
  std::size_t runs = 0;
  std::vector<HonestOutput> outputs;

  /// nullptr: nothing is known of this output.
  [[nodiscard]] const HonestOutput* find(std::string_view output) const;
};
[[nodiscard]] Json to_json(const HonestErrors& errors);
/// Errors: invalid_argument.
[[nodiscard]] Result<HonestErrors> honest_from_json(const Json& json);

/// The honest errors of a model whose exact outputs are known. The reference is honest float32 arithmetic, too: its own
/// distance from the exact outputs, `reference`, is the error that it makes by its order of summation, which perturbed
/// runs do not show, because they add in the same order. It takes the place of the error of `perturbed` runs if it is
/// larger, but at most kMostReferenceError times as large (as the least that is assumed, if the error of the perturbed
/// runs is smaller): a reference that is further away does not show honest arithmetic, and counts for nothing. Outputs
/// without perturbed runs stay without an error.
[[nodiscard]] HonestErrors with_reference_error(const HonestErrors& perturbed, const HonestErrors& reference);
inline constexpr double kMostReferenceError = 10.0;

/// Compares runs of honest arithmetic, [run][set], with the reference's outputs, [set]. `inputs`: as in VerifyOptions.
/// Outputs that a run lacks are left out. Errors: those of SafetensorsFile::open.
[[nodiscard]] Result<HonestErrors> measure_honest(std::string method,
                                                  const std::vector<std::filesystem::path>& reference,
                                                  const std::vector<std::vector<std::filesystem::path>>& runs,
                                                  const std::vector<std::vector<NamedView>>& inputs);

}  // namespace assay
