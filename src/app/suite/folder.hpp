// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "show/report/report.hpp"

/// The folder of a suite: OUTPUT_DIR/YYYYMMDD_HHMMSS, with the file names of the hardware guide (docs/formats.md).
namespace assay::suite {

inline constexpr const char* kResultsFile = "benchmark_results.json";
inline constexpr const char* kCsvFile = "benchmark_results.csv";
inline constexpr const char* kReportFile = "benchmark_report.md";
inline constexpr const char* kConfigFile = "benchmark_config.json";
inline constexpr const char* kPlotsFolder = "plots";
inline constexpr const char* kPageFile = "index.html";

/// Makes an empty folder for a suite that begins now; its name ends in _2, _3, … if there is one of this second.
/// Errors: internal (it cannot be made).
[[nodiscard]] Result<std::filesystem::path> make_folder(const std::filesystem::path& output_dir,
                                                        const std::string& prefix = {});

/// The folders of suites in `output_dir`, the newest first.
[[nodiscard]] std::vector<std::filesystem::path> suite_folders(const std::filesystem::path& output_dir);

/// Writes the results, as JSON and CSV, and the report. Errors: those of write_file_atomically.
[[nodiscard]] Status write_results(const std::filesystem::path& folder, const ReportInput& input);

}  // namespace assay::suite
