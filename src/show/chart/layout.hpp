// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Where text fits, by the widths of DejaVu Sans. Used within this module only.
namespace assay::chart {

/// In pixels at this size. A character that the table lacks is as wide as a capital M.
[[nodiscard]] double text_width(std::string_view text, double size, bool bold = false);

/// `text`, with "…" in its middle if it would be wider than `width`.
[[nodiscard]] std::string cut_to(std::string_view text, double width, double size);

/// Lines of whole words that are at most `width` wide; a longer word has its own line.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, double width, double size, bool bold = false);

/// What is wrong with the text of a rendered picture: outside of the picture, or over other text. Empty: nothing.
[[nodiscard]] std::vector<std::string> text_faults(std::string_view svg);

}  // namespace assay::chart
