// SPDX-License-Identifier: Apache-2.0
#include "core/base/unknown_word.hpp"

#include <fmt/format.h>

#include "core/base/text.hpp"

namespace assay {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& valid) {
  const std::vector<std::string> near = closest(word, valid);
  return near.empty() ? std::string() : "did you mean " + join(near, " or ") + "?";
}

tl::unexpected<Error> unknown_word(std::string_view what, std::string_view word,
                                   const std::vector<std::string>& valid) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} '{}'; valid: {}", what, word, join(valid, ", ")),
              did_you_mean(word, valid));
}

}  // namespace assay
