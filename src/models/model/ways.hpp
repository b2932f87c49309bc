// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace assay {

/// Every way to name a model, for messages: files by their extensions, folders, names, ids.
[[nodiscard]] std::string_view ways_to_name_a_model();

}  // namespace assay
