// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "history/analyse/answers.hpp"
#include "history/analyse/pairs.hpp"

namespace assay {
namespace {

// The target that is called faster than each of the others.
std::string shown_best(const CommonCells& common) {
  for (std::size_t t = 0; t < common.targets.size(); ++t) {
    bool ahead = common.targets.size() > 1;
    for (std::size_t other = 0; ahead && other < common.targets.size(); ++other) {
      if (other == t) continue;
      std::vector<CellPair> pairs;
      pairs.reserve(common.cells.size());
      for (const auto& cell : common.cells) pairs.push_back({cell[t], cell[other]});
      ahead = compare_together(pairs, common.targets.size()).baseline_ahead();
    }
    if (ahead) return common.targets[t];
  }
  return {};
}

CategoryLine category_line(const RowGroup& group) {
  const RowGroup usable = without_wrong_targets(group);
  const CommonCells common = common_cells(usable.rows, timed);
  CategoryLine line;
  line.category = group.rows.front().category;
  line.machine = group.machine;
  line.hardware_id = group.hardware_id;
  line.cells = common.cells.size();
  line.best = shown_best(common);
  std::set<std::string> models;
  for (const auto& cell : common.cells) models.insert(cell.front()->model);
  line.models = models.size();
  std::size_t baseline = 0;
  if (common.targets.size() > 1) {
    const auto cpu = std::ranges::find(common.targets, "cpu");
    if (cpu != common.targets.end()) baseline = static_cast<std::size_t>(cpu - common.targets.begin());
    line.baseline = common.targets[baseline];
  }
  for (std::size_t t = 0; t < common.targets.size(); ++t) {
    std::vector<double> times;
    std::vector<CellPair> pairs;
    for (const auto& cell : common.cells) {
      times.push_back(*cell[t]->latency_p50_ms);
      pairs.push_back({cell[t], cell[baseline]});
    }
    CategoryLine::Target target{common.targets[t], geometric_mean(times), {}};
    if (t != baseline) target.against = compare_together(pairs, common.targets.size());
    line.targets.push_back(std::move(target));
  }
  for (const std::string& target : common.left_out) line.targets.push_back({target, {}, {}});
  return line;
}

}  // namespace

std::vector<CategoryLine> categories_of(const std::vector<RowGroup>& machines) {
  std::vector<CategoryLine> lines;
  for (const RowGroup& machine : machines)
    for (const RowGroup& group : parts_of(machine, [](const Record& row) { return row.category; }))
      lines.push_back(category_line(group));
  std::erase_if(lines, [](const CategoryLine& line) { return line.targets.empty(); });
  return lines;
}

std::vector<CategoryLine> architectures_of(const std::vector<RowGroup>& machines) {
  std::vector<CategoryLine> lines;
  for (const RowGroup& machine : machines)
    for (const RowGroup& group :
         parts_of(machine, [](const Record& row) { return row.architecture.empty() ? row.model : row.architecture; })) {
      lines.push_back(category_line(group));
      lines.back().architecture = group.name;
    }
  std::erase_if(lines, [](const CategoryLine& line) { return line.targets.empty(); });
  std::ranges::stable_sort(lines, {}, &CategoryLine::category);
  return lines;
}

}  // namespace assay
