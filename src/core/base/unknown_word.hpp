// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

namespace assay {

/// "did you mean cuda or cpu?"; "" if no word of `valid` is like `word`.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& valid);

/// The error for a word that is not in `valid`, invalid_argument: "<what> 'cudda'; valid: cpu, cuda", and the nearest
/// words as its hint. `what` says what the word should name: "unknown hardware", "--precision: unknown value".
[[nodiscard]] tl::unexpected<Error> unknown_word(std::string_view what, std::string_view word,
                                                 const std::vector<std::string>& valid);

}  // namespace assay
