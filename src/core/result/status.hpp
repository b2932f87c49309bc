// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "core/base/words.hpp"

namespace assay {

/// The status of a cell (docs/metrics.md).
enum class CellStatus { kCompleted, kWrong, kUnsupported, kFailed, kUnavailable, kSkipped };
template <>
struct WordsOf<CellStatus> {
  static constexpr std::array<std::string_view, 6> kAll{"completed", "wrong",       "unsupported",
                                                        "failed",    "unavailable", "skipped"};
};

/// The verdict on the numbers of a cell.
enum class Verification { kVerified, kWrong, kUnverified, kDegenerate, kIllConditioned };
template <>
struct WordsOf<Verification> {
  static constexpr std::array<std::string_view, 5> kAll{"verified", "wrong", "unverified", "degenerate",
                                                        "ill_conditioned"};
};

/// Reason codes are the names of ErrorCode and these.
namespace reason {
inline constexpr std::string_view kNotBuilt = "not_built";
inline constexpr std::string_view kNoTime = "no_time";
inline constexpr std::string_view kTooLarge = "too_large";
inline constexpr std::string_view kNoHardware = "no_hardware";
inline constexpr std::string_view kNoRuntime = "no_runtime";
inline constexpr std::string_view kFixedShape = "fixed_shape";
inline constexpr std::array kOwn{kNotBuilt, kNoTime, kTooLarge, kNoHardware, kNoRuntime, kFixedShape};
}  // namespace reason
/// Whether `name` is on the closed list: an ErrorCode's name or one of reason::kOwn. Each has a heading in
/// docs/errors.md.
[[nodiscard]] bool is_reason_code(std::string_view name);

/// Exit status of every command, in order of precedence: interrupted, usage, failure, finding, inconclusive, success.
enum class ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2, kFinding = 3, kCannotTell = 4, kInterrupted = 130 };
/// The one that takes precedence: 130, 2, 1, 3, 4, 0.
[[nodiscard]] ExitCode worse(ExitCode a, ExitCode b);

}  // namespace assay
