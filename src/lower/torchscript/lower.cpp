// SPDX-License-Identifier: Apache-2.0
#include "lower/torchscript/writer.hpp"

namespace assay::lowering {

std::span<const LoweredOperator<TorchWriter>> torch_operators() { return {}; }

Status lower_to_torch([[maybe_unused]] const StaticProgram& program, [[maybe_unused]] Program& into) {
  return fail(ErrorCode::kUnsupported, "nothing is lowered to torchscript yet");
}

}  // namespace assay::lowering
