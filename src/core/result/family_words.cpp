// SPDX-License-Identifier: Apache-2.0
#include "core/result/family_words.hpp"

namespace assay {

const std::vector<std::string>& family_words() {
  static const std::vector<std::string> all{"embedding", "text_generation", "vision", "audio", "multimodal"};
  return all;
}

}  // namespace assay
