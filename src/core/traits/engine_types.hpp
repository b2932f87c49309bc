// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/dtype.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

using EngineOptions = std::vector<std::pair<std::string, std::string>>;

struct EngineDevice {
  std::string id, hardware, name;
  std::uint64_t memory_bytes = 0;
  int score = 0;
  bool simulated = false, software = false;
};

struct EngineOptionInfo {
  std::string name, type, default_value, help;
};

/// Whether a value matches its option's type: bool, int, float, string, or words as in "all|basic|none".
[[nodiscard]] bool allows(const EngineOptionInfo& option, const std::string& value);

struct ValueSignature {
  std::string name;
  DType dtype = DType::kUndefined;
  bool has_rank = true;
  Shape shape;                       ///< -1 if unknown until bound
  std::vector<std::string> symbols;  ///< empty, or one per extent
  /// The rows of the table that these integers select from; 0 if unknown, or if they select none.
  std::int64_t index_limit = 0;
};

}  // namespace assay
