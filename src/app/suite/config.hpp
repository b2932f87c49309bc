// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/plan/targets.hpp"
#include "bench/settings/settings.hpp"
#include "core/base/json.hpp"

namespace assay::suite {

/// When a suite should run. It is read and checked; assay keeps no schedule.
struct Schedule {
  bool enabled = false;
  std::string frequency = "daily";  ///< daily, weekly, monthly
  std::string time = "02:00";
};

/// The version of the keys of a configuration; a file may leave it out.
inline constexpr const char* kConfigSchema = "1.0";

/// A configuration file of `assay suite` (docs/formats.md, "Suite configuration").
struct SuiteConfig {
  RunSettings settings;
  std::vector<ModelChoice> models;  ///< same order as in the file; each has its family
  TargetRequest targets;
  bool parallel = true, plots = true, matrix = true;
  Schedule schedule;
  std::string output_dir = "./benchmark_results";
  std::set<std::string> given;  ///< the keys that the file has
};

/// The file that `--create-config` writes: the hardware guide's example.
[[nodiscard]] const std::string& example_config();

/// What a suite does without a file: example_config().
[[nodiscard]] const SuiteConfig& default_config();

/// A key that is absent has the value of example_config(). Models that are paths are relative to the file's folder.
/// Errors: those of read_file; invalid_argument with all mistakes (at most ten), each with file, line and column, what
/// is valid there, and the nearest key.
[[nodiscard]] Result<SuiteConfig> read_config(const std::filesystem::path& file);
/// The same from a text.
[[nodiscard]] Result<SuiteConfig> parse_config(std::string text, const std::filesystem::path& file);

/// Keeps the models that `words` name: families, names of models in the configuration, or ids. Errors:
/// invalid_argument, for any other word, with the nearest.
[[nodiscard]] Status choose_models(SuiteConfig& config, const std::vector<std::string>& words);

/// The configuration as a file: every key of the guide, and those of ours that were given.
[[nodiscard]] Json to_json(const SuiteConfig& config);

}  // namespace assay::suite
