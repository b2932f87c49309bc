// SPDX-License-Identifier: Apache-2.0
#include "lower/stablehlo/writer.hpp"

namespace assay::lowering {

std::span<const LoweredOperator<HloWriter>> hlo_operators() { return {}; }

Status lower_to_hlo([[maybe_unused]] const StaticProgram& program, [[maybe_unused]] Program& into) {
  return fail(ErrorCode::kUnsupported, "nothing is lowered to stablehlo yet");
}

}  // namespace assay::lowering
