// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Headings under which the help of a command lists its options.
inline constexpr const char* kModel = "Model";
inline constexpr const char* kMatrix = "Matrix of cells (each combination is measured)";
inline constexpr const char* kMeasuring = "Measuring";
inline constexpr const char* kOutput = "Output";
inline constexpr const char* kStorage = "Storage";

// Headings under which `assay --help` lists the commands. Those of the first are shown with an example each, which is
// the first line after "Examples:" in the command's footer.
inline constexpr const char* kFirstCommands = "Start with";
inline constexpr const char* kMachineCommands = "This machine";
inline constexpr const char* kModelCommands = "Models";
inline constexpr const char* kResultCommands = "Results and files";
inline constexpr const char* kLaterCommands = "Not built yet";

/// How help shows an option: its heading and what the value is called ("FILE", "N[,N…]"; "" for a switch).
CLI::Option* show_as(CLI::Option* option, const char* group, std::string value = "");

/// Adds `--output-format text|json` to a command.
CLI::Option* add_output_format(CLI::App& command, std::string& format);

/// Makes an option refuse every word but these; the error names the nearest.
CLI::Option* only_words(CLI::Option* option, std::vector<std::string> valid);

/// `text` folded at `width` columns: its words begin in column `left`, and the first follows what was written up to
/// column `at`. Ends with a line end.
[[nodiscard]] std::string folded(std::string_view text, std::size_t left, std::size_t at, std::size_t width = 80);

/// The help of the program or of the command that was typed, at most 80 columns wide.
[[nodiscard]] std::string help_text(const CLI::App& app, const std::string& name);

}  // namespace assay::cli
