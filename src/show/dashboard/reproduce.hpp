// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/record.hpp"

namespace assay {
struct Dataset;
}

namespace assay::dashboard {

/// The `assay bench` command that measures the cell of a row again, with every option that its task key contains and
/// that differs from the default, and as many inferences and launches as it had.
[[nodiscard]] std::string reproduce_command(const Record& row);

/// Why no command measures the cell again: another program wrote the row. "" if reproduce_command() does.
[[nodiscard]] std::string why_not_repeatable(const Record& row, const Dataset& data);

}  // namespace assay::dashboard
