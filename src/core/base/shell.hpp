// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A word as a POSIX shell accepts it: unchanged if no character is special to the shell, else in single quotes.
[[nodiscard]] std::string shell_quoted(std::string_view word);

}  // namespace assay
