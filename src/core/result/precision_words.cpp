// SPDX-License-Identifier: Apache-2.0
#include "core/result/precision_words.hpp"

#include "core/base/text.hpp"

namespace assay {

std::string canonical_precision(std::string_view word) {
  std::string name = lower(word);
  if (is_any(name, {"fp32", "f32", "float", "single"})) return "float32";
  if (is_any(name, {"fp16", "f16", "half"})) return "float16";
  return name == "bf16" ? "bfloat16" : name;
}

}  // namespace assay
