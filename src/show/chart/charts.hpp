// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/record.hpp"
#include "show/chart/chart.hpp"

/// The functions that make charts; without data they return none. Used within this module only.
namespace assay::chart {

/// The rows that stand for a model in a one-number picture, one for each target: those of representatives(), with what
/// is not ranked in the same cell; if nothing is ranked, those of the cell that most targets have the value of. Only if
/// there is nothing else, those of simulated and software devices.
struct Typical {
  std::vector<const Record*> time, memory;  ///< rows for pictures of times, and for pictures of memory
  bool ranked = false;                      ///< whether representatives() has any
};

/// What every chart begins with: the cells of one machine, by model in the order of their names, which stand for one
/// model each.
struct Cells {
  std::vector<Record> rows;
  std::vector<std::string> models;
  std::map<std::string, Typical> typical;   ///< the key is the model; points into `rows`
  std::string machine;                      ///< the machine's name in answers; its host if there is only one
  std::string hardware_id;                  ///< id of the machine
  std::vector<std::string> notes;           ///< messages about cells that were left out
  std::vector<std::string> other_machines;  ///< the `notes` about other machines
};

/// An input, and what most charts compute of it.
struct Source {
  explicit Source(Input of);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Input input;
  Cells cells;
};

/// The name of a category or family in words: "encoder decoders"; "other" if it has none.
[[nodiscard]] std::string group_words(std::string name);

/// For how many of those that it was compared for a target is claimed to be ahead.
struct Wins {
  std::size_t count = 0, of = 0;
};
/// "openvino is the fastest for 4 of 6 models, cuda for 1; for 1 none is shown to be", the most first: `wins` by
/// target, those that won. `one_each`: a thing has one winner at most, so that those without one are counted.
[[nodiscard]] std::string winners_words(const std::map<std::string, Wins>& wins, std::string_view claim,
                                        std::string_view things, bool one_each);

/// "128 tokens · float32 · laboratory · 1 to 3 launches · 2026-03-02": what all of the rows have in common, and the
/// range of their launches and dates.
[[nodiscard]] std::string common_words(std::span<const Record* const> rows);

[[nodiscard]] std::vector<Chart> hardware_comparison(const Source& source);
[[nodiscard]] std::vector<Chart> model_performance(const Source& source);
[[nodiscard]] std::vector<Chart> relative_speedup(const Source& source);
[[nodiscard]] std::vector<Chart> memory_usage(const Source& source);
[[nodiscard]] std::vector<Chart> architecture_performance_matrix(const Source& source);
[[nodiscard]] std::vector<Chart> category_comparison(const Source& source);
[[nodiscard]] std::vector<Chart> hardware_efficiency(const Source& source);
[[nodiscard]] std::vector<Chart> memory_scaling(const Source& source);
[[nodiscard]] std::vector<Chart> optimization_opportunities(const Source& source);
[[nodiscard]] std::vector<Chart> architecture_comparison(const Source& source);
[[nodiscard]] std::vector<Chart> latency_distribution(const Source& source);
[[nodiscard]] std::vector<Chart> samples_over_time(const Source& source);
[[nodiscard]] std::vector<Chart> history(const Source& source);
[[nodiscard]] std::vector<Chart> batch_size_scaling(const Source& source);
[[nodiscard]] std::vector<Chart> latency_vs_batch_size(const Source& source);
[[nodiscard]] std::vector<Chart> throughput_vs_batch_size(const Source& source);
[[nodiscard]] std::vector<Chart> memory_usage_vs_batch_size(const Source& source);
[[nodiscard]] std::vector<Chart> generation(const Source& source);
[[nodiscard]] std::vector<Chart> verification(const Source& source);
[[nodiscard]] std::vector<Chart> comparison(const Source& source);
[[nodiscard]] std::vector<Chart> phases(const Source& source);
[[nodiscard]] std::vector<Chart> machine_noise(const Source& source);

}  // namespace assay::chart
