// SPDX-License-Identifier: Apache-2.0
#include "core/result/status.hpp"

#include <algorithm>

namespace assay {
ExitCode worse(ExitCode a, ExitCode b) {
  constexpr std::array kPrecedence{ExitCode::kInterrupted, ExitCode::kUsage,      ExitCode::kFailure,
                                   ExitCode::kFinding,     ExitCode::kCannotTell, ExitCode::kSuccess};
  return *std::find_if(kPrecedence.begin(), kPrecedence.end(), [&](ExitCode code) { return code == a || code == b; });
}

}  // namespace assay
