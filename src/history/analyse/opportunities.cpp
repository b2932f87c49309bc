// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/answers.hpp"
#include "history/analyse/pairs.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {

using Opportunities = std::vector<Opportunity>;

std::string spot_words(const Record& row) {
  return fmt::format("{} on {}, {}", row.model, target_key(row), shape_words(row));
}

std::string gain_words(const CellComparison& gain) {
  return gain.interval
             ? fmt::format("{:.2f}× (95 %: {:.2f} to {:.2f})", gain.ratio, gain.interval->low, gain.interval->high)
             : fmt::format("{:.2f}×", gain.ratio);
}

// By any key, the rows that share it.
template <class Key>
auto rows_by(const RowGroup& group, Key key) {
  std::map<decltype(key(group.rows.front())), std::vector<const Record*>> result;
  for (const Record& row : group.rows)
    if (timed(row)) result[key(row)].push_back(&row);
  return result;
}

// For each model and target: the cell where another target is ahead by the largest factor.
void other_runtimes(const RowGroup& usable, Opportunities& found) {
  struct Gain {
    const Record *cell, *better;
    CellComparison by;
    std::size_t cells = 1;
  };
  std::map<std::pair<std::string, std::string>, Gain> gains;
  for (const auto& [key, rows] : rows_by(usable, cell_key)) {
    const Record* best = *std::ranges::min_element(rows, {}, [](const Record* row) { return *row->latency_p50_ms; });
    for (const Record* row : rows) {
      const CellComparison by = compare_cells(*best, *row, rows.size());
      if (row == best || !by.baseline_ahead()) continue;
      const auto [gain, is_new] = gains.try_emplace({row->model, target_key(*row)}, Gain{row, best, by});
      if (is_new) continue;
      ++gain->second.cells;
      if (by.ratio > gain->second.by.ratio) gain->second = {row, best, by, gain->second.cells};
    }
  }
  for (const auto& [key, gain] : gains) {
    std::string words =
        fmt::format("{}: {} is {} as fast, {} instead of {} ms", spot_words(*gain.cell), target_key(*gain.better),
                    gain_words(gain.by), in_words(*gain.better->latency_p50_ms), in_words(*gain.cell->latency_p50_ms));
    if (gain.cells > 1) words += fmt::format("; it is ahead in {} cells of this model, this is the most", gain.cells);
    found.push_back({Opportunity::Kind::kRuntime, usable.original(gain.cell), usable.original(gain.better),
                     gain.by.ratio, gain.by.interval, true, usable.machine, std::move(words)});
  }
}

void larger_batches(const RowGroup& usable, Opportunities& found) {
  const auto alike = [](const Record& row) { return cell_key_of_any_batch(row) + target_key(row); };
  for (const auto& [key, rows] : rows_by(usable, alike)) {
    const auto single = std::ranges::find(rows, Count(1), [](const Record* row) { return row->batch_size; });
    if (single == rows.end()) continue;
    const Record* best =
        *std::ranges::max_element(rows, {}, [](const Record* row) { return row->throughput_ips.value_or(0); });
    if (best == *single || !best->throughput_ips || !(*single)->throughput_ips) continue;
    const CellComparison gain = compare_per_item(*best, **single, rows.size());
    if (!gain.baseline_ahead()) continue;
    // By medians, as the gain is: a rate over the whole time also has the tail.
    const auto rate = [](const Record& row) { return in_words(1000 / *per_item(row).latency_p50_ms); };
    found.push_back({Opportunity::Kind::kBatch, usable.original(*single), usable.original(best), gain.ratio,
                     gain.interval, true, usable.machine,
                     fmt::format("{}: batch {} gives {} as many items per second by medians, {} instead of {}, if you "
                                 "can wait {} ms instead of {}",
                                 spot_words(**single), *best->batch_size, gain_words(gain), rate(*best), rate(**single),
                                 in_words(*best->latency_p50_ms), in_words(*(*single)->latency_p50_ms))});
  }
}

// Outputs of a lower precision differ from those of float32: both are verified, each with the limit of its precision.
void lower_precisions(const RowGroup& usable, Opportunities& found) {
  // Not cell_key(): a model without a configuration is another graph in another precision.
  const auto alike = [](const Record& row) {
    Record plain = row;
    plain.precision = "float32";
    return std::tuple(row.model, row.model_id, row.size, target_key(row), shape_key(plain), row.contract);
  };
  for (const auto& [key, rows] : rows_by(usable, alike)) {
    const auto whole = std::ranges::find(rows, "float32", [](const Record* row) { return row->effective_precision; });
    if (whole == rows.end()) continue;
    for (const Record* row : rows) {
      if (row->effective_precision == "float32") continue;
      const CellComparison gain = compare_cells(*row, **whole, rows.size());
      if (!gain.baseline_ahead()) continue;
      found.push_back(
          {Opportunity::Kind::kPrecision, usable.original(*whole), usable.original(row), gain.ratio, gain.interval,
           true, usable.machine,
           fmt::format(
               "{}: {} is {} as fast, {} instead of {} ms; its outputs differ by {} (root mean square, relative)",
               spot_words(**whole), row->effective_precision, gain_words(gain), in_words(*row->latency_p50_ms),
               in_words(*(*whole)->latency_p50_ms), row->rms_error ? in_words(*row->rms_error) : "an unknown share")});
    }
  }
}

void less_memory(const RowGroup& usable, Opportunities& found) {
  constexpr double kMuchMore = 1.5;
  std::map<std::pair<std::string, std::string>, Opportunity> worst;
  for (const auto& [key, all] :
       rows_by(usable, [](const Record& row) { return std::pair(cell_key(row), memory_kind(row)); })) {
    if (key.second.empty()) continue;
    std::vector<const Record*> rows;
    std::ranges::copy_if(all, std::back_inserter(rows), [](const Record* row) { return *row->memory_mb > 0; });
    if (rows.size() < 2) continue;
    const Record* least = *std::ranges::min_element(rows, {}, [](const Record* row) { return *row->memory_mb; });
    for (const Record* row : rows) {
      const double factor = *row->memory_mb / *least->memory_mb;
      Opportunity& kept = worst[{row->model, target_key(*row)}];
      if (factor < kMuchMore || factor <= kept.factor) continue;
      kept = {Opportunity::Kind::kMemory,
              usable.original(row),
              usable.original(least),
              factor,
              {},
              false,
              usable.machine,
              fmt::format("{}: {} needs {} MB, {} needs {}: {:.2f}× as much (not compared: memory has no interval)",
                          spot_words(*row), target_key(*row), in_words(*row->memory_mb), target_key(*least),
                          in_words(*least->memory_mb), factor)};
    }
  }
  for (auto& [key, each] : worst)
    if (each.cell != nullptr) found.push_back(std::move(each));
}

// One for each target: how many threads it uses is hardly different between models.
void unused_threads(const RowGroup& usable, const Dataset& data, Opportunities& found) {
  std::map<std::string, std::pair<const Record*, std::size_t>> idle;  // by target
  std::map<std::string, std::int64_t> cores;                          // by machine
  for (const MachineFacts& machine : data.machines)
    if (machine.info.is_object() && machine.info.contains("cpu_cores") && machine.info["cpu_cores"].is_number_integer())
      cores[machine.hardware_id] = machine.info["cpu_cores"].get<std::int64_t>();
  for (const Record& row : usable.rows) {
    const auto have = cores.find(row.hardware_id);
    if (have == cores.end() || !timed(row) || row.threads.value_or(0) != 0 || row.streams.value_or(1) > 1 ||
        !is_any(row.hardware, {"cpu", kOpenvinoWord}) || row.effective_threads.value_or(have->second) >= have->second)
      continue;
    const auto [place, is_new] = idle.try_emplace(target_key(row), &row, 1);
    if (!is_new) ++place->second.second;
  }
  for (const auto& [target, rows] : idle) {
    const auto& [row, count] = rows;
    const double factor = static_cast<double>(cores[row->hardware_id]) / static_cast<double>(*row->effective_threads);
    found.push_back({Opportunity::Kind::kThreads,
                     usable.original(row),
                     nullptr,
                     factor,
                     {},
                     false,
                     usable.machine,
                     fmt::format("{} uses {} of {} cores in {}, such as {}: at most {:.2f}×, if the time falls with "
                                 "the threads (not compared: `--threads {}` measures it)",
                                 target, *row->effective_threads, cores[row->hardware_id], counted(count, "cell"),
                                 spot_words(*row), factor, cores[row->hardware_id])});
  }
}

void low_efficiency(const RowGroup& usable, const Dataset& data, Opportunities& found) {
  constexpr double kFarBelow = 2;
  std::map<std::pair<std::string, std::string>, std::vector<std::pair<double, const Record*>>> categories;
  for (const Record& row : usable.rows)
    if (const std::optional<double> share = efficiency_of(row, data))
      categories[{row.category, target_key(row)}].emplace_back(*share, &row);
  for (auto& [key, rows] : categories) {
    std::ranges::sort(rows);
    const double median = rows[(rows.size() - 1) / 2].first;
    const auto& [share, row] = rows.front();
    if (share * kFarBelow > median) continue;
    constexpr double kPercent = 100;
    found.push_back(
        {Opportunity::Kind::kEfficiency,
         usable.original(row),
         nullptr,
         median / share,
         {},
         false,
         usable.machine,
         fmt::format("{} reaches {} % of the measured peak: at most {:.2f}×, if it reached the {} % that is "
                     "the median of {} there (an upper bound, not compared)",
                     spot_words(*row), in_words(share * kPercent, 2), median / share, in_words(median * kPercent, 2),
                     key.first.empty() ? "all models" : key.first)});
  }
}

}  // namespace

std::string_view to_string(Opportunity::Kind kind) {
  switch (kind) {
    case Opportunity::Kind::kRuntime:
      return "runtime";
    case Opportunity::Kind::kBatch:
      return "batch";
    case Opportunity::Kind::kPrecision:
      return "precision";
    case Opportunity::Kind::kThreads:
      return "threads";
    case Opportunity::Kind::kMemory:
      return "memory";
    case Opportunity::Kind::kEfficiency:
      return "efficiency";
  }
  return "runtime";
}

std::vector<Opportunity> opportunities_of(const std::vector<RowGroup>& machines, const Dataset& data) {
  Opportunities found;
  for (const RowGroup& machine : machines) {
    const RowGroup usable = without_wrong_targets(machine);
    other_runtimes(usable, found);
    larger_batches(usable, found);
    lower_precisions(usable, found);
    less_memory(usable, found);
    unused_threads(usable, data, found);
    low_efficiency(usable, data, found);
  }
  for (Opportunity& each : found) each.hardware_id = each.cell->hardware_id;
  // What is shown by paired rounds first, then upper bounds.
  std::ranges::stable_sort(found, std::greater<>(),
                           [](const Opportunity& each) { return std::pair(each.claimed, each.factor); });
  return found;
}

}  // namespace assay
