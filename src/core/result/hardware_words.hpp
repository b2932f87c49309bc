// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// OpenVINO as hardware: the devices that Intel's runtime finds. The engine has the same name, but is different.
inline constexpr std::string_view kOpenvinoWord = "openvino";

/// All values of `--hardware`, in the order of reports: cpu, cuda, rocm, mps, openvino, qnn, webgpu, …
/// Engines state which hardware they support (core/traits/engine_entry.hpp).
[[nodiscard]] const std::vector<std::string>& hardware_words();

/// "qualcomm" is another name of "qnn"; names are not case sensitive.
[[nodiscard]] std::string canonical_hardware(std::string_view word);

/// What was probably meant by a word that is not a hardware: "did you mean cuda?"; "" if nothing is near. Names of
/// vendors and of kinds are understood: "gpu", "nvidia", "metal".
[[nodiscard]] std::string did_you_mean_hardware(std::string_view word);

}  // namespace assay
