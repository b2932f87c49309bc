// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "show/report/report.hpp"

namespace assay {

/// The input as a terminal may show it: names and messages come from files, so characters that a terminal would
/// interpret as commands are removed. Models with the same name get distinct names.
[[nodiscard]] ReportInput for_terminal(ReportInput input);

/// The width to fold text at, at least 40 columns.
[[nodiscard]] std::size_t usable_width(int width);

}  // namespace assay
