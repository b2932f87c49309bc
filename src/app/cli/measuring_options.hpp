// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/context.hpp"
#include "app/cli/option_reader.hpp"
#include "bench/plan/targets.hpp"
#include "bench/settings/settings.hpp"

namespace assay::cli {

/// Errors: invalid_argument, for an empty name of a model.
[[nodiscard]] Status check_named(const std::string& model);

/// What one measuring command does without options. Its help states it, and its settings start from it.
struct MeasuringDefaults {
  RunSettings settings{};
  std::string hardware = "all that this machine has";
};

/// The options that every measuring command has: those of bench/settings/settings.def, and those for targets, output
/// and storage. Lists are written `1,2,4` or `1 2 4`. After add_to() it may be copied; the copy has the words that were
/// given.
class MeasuringOptions {
 public:
  explicit MeasuringOptions(MeasuringDefaults defaults = {}) : defaults_(std::move(defaults)) {}

  /// Adds the options. `--hardware` also answers to `--device`, `--engines` to `--engine`. Call it once, on an object
  /// that stays where it is.
  void add_to(CLI::App& command);

  /// Whether the option of settings.def with this name was given.
  [[nodiscard]] bool given(std::string_view option) const;
  /// Gives an option of settings.def a value, in place of what was typed. `typed`: what messages call it.
  void set(std::string_view option, const std::string& word, std::string typed);

  /// The options of settings.def that were given, by their first names.
  [[nodiscard]] std::vector<std::string> given() const;
  /// What settings() begins with, in place of the defaults of the command: those of a configuration file.
  void start_from(RunSettings settings) { defaults_.settings = std::move(settings); }

  /// The settings that the options mean. Errors: invalid_argument, naming the option, the value and what is valid.
  [[nodiscard]] Result<RunSettings> settings() const;
  [[nodiscard]] TargetRequest target_request() const { return {hardware, engines, device, false}; }
  [[nodiscard]] bool json() const { return output_format == "json"; }
  /// Sets the level of the log.
  void apply() const;

  std::vector<std::string> hardware, engines;
  std::string device;
  std::string db_path, spool;
  bool resume = false;
  bool wait = false;  ///< wait until no other measurement runs on this machine
  bool plan = false;  ///< print what would run, and measure nothing
  bool verbose = false, debug = false, quiet = false;
  std::string output_format = "text";

 private:
  /// An option of settings.def and the words that were typed behind it.
  struct Declared {
    std::string name;  ///< the first: "--threads"
    std::vector<std::string> words{};
    std::string typed{};  ///< messages call it so; empty: they use `name`
    std::function<Status(const Declared&, RunSettings&)> read{};
  };

  template <class T, class Member>
  void declare(CLI::App& command, const std::string& names, const char* group, Reader<T> reader, const char* help,
               Member member);
  [[nodiscard]] const Declared& declared(std::string_view option) const;

  MeasuringDefaults defaults_;
  std::deque<Declared> declared_;  // the parser keeps their addresses
};

/// `--verify-only` and `--benchmark-only`: which of the two steps of a cell are done.
struct StepOptions {
  bool verify_only = false, benchmark_only = false;

  void add_to(CLI::App& command);
  /// Errors: invalid_argument, if both are given.
  [[nodiscard]] Status apply_to(RunSettings& settings) const;
};

/// Adds `--db-path` and `--spool` to a command.
void add_storage_options(CLI::App& command, std::string& database, std::string& spool);

/// --db-path, else ASSAY_DB_PATH, else ./benchmark_db.duckdb; of a symbolic link the file that it leads to, so that the
/// database has one lock, one spool and one snapshot whatever it is called by.
[[nodiscard]] std::filesystem::path database_path(const std::string& given);
/// " --db-path FILE" for a command that is to use the same database; "" for the default one.
[[nodiscard]] std::string database_option(const std::filesystem::path& database);
/// --spool, else `<db>.spool`.
[[nodiscard]] std::filesystem::path spool_path(const std::string& given, const std::filesystem::path& database);

}  // namespace assay::cli
