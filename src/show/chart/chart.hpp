// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/json.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/table.hpp"

namespace assay {
struct Dataset;
}

namespace assay::chart {

/// A picture as data: what ECharts draws, and the table that it shows (docs/charts.md).
struct Chart {
  std::string name;      ///< "batch_size_scaling": the name of its file; further pages are "…_2", "…_3"
  std::string title;     ///< the finding, if one can be claimed; else the question
  std::string subtitle;  ///< shape, precision, machine, launches, date
  std::string summary;   ///< one or two sentences for screen readers: what, how many, the extremes
  Table table;           ///< every number of the picture
  /// An ECharts option in which names stand for functions ($fn), colours ($colour), data ($rows, $categories) and
  /// ranges
  /// ($range): web/chart/runtime.js resolves them. All numbers are in `dataset.source`. null: there are no data.
  Json option;
  int width = 1000, height = 420;
  std::vector<std::string> notes;  ///< messages about what is missing or hatched, and why; also in the picture
};

/// The colours of pictures.
struct Theme {
  std::string_view name;
  Json tokens;  ///< the key is the colour's name: background, ink, ink-2, grid, and one for each hardware
};
/// "light" or "dark".
[[nodiscard]] const Theme& theme(std::string_view name);
/// "#1849AB" for "cpu"; a hardware without a colour of its own has that of the second ink.
[[nodiscard]] std::string hardware_colour(std::string_view hardware, const Theme& theme);

enum class Kind {
  kHardwareComparison,
  kModelPerformance,
  kBatchSizeScaling,
  kRelativeSpeedup,
  kMemoryUsage,
  kArchitecturePerformanceMatrix,
  kCategoryComparison,
  kHardwareEfficiency,
  kMemoryScaling,
  kOptimizationOpportunities,
  kLatencyVsBatchSize,
  kThroughputVsBatchSize,
  kMemoryUsageVsBatchSize,
  kArchitectureComparison,
  kLatencyDistribution,
  kSamplesOverTime,
  kHistory,
  kGeneration,
  kVerification,
  kComparison,
  kPhases,
  kMachineNoise,
};
[[nodiscard]] std::span<const Kind> all_kinds();
/// "hardware_comparison".
[[nodiscard]] std::string_view name_of(Kind kind);
[[nodiscard]] std::optional<Kind> find_kind(std::string_view name);

/// What charts are made from. Conclusions are those of the analysis; charts compute positions only.
struct Input {
  const Dataset* data = nullptr;
  const Analysis* analysis = nullptr;
  std::string model{};  ///< the only model to show; empty: all
  std::string cell{};  ///< task key of the cell of latency_distribution, samples_over_time and phases; empty: the first
                       ///< with data
  const Dataset* before = nullptr;  ///< the other side of the comparison; null: it compares two targets of `data`
  std::string series{};             ///< series key of the history; empty: those with the most results
};

struct Source;

/// Makes the charts of one input; what several of them need, such as the cells that stand for each model, is computed
/// once, here.
/// Lifetime: the data and the analysis outlive it.
class ChartMaker {
 public:
  explicit ChartMaker(Input input);
  ChartMaker(ChartMaker&&) noexcept;
  ChartMaker& operator=(ChartMaker&&) noexcept;
  ~ChartMaker();

  /// One chart, or several pages of it if one would be too tall. Without data one Chart without an option, whose notes
  /// say what is missing and which command measures it.
  [[nodiscard]] std::vector<Chart> make(Kind kind) const;

 private:
  std::unique_ptr<const Source> source_;
};

/// One chart alone; several of the same input are made sooner by a ChartMaker.
[[nodiscard]] std::vector<Chart> make_charts(Kind kind, const Input& input);

/// `text` for readers of XML and HTML: the five special characters are escaped.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace assay::chart
