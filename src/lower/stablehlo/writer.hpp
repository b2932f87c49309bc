// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/operators.hpp"

namespace assay::lowering {

/// Writes the text of a StableHLO module.
class HloWriter {};

}  // namespace assay::lowering
