// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include <assay/result.hpp>

#include "bench/verify/honest.hpp"
#include "bench/verify/judged_files.hpp"
#include "bench/verify/verify.hpp"
#include "core/tensor/compare.hpp"

namespace assay {

/// Whether the reference's output proves anything: a constant, and an output that its inputs do not change, do not.
/// Returns why not; nullopt: it does. `counted`: is_counted(). `sets`: its comparisons with the candidate, by set.
/// Errors: those of SafetensorsFile::tensor and compare().
[[nodiscard]] Result<std::optional<std::string>> why_degenerate(const std::string& output, bool counted,
                                                                const JudgedFiles& files, const VerifyOptions& options,
                                                                std::span<const Comparison> sets);

/// Whether honest arithmetic itself moves the output too far to prove anything. Returns why; nullopt: it does not.
/// `scale`: what the output's errors are relative to.
[[nodiscard]] std::optional<std::string> why_ill_conditioned(const HonestOutput& honest, bool counted,
                                                             const OutputErrors& errors, double scale);

}  // namespace assay
