// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// The width of text on a terminal: its characters, each of which is one column wide in all text of assay.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Appends `text` to `line` and folds it at `width` columns: further lines begin with `left` spaces. A command in
/// backquotes is never divided, and a word that is longer than a line has a line of its own. Ends with a line end.
[[nodiscard]] std::string folded(std::string line, std::string_view text, std::size_t left, std::size_t width);

/// `text` with spaces up to `width` columns, behind it or, if `right`, before it.
[[nodiscard]] std::string padded(const std::string& text, std::size_t width, bool right = false);

/// Colours for text on a terminal; without them, text is unchanged.
class Colours {
 public:
  explicit Colours(bool on) : on_(on) {}
  /// `code` is that of ECMA-48, SGR: "31" is red.
  [[nodiscard]] std::string operator()(const char* code, const std::string& text) const;

 private:
  bool on_;
};

}  // namespace assay
