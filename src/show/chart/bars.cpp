// SPDX-License-Identifier: Apache-2.0
#include "show/chart/bars.hpp"

#include <algorithm>
#include <map>

#include "show/chart/layout.hpp"

namespace assay::chart {
namespace {

double label_width(std::span<const std::string> groups) {
  constexpr double kWidest = 320, kSize = 12;
  double widest = 40;
  for (const std::string& group : groups) widest = std::max(widest, text_width(group, kSize));
  return std::min(widest, kWidest);
}

double name_width(std::span<const Look> looks) {
  constexpr double kWidest = 200, kSize = 11;
  double widest = 0;
  for (const Look& look : looks) widest = std::max(widest, text_width(look.name, kSize));
  return std::min(widest + 1, kWidest);
}

}  // namespace

Chart bars(Frame frame, std::span<const BarPanel> panels, const std::vector<std::string>& groups, std::vector<Row> rows,
           Table table, std::string summary, std::string_view hollow) {
  leave_out_absent(frame, rows);
  std::map<std::string, std::vector<std::string>> targets;  // of each group, in the order of the legend
  for (const Look& look : frame.legend)
    for (const std::string& group : groups)
      if (std::ranges::any_of(rows, [&](const Row& row) { return row.group == group && row.series == look.name; }))
        targets[group].push_back(look.name);
  std::size_t slots = 1;
  for (const auto& [group, own] : targets) slots = std::max(slots, own.size());
  for (Row& row : rows) {
    const std::vector<std::string>& own = targets[row.group];
    const auto place = static_cast<double>(std::ranges::find(own, row.series) - own.begin());
    row.x = place - (static_cast<double>(own.size()) - 1) / 2;
  }
  const double height = static_cast<double>(groups.size()) * (static_cast<double>(slots) * kBar + kGroupGap);
  const double labels = label_width(groups), names = name_width(frame.legend), beside_names = names + 20,
               left = 16 + labels + beside_names;
  constexpr double kNumbers = 112;  // room for the number after the longest bar
  const auto count = static_cast<double>(panels.size());
  const double pitch = (frame.width - left - 16) / count;
  std::vector<std::string> notes = legend_notes(rows, hollow);
  frame.notes.insert(frame.notes.begin(), notes.begin(), notes.end());
  const double top = panels.front().title.empty() ? 8 : 30;
  const std::vector<Look> looks = frame.legend;
  frame.named = true;
  Picture picture(std::move(frame));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const int number = static_cast<int>(i);
    Panel panel;
    panel.left = left + pitch * static_cast<double>(i);
    panel.top = top;
    panel.width = pitch - kNumbers;
    panel.height = height;
    panel.title = panels[i].title;
    panel.x = number_axis(panels[i].axis, {"value", "low", "high"}, {number}, panels[i].scale, panels[i].zero,
                          panels[i].include);
    panel.x["$range"]["count"] = panels.size() > 1 ? 4 : 6;
    panel.y = group_axis(number, labels);
    panel.y["axisLabel"]["margin"] = beside_names;
    if (i > 0) panel.y["axisLabel"]["show"] = false;
    picture.add(panel);
  }
  for (const Row& row : rows) picture.add(row);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Look& look : looks) {
      Json arguments = arguments_of(look);
      arguments["slots"] = slots;
      if (i == 0) arguments["named"] = names;
      arguments.update(panels[i].arguments);
      picture.draw(static_cast<int>(i), look.name, "bar", "category", std::move(arguments));
    }
    if (panels[i].arguments.contains("base"))
      picture.rule(static_cast<int>(i), "x", panels[i].arguments["base"], "ink-2");
  }
  return picture.finish(top + height + 52, std::move(table), std::move(summary));
}

}  // namespace assay::chart
