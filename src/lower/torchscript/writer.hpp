// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lower/operators.hpp"

namespace assay::lowering {

/// Writes the text of a TorchScript method.
class TorchWriter {};

}  // namespace assay::lowering
