// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "history/store/dataset.hpp"
#include "show/chart/cells_in_time.hpp"
#include "show/chart/charts.hpp"
#include "show/chart/picture.hpp"

namespace assay::chart {
namespace {

constexpr double kNsPerS = 1e9;

}  // namespace

std::vector<Chart> samples_over_time(const Source& source) {
  const std::vector<CellDistributions> cells = cells_with_distributions(source);
  if (cells.empty()) return {};
  const Record& cell = *cells.front().cell;
  constexpr std::size_t kMost = 6;
  std::vector<const SampleDistribution*> distributions;
  for (const SampleDistribution* distribution : cells.front().distributions)
    if (distributions.size() < kMost && distribution->bins.size() >= 3) distributions.push_back(distribution);
  if (distributions.empty()) return {};
  Frame frame;
  frame.name = "samples_over_time";
  frame.title = "Was the measurement of " + cell_words(cell) + " steady?";
  const Record* one = &cell;
  frame.subtitle = common_words(std::span(&one, 1)) +
                   " · ms, lower is better; line: medians, band: from the shortest to the longest sample";
  if (cells.front().distributions.size() > distributions.size())
    frame.notes.push_back(fmt::format("{} of {} launches.", distributions.size(), cells.front().distributions.size()));
  if (is_simulated(cell)) frame.notes.emplace_back(kSimulatedTimes);
  Table table{{{"launch", "launch", ""},
               {"time_s", "from", "s"},
               {"median_ms", "median", "ms", Better::kLower},
               {"least_ms", "shortest", "ms"},
               {"most_ms", "longest", "ms"}},
              {}};
  Picture picture(frame);
  const Look look = look_of(cell);
  const std::size_t columns = std::min<std::size_t>(distributions.size(), 3);
  constexpr double kHeight = 220, kGap = 78, kLeft = 60;
  const PanelGrid grid(columns, frame.width, kHeight + kGap);
  std::vector<int> panels;
  for (std::size_t i = 0; i < distributions.size(); ++i) panels.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < distributions.size(); ++i) {
    const auto number = static_cast<int>(i);
    const SampleDistribution& distribution = *distributions[i];
    Panel panel{grid.left(i) + kLeft,
                grid.top(i),
                grid.column() - kLeft - 20,
                kHeight,
                fmt::format("launch {} ({} samples, {} steady)", distribution.launch_number, distribution.samples,
                            distribution.steady),
                number_axis("s since the window began", {"x", "low", "high"}, {number}, "linear", true),
                number_axis("", {"value"}, panels, "auto")};
    panel.x["$range"] = {{"columns", {"x"}}, {"panels", {number}}, {"scale", "linear"}, {"zero", true}, {"count", 4}};
    panel.y["$range"]["columns"] = {"value", "low", "high"};
    panel.y["$range"]["series"] = "bins";
    panel.y["$range"]["unit"] = "ms";
    picture.add(panel);
    const std::size_t bins = distribution.bins.size() / 3;
    const double width = static_cast<double>(distribution.window_ns) / kNsPerS / static_cast<double>(bins);
    if (distribution.first_steady_bin > 0) {
      Row region;
      region.panel = number;
      region.series = "steady";
      region.low = static_cast<double>(distribution.first_steady_bin) * width;
      region.high = static_cast<double>(bins) * width;
      region.text = "steady";
      picture.add(region);
      picture.draw(number, "steady", "region", "point",
                   {{"colour", {{"$colour", "shade"}}}, {"ink2", {{"$colour", "ink-2"}}}});
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      if (distribution.bins[3 * bin] > distribution.bins[3 * bin + 2]) continue;  // no sample
      Row row;
      row.panel = number;
      row.series = "bins";
      row.group = fmt::format("launch {}", distribution.launch_number);
      row.x = (static_cast<double>(bin) + 0.5) * width;
      row.value = time_of(distribution.bins[3 * bin + 1], distribution);
      row.low = time_of(distribution.bins[3 * bin], distribution);
      row.high = time_of(distribution.bins[3 * bin + 2], distribution);
      picture.add(row);
      table.rows.push_back({static_cast<double>(distribution.launch_number), *row.x, *row.value, *row.low, *row.high});
    }
    picture.draw(number, "bins", "band", "point", {{"colour", {{"$colour", look.colour}}}});
    picture.plain_line(number, "bins", look.colour.c_str(), "solid");
    constexpr std::size_t kFew = 24;  // bins between which a line alone says too much
    if (bins <= kFew) {
      Json arguments = arguments_of(look);
      arguments["size"] = 3;
      picture.draw(number, "bins", "point", "point", std::move(arguments));
    }
  }
  return {picture.finish(
      grid.height(distributions.size()), std::move(table),
      fmt::format("The times of {} launches in the order in which they were measured.", distributions.size()))};
}

}  // namespace assay::chart
