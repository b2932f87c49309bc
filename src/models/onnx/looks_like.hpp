// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/base/files.hpp"

namespace assay {

/// What a file that is not an ONNX model seems to be: "an HTML or XML page", "a zip archive (…)"; "" if unknown.
[[nodiscard]] std::string_view looks_like(Bytes bytes);

}  // namespace assay
