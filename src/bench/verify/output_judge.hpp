// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/verify/judged_files.hpp"
#include "bench/verify/verify.hpp"
#include "core/tensor/compare.hpp"

namespace assay {

/// A golden is compared and nothing else; any other reference is first asked whether it proves anything.
enum class JudgeMode { kGolden, kReference };

/// Judges one output of the reference over all sets. `tolerance`: of a golden; it replaces the limits. Integers are
/// judged after the logits that they may come from (JudgedFiles::element_limits). Errors: those of judge().
[[nodiscard]] Result<OutputVerdict> judge_output(const std::string& name, const Floor& floor,
                                                 const VerifyOptions& options,
                                                 const std::optional<Tolerance>& tolerance, const JudgedFiles& files,
                                                 JudgeMode mode);

}  // namespace assay
