// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/json.hpp"

namespace assay {

/// A value as RFC 4180 writes it: quoted if it contains a separator, a quote or a line break. Spreadsheets would
/// execute text that begins with = + - @ as a formula, so an apostrophe is put before it; numbers are not changed.
[[nodiscard]] std::string csv_cell(const Json& value);

}  // namespace assay
