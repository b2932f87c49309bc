// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <assay/result.hpp>

#include "bench/verify/judged_files.hpp"

namespace assay {

/// Whether each element in which an output of integers differs was as good a choice: the logits of both elements are
/// within the limits that the logits were judged by. nullopt: no output of JudgedFiles::element_limits has logits whose
/// largest elements are the reference's integers. Errors: those of SafetensorsFile::tensor.
[[nodiscard]] Result<std::optional<bool>> are_near_ties(const std::string& output, const JudgedFiles& files);

}  // namespace assay
