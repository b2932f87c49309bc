// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace assay {

/// The status of a cell (docs/metrics.md).
enum class CellStatus { kCompleted, kWrong, kUnsupported, kFailed, kUnavailable, kSkipped };
[[nodiscard]] std::string_view to_string(CellStatus status);
[[nodiscard]] std::optional<CellStatus> cell_status_from(std::string_view name);

/// The verdict on the numbers of a cell.
enum class Verification { kVerified, kWrong, kUnverified, kDegenerate, kIllConditioned };
[[nodiscard]] std::string_view to_string(Verification verification);
[[nodiscard]] std::optional<Verification> verification_from(std::string_view name);

/// Flags beside a status, stored as a sorted, comma-separated list in `flags`.
namespace flag {
inline constexpr std::string_view kSimulated = "simulated";
inline constexpr std::string_view kSoftware = "software";
inline constexpr std::string_view kSeeded = "seeded";
inline constexpr std::string_view kScaled = "scaled";
inline constexpr std::string_view kUnsteady = "unsteady";
inline constexpr std::string_view kNoisy = "noisy";
inline constexpr std::string_view kFewSamples = "few_samples";
inline constexpr std::string_view kPartial = "partial";    ///< interrupted: fewer samples than requested
inline constexpr std::string_view kImported = "imported";  ///< read from a file of results, ours or another tool's
inline constexpr std::string_view kDoubtfulTime =
    "doubtful_time";  ///< its time cannot be true (core/result/newest.hpp)
}  // namespace flag

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
