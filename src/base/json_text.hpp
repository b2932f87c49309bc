// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.hpp"

namespace assay {

/// `value` as text. Bytes that are no UTF-8 become U+FFFD: a file's name or a runtime's message may hold any, and what
/// was measured must be written all the same. `indent` −1: one line.
[[nodiscard]] inline std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace assay
