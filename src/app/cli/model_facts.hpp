// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/json.hpp"
#include "models/model/model_facts.hpp"

namespace assay {

/// The facts for a terminal, one per line.
[[nodiscard]] std::string model_facts_text(const ModelFacts& facts);

/// `assay zoo show --output-format json` (docs/formats.md).
[[nodiscard]] Json model_facts_json(const ModelFacts& facts);

}  // namespace assay
