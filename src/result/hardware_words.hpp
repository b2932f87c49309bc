// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Every hardware word of `--hardware`, in the order of reports: cpu, cuda, rocm, mps, openvino, qnn, webgpu, …
[[nodiscard]] const std::vector<std::string>& hardware_words();

/// The engines that serve a hardware word, its default first; empty for a word that is none.
[[nodiscard]] const std::vector<std::string>& engines_for(std::string_view hardware);

/// "qualcomm" is another word for "qnn"; words are not case sensitive.
[[nodiscard]] std::string canonical_hardware(std::string_view word);

/// The guide's key of a target: the hardware for its default engine, "cpu@libtorch" for another.
[[nodiscard]] std::string target_key(std::string_view hardware, std::string_view engine);

}  // namespace assay
