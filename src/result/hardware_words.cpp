// SPDX-License-Identifier: Apache-2.0
#include "result/hardware_words.hpp"

#include "base/text.hpp"

namespace assay {
namespace {

struct Serving {
  std::string hardware;
  std::vector<std::string> engines;
};

const std::vector<Serving>& serving() {
  static const std::vector<Serving> table{
      {"cpu", {"onnxruntime", "openvino", "libtorch", "xla", "browser", "null"}},
      {"cuda", {"onnxruntime", "libtorch", "xla"}},
      {"rocm", {"onnxruntime", "libtorch"}},
      {"mps", {"onnxruntime", "libtorch"}},
      {"openvino", {"openvino", "onnxruntime"}},
      {"qnn", {"onnxruntime"}},
      {"webgpu", {"browser"}},
      {"webnn", {"browser"}},
      {"wasm", {"browser"}},
      {"tpu", {"xla"}},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& hardware_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> names;
    for (const Serving& row : serving()) names.push_back(row.hardware);
    return names;
  }();
  return words;
}

const std::vector<std::string>& engines_for(std::string_view hardware) {
  static const std::vector<std::string> none;
  for (const Serving& row : serving())
    if (row.hardware == hardware) return row.engines;
  return none;
}

std::string canonical_hardware(std::string_view word) {
  std::string name = lower(word);
  return name == "qualcomm" ? "qnn" : name;
}

std::string target_key(std::string_view hardware, std::string_view engine) {
  const std::vector<std::string>& engines = engines_for(hardware);
  const bool is_default = engine.empty() || (!engines.empty() && engines.front() == engine);
  return is_default ? std::string(hardware) : std::string(hardware) + "@" + std::string(engine);
}

}  // namespace assay
