// SPDX-License-Identifier: Apache-2.0
#include "show/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace assay {
namespace {

// UTF-8's further bytes begin with the bits 10.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Words, where a command in backquotes is one: a line end inside it would be copied with it.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{""};
  bool command = false;
  for (const char c : text) {
    if (c == '`') command = !command;
    if (c == ' ' && !command)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string folded(std::string line, std::string_view text, std::size_t left, std::size_t width) {
  std::string out;
  bool first = true;  // of its line
  for (const std::string& word : words_of(text)) {
    if (!first && columns_of(line) + 1 + columns_of(word) > width) {
      out += line + "\n";
      line.assign(left, ' ');
      first = true;
    }
    line += (first ? "" : " ") + word;
    first = false;
  }
  return out + line + "\n";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = columns_of(text);
  const std::string space(width > have ? width - have : 0, ' ');
  return right ? space + text : text + space;
}

std::string Colours::operator()(const char* code, const std::string& text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace assay
