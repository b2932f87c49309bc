// SPDX-License-Identifier: Apache-2.0
#include "show/chart/cells_in_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/traits/cell.hpp"
#include "history/store/distribution_codec.hpp"
#include "show/chart/charts.hpp"

namespace assay::chart {

CellOrder::Place CellOrder::place_of(const Record& cell) const {
  const auto size_of = [](const Record& row) {
    return std::pair(row.batch_size.value_or(0), row.sequence_length.value_or(0));
  };
  const auto smaller = std::ranges::count_if(cells_, [&](const Record& row) {
    return row.model == cell.model && row.hardware_id == cell.hardware_id && target_key(row) == target_key(cell) &&
           size_of(row) < size_of(cell);
  });
  const auto look = std::ranges::find(looks_, target_key(cell), &Look::name) - looks_.begin();
  return {smaller, cell.model, look, size_of(cell)};
}

std::vector<CellDistributions> cells_with_distributions(const Source& source) {
  const Input& input = source.input;
  const std::vector<Record>& all = input.data->cells;
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < input.data->ids.size() && i < all.size(); ++i) places[input.data->ids[i]] = i;
  std::map<std::size_t, CellDistributions> found;
  for (const SampleDistribution& distribution : input.data->distributions) {
    const auto place = places.find(distribution.result_id);
    if (place == places.end() || distribution.kind != SampleKind::kRun || distribution.quantiles.size() < 2) continue;
    const Record& cell = all[place->second];
    if (!shows_values(cell)) continue;
    if (input.cell.empty() ? cell.hardware_id != source.cells.hardware_id : cell.task_key != input.cell) continue;
    if (!input.model.empty() && cell.model != input.model && cell.model_id != input.model) continue;
    CellDistributions& entry = found[place->second];
    entry.cell = &cell;
    entry.distributions.push_back(&distribution);
  }
  const CellOrder order(all);
  std::vector<std::pair<CellOrder::Place, CellDistributions>> ordered;
  ordered.reserve(found.size());
  for (auto& [place, entry] : found) ordered.emplace_back(order.place_of(*entry.cell), std::move(entry));
  std::ranges::stable_sort(ordered, {}, [](const auto& one) { return one.first; });
  std::vector<CellDistributions> list;
  list.reserve(ordered.size());
  for (auto& [place, entry] : ordered) list.push_back(std::move(entry));
  return list;
}

double time_of(std::uint16_t code, const SampleDistribution& distribution) {
  return decode_ms(code, distribution.low_ns, distribution.high_ns);
}

std::string cell_words(const Record& cell) {
  return fmt::format("{} on {}, {}", cell.model, target_key(cell), shape_words(cell));
}

Look look_of(const Record& cell) { return looks_of(std::span(&cell, 1)).front(); }

}  // namespace assay::chart
