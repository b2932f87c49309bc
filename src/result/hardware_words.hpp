// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// OpenVINO as a hardware word: what Intel's runtime finds. The engine of that name is another thing.
inline constexpr std::string_view kOpenvinoWord = "openvino";

/// Every hardware word of `--hardware`, in the order of reports: cpu, cuda, rocm, mps, openvino, qnn, webgpu, …
/// Which engines serve a word is theirs to say (engine/engine_entry.hpp).
[[nodiscard]] const std::vector<std::string>& hardware_words();

/// "qualcomm" is another word for "qnn"; words are not case sensitive.
[[nodiscard]] std::string canonical_hardware(std::string_view word);

}  // namespace assay
