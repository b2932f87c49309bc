// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <assay/result.hpp>

#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

/// Adds a model's nodes and outputs to the graph. Errors: unsupported, invalid_argument, naming key and value; those of
/// Parameters come later, after all parameters were read.
using Skeleton = Status (*)(BuildContext&);
/// The builder that an architecture's JSON names. Bug: a name that does not exist.
[[nodiscard]] Skeleton find_skeleton(const std::string& name);

}  // namespace assay::zoo
