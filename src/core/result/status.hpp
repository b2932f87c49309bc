// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <assay/error.hpp>

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

/// Why a cell has no result that counts. First the codes of errors, in the order of ErrorCode. Each has a heading in
/// docs/errors.md.
enum class Reason {
  kInvalidArgument,
  kNotFound,
  kUnsupported,
  kMismatch,
  kTimeout,
  kOutOfMemory,
  kDeviceLost,
  kWorkerDied,
  kIncompatiblePlugin,
  kStoreBusy,
  kCancelled,
  kInternal,
  kFixedShape,
  kNotBuilt,    ///< a later version of assay has it
  kNoTime,      ///< --budget left no time, or a default batch would be slow
  kTooLarge,    ///< it does not fit in memory or in what a file may contain
  kNoHardware,  ///< the machine does not have it
  kNoRuntime,   ///< the machine has the hardware, but no runtime for it
};
template <>
struct WordsOf<Reason> {
  static constexpr std::array<std::string_view, 18> kAll{
      "invalid_argument", "not_found",           "unsupported", "mismatch",  "timeout",  "out_of_memory", "device_lost",
      "worker_died",      "incompatible_plugin", "store_busy",  "cancelled", "internal", "fixed_shape",   "not_built",
      "no_time",          "too_large",           "no_hardware", "no_runtime"};
};
[[nodiscard]] constexpr Reason reason_of(ErrorCode code) { return static_cast<Reason>(code); }

/// Exit status of every command, in order of precedence: interrupted, usage, failure, finding, inconclusive, success.
enum class ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2, kFinding = 3, kCannotTell = 4, kInterrupted = 130 };
/// The one that takes precedence: 130, 2, 1, 3, 4, 0.
[[nodiscard]] ExitCode worse(ExitCode a, ExitCode b);

}  // namespace assay
