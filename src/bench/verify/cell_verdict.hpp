// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/verify/verify.hpp"

namespace assay {

/// The cell's verdict from those of its outputs. `reference`: as in VerifyOptions.
[[nodiscard]] Verdict summarise(std::vector<OutputVerdict> outputs, std::string reference);

}  // namespace assay
