// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace assay {

/// The families of models, as rows have them in `family`, without "unknown": embedding, text_generation, …
[[nodiscard]] const std::vector<std::string>& family_words();

}  // namespace assay
