// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// RFC 4648, section 4, with padding, without line ends.
[[nodiscard]] std::string base64(std::string_view bytes);

/// What a content security policy calls a script or style: "sha256-" and the hash in base64.
[[nodiscard]] std::string policy_hash(std::string_view content);

}  // namespace assay
