// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json.hpp"

namespace assay::dashboard {

/// Writes the sections of a document (pack.hpp). Each function returns what the header says of its column.
class Columns {
 public:
  [[nodiscard]] Json f64(std::string_view name, std::span<const std::optional<double>> values);
  [[nodiscard]] Json f32(std::string_view name, std::span<const std::optional<double>> values);
  /// As i32 if all fit, else as f64.
  [[nodiscard]] Json integers(std::string_view name, std::span<const std::optional<std::int64_t>> values);
  [[nodiscard]] Json texts(std::string_view name, std::span<const std::string> values);
  /// Codes without a name: {"at", "bytes"}.
  [[nodiscard]] Json codes(std::span<const std::uint16_t> values);

  /// The document: `header` gets the list of texts.
  [[nodiscard]] std::string finish(Json header) const;

 private:
  [[nodiscard]] Json section(std::string_view bytes);
  [[nodiscard]] std::uint32_t index_of(const std::string& text);

  std::vector<std::string> texts_{std::string()};
  std::unordered_map<std::string, std::uint32_t> known_{{std::string(), 0}};
  std::string sections_;
};

}  // namespace assay::dashboard
