// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// The usual short names of element types: fp32, f32, float and single are float32; fp16, f16 and half float16; bf16
/// bfloat16. Names are not case sensitive; other words are returned in lower case.
[[nodiscard]] std::string canonical_precision(std::string_view word);

}  // namespace assay
