// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "bench/verify/errors.hpp"

namespace assay {

/// All that is judged at once: files by input set, opened.
struct JudgedFiles {
  OpenFiles reference, candidate;
  OpenFiles others;  ///< the reference's of sets that the candidate did not compute
  /// The limits of the float outputs that were judged until now, by name: what a near tie of integers may differ by.
  std::map<std::string, double> element_limits{};

  [[nodiscard]] std::size_t number_of_sets() const { return reference.size() + others.size(); }
};

}  // namespace assay
