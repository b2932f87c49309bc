// SPDX-License-Identifier: Apache-2.0
#include "result/hardware_words.hpp"

#include "base/text.hpp"

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

}  // namespace assay
