// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "chart/chart.hpp"
#include "result/record.hpp"

/// The functions that make charts; without data they return none. Used within this module only.
namespace assay::chart {

/// What every chart begins with: the cells of one machine, by model in the order of their names, which stand for one
/// model each.
struct Cells {
  std::vector<Record> rows;
  std::vector<std::string> models;
  std::string machine;             ///< name of the host
  std::vector<std::string> notes;  ///< what was left out
};
[[nodiscard]] Cells cells_of(const Input& input);

/// The rows that stand for a model in a one-number picture, one for each target: those of representatives(), with what
/// is not ranked in the same cell; if nothing is ranked, those of the cell that most targets have `value` of. Only if
/// there is nothing else, those of simulated and software devices.
[[nodiscard]] std::vector<const Record*> typical_cells(std::span<const Record> rows, const std::string& model,
                                                       Number Record::*value = &Record::latency_p50_ms);

/// "128 tokens · float32 · laboratory · 3 launches · 2026-03-02", of what all of the rows have in common.
[[nodiscard]] std::string common_words(std::span<const Record* const> rows);

[[nodiscard]] std::vector<Chart> hardware_comparison(const Input& input);
[[nodiscard]] std::vector<Chart> model_performance(const Input& input);
[[nodiscard]] std::vector<Chart> relative_speedup(const Input& input);
[[nodiscard]] std::vector<Chart> memory_usage(const Input& input);
[[nodiscard]] std::vector<Chart> architecture_performance_matrix(const Input& input);
[[nodiscard]] std::vector<Chart> category_comparison(const Input& input);
[[nodiscard]] std::vector<Chart> hardware_efficiency(const Input& input);
[[nodiscard]] std::vector<Chart> memory_scaling(const Input& input);
[[nodiscard]] std::vector<Chart> optimization_opportunities(const Input& input);
[[nodiscard]] std::vector<Chart> architecture_comparison(const Input& input);
[[nodiscard]] std::vector<Chart> latency_distribution(const Input& input);
[[nodiscard]] std::vector<Chart> samples_over_time(const Input& input);
[[nodiscard]] std::vector<Chart> history(const Input& input);
[[nodiscard]] std::vector<Chart> batch_size_scaling(const Input& input);
[[nodiscard]] std::vector<Chart> latency_vs_batch_size(const Input& input);
[[nodiscard]] std::vector<Chart> throughput_vs_batch_size(const Input& input);
[[nodiscard]] std::vector<Chart> memory_usage_vs_batch_size(const Input& input);
[[nodiscard]] std::vector<Chart> generation(const Input& input);
[[nodiscard]] std::vector<Chart> verification(const Input& input);

}  // namespace assay::chart
