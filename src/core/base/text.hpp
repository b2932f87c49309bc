// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);

/// "1 cell", "3 cells". `many`: the plural; "": `one` with an s.
template <std::integral Number>
[[nodiscard]] std::string counted(Number count, std::string_view one, std::string_view many = {}) {
  const std::string_view noun = count == 1 || many.empty() ? one : many;
  return std::to_string(count).append(" ").append(noun).append(count == 1 || !many.empty() ? "" : "s");
}

/// Whether `text` equals one of `words`.
[[nodiscard]] inline bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// The whole text as a number, or nullopt: "12x" and "" are not numbers.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The candidates that look most like `wanted` (edit distance), best first, at most three: for "did you mean".
[[nodiscard]] std::vector<std::string> closest(std::string_view wanted, const std::vector<std::string>& candidates);

/// Whether `text` is valid UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates).
[[nodiscard]] bool is_utf8(std::string_view text);

/// Keeps what JSON, CSV and terminals can show: invalid UTF-8 becomes U+FFFD; control characters, also those beyond
/// ASCII, are removed, except \n and \t.
[[nodiscard]] std::string sanitise(std::string_view text);

/// A name from a file as a message shows it: in quotes, sanitised, cut after 80 bytes.
[[nodiscard]] std::string shown(std::string_view name);

/// The same for one line of a terminal: line ends and tabs are spaces.
[[nodiscard]] std::string one_line(std::string_view text);

/// The name of a file as it can be shown and typed again: bytes that are not valid UTF-8, and control characters,
/// become `\xNN`.
[[nodiscard]] std::string escape_bytes(std::string_view name);

}  // namespace assay
