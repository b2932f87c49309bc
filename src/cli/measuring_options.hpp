// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "cli/context.hpp"
#include "plan/targets.hpp"
#include "prepare/settings.hpp"
#include "run/session.hpp"

namespace assay::cli {

/// The value of an option that takes one integer. Checked here and not by the parser, which would clamp what is too
/// large. Errors: invalid_argument, naming option, text and what would be valid.
[[nodiscard]] Result<std::int64_t> integer_option(const char* option, const std::string& text, std::int64_t least,
                                                  std::int64_t most);

/// Errors: invalid_argument, for a model that is asked for by an empty name.
[[nodiscard]] Status check_named(const std::string& model);

/// The options that every measuring command has (docs/formats.md, "Options"). Lists are written `1,2,4` or `1 2 4`.
struct MeasuringOptions {
  std::vector<std::string> hardware, engines;
  std::string device;
  std::vector<std::string> batch_sizes, sequence_lengths, output_tokens, streams,
      threads;  ///< integers, checked in settings()
  std::string precision;
  std::optional<std::string> seed_text;
  std::string data;
  std::string size;
  std::vector<std::string> engine_options;
  std::optional<std::string> warmup, iterations;
  double timeout = 600;
  double scale = 1.0;
  std::optional<double> memory_limit_mb;
  std::string db_path, spool;
  bool resume = false;
  bool no_resource_pool = false, use_resource_pool = false;
  bool debug = false, quiet = false;
  std::string output_format = "text";
  std::string kv_cache;
  std::optional<std::string> form;  ///< --kv-cache under its old name: refused

  /// Adds the options. `--hardware` also answers to `--device`, `--engines` to `--engine`.
  void add_to(CLI::App& command);

  /// The settings they mean. Errors: invalid_argument, naming the option, the value and what is valid.
  [[nodiscard]] Result<RunSettings> settings() const;
  [[nodiscard]] TargetRequest target_request() const;
  [[nodiscard]] bool json() const { return output_format == "json"; }
  /// Log level and the like.
  void apply() const;
};

/// --db-path, else ASSAY_DB_PATH, else ./benchmark_db.duckdb.
[[nodiscard]] std::filesystem::path database_path(const std::string& given);
/// --spool, else `<db>.spool`.
[[nodiscard]] std::filesystem::path spool_path(const std::string& given, const std::filesystem::path& database);

}  // namespace assay::cli
