// SPDX-License-Identifier: Apache-2.0
#include "core/result/hardware_words.hpp"

#include <fmt/format.h>

#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"

namespace assay {

const std::vector<std::string>& hardware_words() {
  static const std::vector<std::string> words{"cpu", "cuda",   "rocm",  "mps",  std::string(kOpenvinoWord),
                                              "qnn", "webgpu", "webnn", "wasm", "tpu"};
  return words;
}

std::string canonical_hardware(std::string_view word) {
  std::string name = lower(word);
  return name == "qualcomm" ? "qnn" : name;
}

std::string did_you_mean_hardware(std::string_view word) {
  const std::string name = lower(word);
  if (name == "gpu") return "did you mean cuda (NVIDIA), rocm (AMD) or mps (Apple)?";
  if (is_any(name, {"nvidia", "tensorrt"})) return "did you mean cuda?";
  if (is_any(name, {"amd", "hip", "radeon"})) return "did you mean rocm?";
  if (is_any(name, {"apple", "metal", "coreml"})) return "did you mean mps?";
  if (is_any(name, {"intel", "xpu"})) return fmt::format("did you mean cpu or {}?", kOpenvinoWord);
  if (is_any(name, {"x86", "x86_64", "arm", "arm64", "host"})) return "did you mean cpu?";
  std::vector<std::string> valid = hardware_words();
  valid.insert(valid.end(), {"all", "qualcomm"});
  return did_you_mean(word, valid);
}

}  // namespace assay
