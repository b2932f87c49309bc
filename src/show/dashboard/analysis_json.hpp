// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "core/base/json.hpp"

namespace assay {
struct Analysis;
struct Dataset;
}  // namespace assay

namespace assay::dashboard {

/// The answers of the analysis as the page reads them (`Analysis` in web/src/document.ts); rows are named by their
/// indices in the first `cells` of `data`. What only names a later row is left out.
[[nodiscard]] Json analysis_json(const Dataset& data, const Analysis& analysis, std::size_t cells);

}  // namespace assay::dashboard
