// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/app_forward.hpp"
#include "app/cli/context.hpp"
#include "core/base/clock.hpp"
#include "history/store/dataset.hpp"

namespace assay::cli {

/// The selected results; or why nothing could be selected.
struct Selected {
  Dataset data;
  std::optional<Error> none;  ///< the database has no results, or none that have all that was requested
};

/// For `none`: says which command stores results there.
[[nodiscard]] Error no_results_yet(const std::filesystem::path& database);

/// For `none`: each option that selects has results, but not all of them together.
[[nodiscard]] Error nothing_has_all(const std::string& source);

/// Prints why there are no results, and returns the status for it.
[[nodiscard]] ExitCode answer_none(const Error& none, const Context& context);

/// The options that select results of the history: `query`, `report` and `plot` have the same.
class SelectionOptions {
 public:
  /// Adds --model, --family, and so on, and --db-path.
  void add_to(CLI::App& command);

  std::string db_path;
  /// Whether any of them is used.
  [[nodiscard]] bool select() const;
  /// What the options say; --until with a date alone is the end of that day. Errors: invalid_argument, if a time is not
  /// valid.
  [[nodiscard]] Result<Selection> selection() const;
  /// Reads what was selected. Errors: those of selection() and read_selected().
  [[nodiscard]] Result<Selected> read() const;

 private:
  Selection words_;
  std::string since_, until_;
};

/// Adds the ids of checkpoints to the models of `chosen` that the zoo knows by another name. Then each word must be
/// that of some row. Errors: invalid_argument for one that is not, with the nearest one.
[[nodiscard]] Status choose_words(std::span<const Record* const> rows, const std::string& source, Selection& chosen);

/// Reads what `chosen` selects of a database. Errors: those of Store::open; invalid_argument for a word that no result
/// has, with the nearest one.
[[nodiscard]] Result<Selected> read_selected(const std::filesystem::path& database, Selection chosen);

/// A time as a person writes it: "2026-03-02", "2026-03-02T12:00:00Z" (UTC), "7d", "12h" (before `now`), "yesterday".
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text, WallTime now);

}  // namespace assay::cli
