// SPDX-License-Identifier: Apache-2.0
#include "show/chart/layout.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::chart {
namespace {

struct Advance {
  std::uint32_t code;
  std::uint16_t regular, bold;  ///< widths in 1/2048 em
};
constexpr Advance kAdvances[] = {
#include "show/chart/font_widths.inc"
};
constexpr double kEm = 2048;
constexpr Advance kUnknown{0, 1767, 2038};

// The character at `at`, which moves on to the next one. A byte that is not UTF-8 stands for itself.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(at++);
  constexpr std::uint32_t kContinuation = 0x3F;
  constexpr unsigned kBits = 6;
  const std::size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
  constexpr std::array<std::uint32_t, 4> kMasks{0xFF, 0x1F, 0x0F, 0x07};
  std::uint32_t code = first & kMasks.at(more);
  for (std::size_t i = 0; i < more && at < text.size(); ++i) code = code << kBits | (byte(at++) & kContinuation);
  return code;
}

const Advance& advance_of(std::uint32_t code) {
  const auto* found = std::ranges::lower_bound(kAdvances, code, {}, &Advance::code);
  return found != std::end(kAdvances) && found->code == code ? *found : kUnknown;
}

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  double sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Advance& advance = advance_of(next_character(text, at));
    sum += bold ? advance.bold : advance.regular;
  }
  return sum * size / kEm;
}

std::string cut_to(std::string_view text, double width, double size) {
  if (text_width(text, size) <= width) return std::string(text);
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); next_character(text, at)) starts.push_back(at);
  starts.push_back(text.size());
  const std::size_t count = starts.size() - 1;
  for (std::size_t kept = count; kept > 1; --kept) {
    const std::size_t front = (kept + 1) / 2;
    std::string cut(text.substr(0, starts[front]));
    cut += "…";
    cut += text.substr(starts[count - (kept - front)]);
    if (text_width(cut, size) <= width) return cut;
  }
  return "…";
}

std::vector<std::string> wrapped(std::string_view text, double width, double size, bool bold) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word(text.substr(at, end - at));
    std::string longer = line;
    if (!longer.empty()) longer += ' ';
    longer += word;
    if (!line.empty() && text_width(longer, size, bold) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace assay::chart
