// SPDX-License-Identifier: Apache-2.0
#include "core/result/status.hpp"

#include <algorithm>
#include <cstddef>

#include <assay/error.hpp>

namespace assay {
namespace {

constexpr std::array<std::string_view, 6> kStatusNames{"completed", "wrong",       "unsupported",
                                                       "failed",    "unavailable", "skipped"};
constexpr std::array<std::string_view, 5> kVerificationNames{"verified", "wrong", "unverified", "degenerate",
                                                             "ill_conditioned"};

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view to_string(CellStatus status) { return kStatusNames.at(static_cast<std::size_t>(status)); }
std::optional<CellStatus> cell_status_from(std::string_view name) { return find_name<CellStatus>(kStatusNames, name); }

std::string_view to_string(Verification verification) {
  return kVerificationNames.at(static_cast<std::size_t>(verification));
}
std::optional<Verification> verification_from(std::string_view name) {
  return find_name<Verification>(kVerificationNames, name);
}

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
