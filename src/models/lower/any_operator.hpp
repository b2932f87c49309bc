// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/lower/static_program.hpp"

namespace assay::testing {

/// For tests: every operator and every type is accepted.
inline const lowering::NodeCheck kAnyOperator{[](const graph::Node&, std::int64_t) { return Status(); },
                                              [](DType) { return true; }};

}  // namespace assay::testing
