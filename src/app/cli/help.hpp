// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace assay::cli {

// Headings under which the help of a command lists its options. A command may have headings of its own.
inline constexpr const char* kModel = "Model";
inline constexpr const char* kShapes = "Shapes";
inline constexpr const char* kMatrix = "Matrix of cells (each combination is measured)";
inline constexpr const char* kMeasuring = "Measuring";
inline constexpr const char* kOutput = "Output";
inline constexpr const char* kStorage = "Storage";
inline constexpr const char* kSelected = "What to answer";

// Headings under which `assay --help` lists the commands. Those of the first are shown with an example each, which is
// the first line after "Examples:" in the command's footer.
inline constexpr const char* kFirstCommands = "Start with";
inline constexpr const char* kMachineCommands = "This machine";
inline constexpr const char* kModelCommands = "Models";
inline constexpr const char* kResultCommands = "Results and files";
/// No help lists what has this heading: `assay help` itself, and commands and options that only answer that they are
/// not part of this version (not_yet.hpp).
inline constexpr const char* kUnlisted = "";

/// How help shows an option: its heading and what the value is called ("FILE", "N[,N…]"; "" for a switch).
CLI::Option* show_as(CLI::Option* option, const char* group, std::string value = "");

/// Adds `--output-format text|json`, or these words, to a command.
CLI::Option* add_output_format(CLI::App& command, std::string& format,
                               const std::vector<std::string>& words = {"text", "json"});

/// Makes an option refuse every word but these; the error names the nearest.
CLI::Option* only_words(CLI::Option* option, std::vector<std::string> valid);

/// The help of the program or of the command that was typed, at most 80 columns wide.
[[nodiscard]] std::string help_text(const CLI::App& app, const std::string& name);

}  // namespace assay::cli
