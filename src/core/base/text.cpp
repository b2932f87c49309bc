// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>

namespace assay {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 when there is none.
std::size_t utf8_sequence(std::string_view s) {
  const auto at = [&](std::size_t i) { return i < s.size() ? static_cast<std::uint8_t>(s[i]) : std::uint8_t{0}; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
  const std::uint8_t a = at(0), b = at(1);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a <= 0xDF) return tail(1) ? 2 : 0;
  if (a >= 0xE0 && a <= 0xEF) {
    if (!tail(1) || !tail(2) || (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F)) return 0;
    return 3;
  }
  if (a >= 0xF0 && a <= 0xF4) {
    if (!tail(1) || !tail(2) || !tail(3) || (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Whether `word` is `candidate` with letters left out, as "onnxrt" and "ort" are of "onnxruntime".
bool abbreviates(std::string_view word, std::string_view candidate) {
  constexpr std::size_t kLeast = 3, kLongest = 4;  // letters; of the candidate for each one
  if (word.size() < kLeast || candidate.size() > kLongest * word.size() || word.front() != candidate.front())
    return false;
  std::size_t found = 0;
  for (const char letter : candidate)
    if (found < word.size() && letter == word[found]) ++found;
  return found == word.size();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0;;) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); });
  return out;
}

std::vector<std::string> closest(std::string_view wanted, const std::vector<std::string>& candidates) {
  std::vector<std::pair<std::size_t, std::string>> scored;
  const std::string needle = lower(wanted.substr(0, 200));
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(needle, lower(candidate));
    const bool contained = needle.size() >= 3 && lower(candidate).find(needle) != std::string::npos;
    if (contained || distance <= std::max<std::size_t>(2, candidate.size() / 3))
      scored.emplace_back(contained ? 1 : distance, candidate);
  }
  // A word that was mistyped is more likely than one that was shortened.
  if (scored.empty())
    for (const std::string& candidate : candidates)
      if (abbreviates(needle, lower(candidate))) scored.emplace_back(0, candidate);
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (scored.size() > 3) scored.resize(3);
  std::vector<std::string> names;
  names.reserve(scored.size());
  for (auto& [distance, name] : scored) names.push_back(std::move(name));
  return names;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

std::string sanitise(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = utf8_sequence(text);
    if (n == 0) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    }
    const auto c = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F: terminals take U+009B for the escape that begins a command.
    const bool late_control = n == 2 && c == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    if ((n > 1 && !late_control) || (n == 1 && c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t')
      out.append(text.substr(0, n));
    text.remove_prefix(n);
  }
  return out;
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 80;
  return fmt::format("'{}{}'", sanitise(name.substr(0, kMost)), name.size() > kMost ? "…" : "");
}

std::string one_line(std::string_view text) {
  std::string line = sanitise(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

std::string escape_bytes(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::size_t n = utf8_sequence(name);
    const auto byte = static_cast<unsigned char>(name[0]);
    if (n == 0 || byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out.append(name.substr(0, n));
    name.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

}  // namespace assay
