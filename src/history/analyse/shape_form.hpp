// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result/record.hpp"

namespace assay {

/// The form of shapes that was requested for a row, if it differs from what its engine gets by default for models of
/// this family: "static" (--static-shapes), "dynamic" (--dynamic-shapes, --budget); else "". Defaults are always those
/// of assay's own engines, as in target_key(); for other engines, shapes are static by default.
[[nodiscard]] std::string_view unusual_shapes(const Record& row);

}  // namespace assay
