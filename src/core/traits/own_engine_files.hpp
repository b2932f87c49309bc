// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// Every engines/*/engine.json of the tree that this program was built from: its path there, its text.
[[nodiscard]] const std::vector<std::pair<std::string_view, std::string_view>>& own_engine_files();

}  // namespace assay
