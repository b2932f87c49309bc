// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/result/launch_medians.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

bool measured(const Record& row) { return row.status == CellStatus::kCompleted && row.latency_p50_ms.value_or(0) > 0; }

bool ended_by_precision(const Record& row) { return row.stop_reason == StopReasons{StopReason::kPrecisionReached}; }

// The longer side of the median's interval over the median.
std::optional<double> relative_half_width(const Record& row) {
  if (!row.latency_p50_low_ms || !row.latency_p50_high_ms) return std::nullopt;
  return std::max(*row.latency_p50_high_ms - *row.latency_p50_ms, *row.latency_p50_ms - *row.latency_p50_low_ms) /
         *row.latency_p50_ms;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

// The rows of each cell that may be the best, in the order of the first of each.
std::vector<std::vector<const Record*>> cells_of(std::span<const Record> rows) {
  std::map<std::string, std::size_t> places;
  std::vector<std::vector<const Record*>> cells;
  const std::vector<bool> usable = usable_rows(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!usable[i]) continue;
    const auto [place, is_new] = places.emplace(cell_key(rows[i]), cells.size());
    if (is_new) cells.emplace_back();
    cells[place->second].push_back(&rows[i]);
  }
  return cells;
}

}  // namespace

HowSure how_sure(std::span<const Record> rows) {
  HowSure sure;
  std::vector<double> halves;
  for (const Record& row : rows) {
    if (!measured(row)) continue;
    ++sure.cells;
    if (const std::optional<double> half = relative_half_width(row)) halves.push_back(*half);
    sure.precise += ended_by_precision(row) ? 1 : 0;
    const bool one_process = launch_medians(row).size() < 2;
    sure.one_process += one_process ? 1 : 0;
    if (too_unsure_to_rank(row))
      ++sure.unranked;
    else if (one_process)
      ++sure.sure_of_one_process;
  }
  if (!halves.empty()) {
    sure.worst_half_width = *std::ranges::max_element(halves);
    sure.half_width = median_of(std::move(halves));
  }
  std::vector<double> detectable;
  for (std::vector<const Record*>& alike : cells_of(rows)) {
    std::ranges::sort(alike, {}, [](const Record* row) { return *row->latency_p50_ms; });
    for (std::size_t k = 1; k < alike.size(); ++k) {
      const CellComparison comparison = compare_cells(*alike.front(), *alike[k], alike.size());
      ++sure.pairs;
      sure.claimed += comparison.claimed() ? 1 : 0;
      if (comparison.smallest_detectable) detectable.push_back(*comparison.smallest_detectable);
      if (k == 1 && comparison.evidence == Evidence::kRounds && !comparison.claimed())
        sure.open.push_back(
            {alike[0]->model, shape_key(*alike[0]), target_key(*alike[0]), target_key(*alike[k]), comparison});
    }
  }
  if (!detectable.empty()) {
    sure.worst_detectable = *std::ranges::max_element(detectable);
    sure.detectable = median_of(std::move(detectable));
  }
  return sure;
}

std::vector<std::string> open_comparisons(const HowSure& sure) {
  std::vector<std::string> lines;
  lines.reserve(sure.open.size());
  for (const HowSure::Open& each : sure.open)
    lines.push_back(fmt::format("{} {}: {} and {} differ by {} so far, which shows no difference: {}", each.model,
                                each.shape, each.best, each.runner_up,
                                difference_words(std::max(each.comparison.ratio, 1 / each.comparison.ratio) - 1),
                                each.comparison.rounds_to_settle
                                    ? fmt::format("about {} launches would settle them (--launches {})",
                                                  *each.comparison.rounds_to_settle, *each.comparison.rounds_to_settle)
                                    : "more than 100 launches would be needed to settle them"));
  return lines;
}

std::vector<std::string> how_sure_lines(std::span<const Record> rows, const std::optional<MachineScore>& machine) {
  const HowSure sure = how_sure(rows);
  constexpr int kUnreliable = 40;  // as in `assay doctor`
  if (sure.cells == 0) return {};
  std::vector<std::string> lines;
  if (machine)
    lines.push_back(fmt::format("machine: {} before the run{}; `assay doctor` says what disturbs timings",
                                score_text(*machine),
                                machine->score <= kUnreliable ? ", timings are not reliable" : ""));
  constexpr double kPercent = 100;
  std::string precision = fmt::format("cells that reached their precision: {} of {}", sure.precise, sure.cells);
  if (sure.half_width)
    precision += fmt::format("; their intervals: ± {} %, at worst ± {} %", in_words(*sure.half_width * kPercent, 2),
                             in_words(*sure.worst_half_width * kPercent, 2));
  if (sure.unranked > 0) precision += fmt::format("; too uncertain to be ranked: {}", sure.unranked);
  lines.push_back(precision);
  if (sure.one_process > 0)
    lines.push_back(
        fmt::format("measured in one process: {} of {} cells; the difference between processes is not in "
                    "their intervals, and they are not compared",
                    sure.one_process, sure.cells));
  if (sure.detectable)
    lines.push_back(fmt::format(
        "smallest difference that could be shown: {} (median of the compared pairs; at worst "
        "{}); pairs called different: {} of {}",
        difference_words(*sure.detectable), difference_words(*sure.worst_detectable), sure.claimed, sure.pairs));
  const std::vector<std::string> targets = targets_of(rows);
  if (sure.pairs == 0 && targets.size() > 1)
    lines.emplace_back("no two targets have ranked times of the same cell, so nothing was compared");
  std::ranges::move(open_comparisons(sure), std::back_inserter(lines));
  return lines;
}

}  // namespace assay
