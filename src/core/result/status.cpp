// SPDX-License-Identifier: Apache-2.0
#include "core/result/status.hpp"

#include <algorithm>
#include <cstddef>

#include <assay/error.hpp>

namespace assay {
bool is_reason_code(std::string_view name) {
  return error_code_from(name).has_value() ||
         std::find(reason::kOwn.begin(), reason::kOwn.end(), name) != reason::kOwn.end();
}

ExitCode worse(ExitCode a, ExitCode b) {
  constexpr std::array kPrecedence{ExitCode::kInterrupted, ExitCode::kUsage,      ExitCode::kFailure,
                                   ExitCode::kFinding,     ExitCode::kCannotTell, ExitCode::kSuccess};
  return *std::find_if(kPrecedence.begin(), kPrecedence.end(), [&](ExitCode code) { return code == a || code == b; });
}

}  // namespace assay
