// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

/// Several names of one option are one thing to the program, but not to the person who typed one of them: errors use
/// that one.
class TypedNames {
 public:
  TypedNames() = default;
  /// The names that the words of a command line use for the options of the command that was chosen.
  TypedNames(const CLI::App& app, int argc, char** argv);

  /// `text` with each other name of an option that was typed replaced by the typed one. A command in backquotes, which
  /// may be another one, is unchanged.
  [[nodiscard]] std::string apply(std::string_view text) const;

 private:
  std::vector<std::pair<std::string, std::string>> typed_;  ///< name, and the one that was typed in its place
};

}  // namespace assay::cli
