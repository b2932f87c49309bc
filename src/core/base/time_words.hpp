// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace assay {

/// "40 s", "5 min 10 s", "1 h", "1 h 30 min": rounded to seconds, to minutes from an hour on.
[[nodiscard]] std::string time_words(double seconds);
/// "--budget 5 min", for messages.
[[nodiscard]] std::string budget_text(std::chrono::nanoseconds budget);

}  // namespace assay
