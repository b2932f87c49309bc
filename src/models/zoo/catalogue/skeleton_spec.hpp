// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/zoo/catalogue/variations.hpp"

namespace assay::zoo {

/// What the files of a skeleton's architectures may state.
struct SkeletonSpec {
  const char* name;
  Words heads;            ///< heads that its classes can have
  Variations variations;  ///< the type that its builder reads
};
/// One for each builder of models/zoo/skeletons.cpp.
[[nodiscard]] const std::vector<SkeletonSpec>& skeleton_specs();

}  // namespace assay::zoo
