// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay {

/// The compatibility matrix in a folder of results (show/report/report.hpp).
inline constexpr const char* kMatrixFile = "hardware_compatibility_matrix.json";

}  // namespace assay
