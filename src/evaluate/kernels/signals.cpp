// SPDX-License-Identifier: Apache-2.0
#include "evaluate/kernel.hpp"

namespace assay::evaluate {

Operators signal_operators() { return {}; }

}  // namespace assay::evaluate
