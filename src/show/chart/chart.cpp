// SPDX-License-Identifier: Apache-2.0
#include "show/chart/chart.hpp"

#include <algorithm>
#include <map>

#include "history/store/dataset.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): a table of a few rows
struct KindEntry {
  Kind kind;
  std::string_view name;
  std::vector<Chart> (*make)(const Source&);
  std::string_view question;  ///< the title without data
  std::string_view missing;   ///< message without data: what is missing, and the command that measures it
  bool of_results = false;    ///< whether that is so only where there are results
};

constexpr std::string_view kNoTimes =
    "no times are stored for this selection: `assay run --models-set small` measures five models";
constexpr std::string_view kNoSingleTimes =
    "the times of single inferences are in a database, not in files: name it with --db-path; `assay db rebuild` reads "
    "them from the bundles again";
constexpr std::string_view kNoMemory =
    "no peak memory is stored for this selection: `assay run --models-set small` measures that of five models";
constexpr KindEntry kKinds[] = {
    KindEntry{Kind::kHardwareComparison, "hardware_comparison", hardware_comparison,
              "Which hardware is fastest for each model?", kNoTimes},
    KindEntry{Kind::kModelPerformance, "model_performance", model_performance, "How do the models of a family compare?",
              kNoTimes},
    KindEntry{Kind::kBatchSizeScaling, "batch_size_scaling", batch_size_scaling,
              "How do latency, throughput and memory grow with the batch?", kNoTimes},
    KindEntry{
        Kind::kRelativeSpeedup, "relative_speedup", relative_speedup, "How much faster than the CPU?",
        "no cell was measured on the CPU and on another target: `assay run --hardware all` measures on all hardware"},
    KindEntry{Kind::kMemoryUsage, "memory_usage", memory_usage, "How much memory does each runtime need?", kNoMemory,
              true},
    KindEntry{Kind::kArchitecturePerformanceMatrix, "architecture_performance_matrix", architecture_performance_matrix,
              "Which hardware for which architecture?", kNoTimes},
    KindEntry{Kind::kCategoryComparison, "category_comparison", category_comparison,
              "How do the categories of models compare across hardware?",
              "no cell was measured on two targets: `assay run --hardware all` measures on all hardware"},
    KindEntry{Kind::kHardwareEfficiency, "hardware_efficiency", hardware_efficiency,
              "How much of the measured peak is reached?",
              "no measured peak of this machine is stored, to which rates could be compared: `assay doctor --peak` "
              "measures it"},
    KindEntry{Kind::kMemoryScaling, "memory_scaling", memory_scaling,
              "How does memory grow with the size of the model and the batch?", kNoMemory, true},
    KindEntry{Kind::kOptimizationOpportunities, "optimization_opportunities", optimization_opportunities,
              "What would help most?", kNoTimes},
    KindEntry{Kind::kLatencyVsBatchSize, "latency_vs_batch_size", latency_vs_batch_size,
              "Latency against the batch size", kNoTimes},
    KindEntry{Kind::kThroughputVsBatchSize, "throughput_vs_batch_size", throughput_vs_batch_size,
              "Throughput against the batch size",
              "no throughput is stored for this selection: `assay run --models-set small` measures that of five models",
              true},
    KindEntry{Kind::kMemoryUsageVsBatchSize, "memory_usage_vs_batch_size", memory_usage_vs_batch_size,
              "Memory against the batch size", kNoMemory, true},
    KindEntry{Kind::kArchitectureComparison, "architecture_comparison", architecture_comparison,
              "How fast is each architecture?", kNoTimes},
    KindEntry{Kind::kLatencyDistribution, "latency_distribution", latency_distribution,
              "How are the times distributed?", kNoSingleTimes, true},
    KindEntry{Kind::kSamplesOverTime, "samples_over_time", samples_over_time, "Was the measurement steady?",
              kNoSingleTimes, true},
    KindEntry{Kind::kHistory, "history", history, "How did the times of these cells change?",
              "each cell has one result: a further run into the same database shows how the times change", true},
    KindEntry{Kind::kGeneration, "generation", generation, "How long to the first token, and to each further one?",
              "no generation was measured: `assay run --models-set small` measures t5 and whisper token by token"},
    KindEntry{Kind::kVerification, "verification", verification, "How close are the outputs to those of the reference?",
              "no output was compared with a reference: `assay run --models-set small` verifies what it measures"},
    KindEntry{Kind::kComparison, "comparison", comparison, "How do two targets differ, cell by cell?",
              "no cell has a time on two targets: `assay run --hardware all` measures on all hardware; `assay suite "
              "--plot-comparison BEFORE AFTER` compares two folders of results"},
    KindEntry{Kind::kPhases, "phases", phases, "Where does the time go, from loading to steady runs?",
              "no cell has times of loading and warm-up: `assay run --models-set small` measures five models"},
    KindEntry{
        Kind::kMachineNoise, "machine_noise", machine_noise, "How quiet were the machines before each run?",
        "no run of this selection has a score of its machine: `assay run` and `assay suite` examine the machine before "
        "they measure, and store the score; `bench` and `verify` do not"},
};

const KindEntry& entry_of(Kind kind) {
  for (const KindEntry& entry : kKinds)
    if (entry.kind == kind) return entry;
  return kKinds[0];
}

// If there are such values in the results, but not all that the picture needs.
std::optional<std::string> also_missing(Kind kind, const Dataset& data) {
  if (kind == Kind::kMemoryScaling &&
      std::ranges::any_of(data.cells, [](const Record& row) { return row.memory_mb.has_value(); }))
    return "no result with a peak of memory says how many parameters its model has: `assay run --models-set small` "
           "counts and measures five models";
  if (kind != Kind::kHistory) return std::nullopt;
  std::map<std::uint32_t, std::size_t> results;
  for (const HistoryPoint& point : data.history)
    if (++results[point.series] > 1)
      return "no cell with several results has a median: a further run (`assay run`) into the same database measures "
             "it";
  return std::nullopt;
}

std::string missing_words(const KindEntry& entry, const Dataset& data) {
  if (entry.of_results && data.cells.empty()) return std::string(kNoTimes);
  return also_missing(entry.kind, data).value_or(std::string(entry.missing));
}

}  // namespace

std::span<const Kind> all_kinds() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> list;
    for (const KindEntry& entry : kKinds) list.push_back(entry.kind);
    return list;
  }();
  return kinds;
}

std::string_view name_of(Kind kind) { return entry_of(kind).name; }

std::optional<Kind> find_kind(std::string_view name) {
  for (const KindEntry& entry : kKinds)
    if (entry.name == name) return entry.kind;
  return std::nullopt;
}

ChartMaker::ChartMaker(Input input) : source_(std::make_unique<const Source>(std::move(input))) {}
ChartMaker::ChartMaker(ChartMaker&&) noexcept = default;
ChartMaker& ChartMaker::operator=(ChartMaker&&) noexcept = default;
ChartMaker::~ChartMaker() = default;

std::vector<Chart> ChartMaker::make(Kind kind) const {
  const KindEntry& entry = entry_of(kind);
  std::vector<Chart> charts = entry.make(*source_);
  if (charts.empty()) {
    Chart chart;
    chart.title = entry.question;
    chart.option = nullptr;
    chart.notes = {missing_words(entry, *source_->input.data)};
    charts.push_back(std::move(chart));
  }
  for (std::size_t page = 0; page < charts.size(); ++page)
    charts[page].name = std::string(entry.name) + (page == 0 ? "" : "_" + std::to_string(page + 1));
  return charts;
}

std::vector<Chart> make_charts(Kind kind, const Input& input) { return ChartMaker(input).make(kind); }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

}  // namespace assay::chart
