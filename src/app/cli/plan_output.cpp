// SPDX-License-Identifier: Apache-2.0
#include "app/cli/plan_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "bench/run/time_plan.hpp"
#include "core/base/text.hpp"
#include "core/base/time_words.hpp"
#include "core/traits/cell.hpp"
#include "show/report/format.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace {

struct Totals {
  std::size_t cells = 0, left_out = 0, from_history = 0;
  std::int64_t launches = 0;
  std::set<std::string> targets;  // of the cells that run
};

Totals totals(const PlanList& plan) {
  Totals all;
  for (const PlannedCell& cell : plan.cells) {
    if (cell.launches == 0) {
      ++all.left_out;
      continue;
    }
    ++all.cells;
    all.targets.insert(target_key(cell.row));
    all.launches += cell.launches;
    all.from_history += cell.from_launches > 0 ? 1 : 0;
  }
  return all;
}

std::string source_words(const PlannedCell& cell) {
  if (cell.from_launches == 0) return "estimate";
  return fmt::format("history ({})", counted(cell.from_launches, "launch", "launches"));
}

std::string cell_seconds(double seconds) {
  constexpr double kMinute = 60, kLeast = 0.1;
  if (seconds > 0 && seconds < kLeast) return "< 0.1 s";
  return seconds < kMinute ? fmt::format("{:.1f} s", seconds) : time_words(seconds);
}

// Cells that do not run, with the same reason together: "bert, t5 on cuda: unavailable (no_hardware): …".
std::vector<std::string> reasons(const PlanList& plan) {
  struct Group {
    std::string target, why;
    std::vector<std::string> models;
    std::size_t cells = 0;
  };
  std::vector<Group> groups;
  for (const PlannedCell& cell : plan.cells) {
    if (cell.launches > 0) continue;
    const Record& row = cell.row;
    std::string why = fmt::format("{} ({})", to_string(row.status), to_string(row.reason_code));
    if (!row.message.empty()) why += ": " + message_text(row);
    const std::string target = row.hardware.empty() ? "" : target_key(row);
    auto group = std::ranges::find_if(groups, [&](const Group& g) { return g.target == target && g.why == why; });
    if (group == groups.end()) group = groups.insert(groups.end(), {target, why, {}, 0});
    ++group->cells;
    if (std::ranges::find(group->models, row.model) == group->models.end()) group->models.push_back(row.model);
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const Group& group : groups)
    lines.push_back(fmt::format("{}{}: {}", fmt::join(group.models, ", "),
                                group.target.empty() ? "" : " on " + group.target, group.why));
  return lines;
}

}  // namespace

std::string plan_text(const PlanList& plan) {
  const Totals all = totals(plan);
  std::string text = fmt::format("{} of {} on {}; {}", counted(all.cells, "cell"), counted(plan.models, "model"),
                                 all.targets.size() == plan.targets
                                     ? counted(plan.targets, "target")
                                     : fmt::format("{} of {}", all.targets.size(), counted(plan.targets, "target")),
                                 counted(all.launches, "launch", "launches"));
  if (all.cells > 0)
    text += fmt::format("; about {} (from the history: {}, estimated: {})", time_words(plan.seconds),
                        counted(all.from_history, "cell"), counted(all.cells - all.from_history, "cell"));
  text += '\n';
  std::vector<std::vector<std::string>> lines{{"model", "target", "shape", "launches", "expected", "from"}};
  for (const PlannedCell& cell : plan.cells)
    if (cell.launches > 0)
      lines.push_back({cell.row.model, target_key(cell.row), shape_key(cell.row), std::to_string(cell.launches),
                       cell_seconds(cell.seconds), source_words(cell)});
  constexpr std::size_t kFirstNumber = 3, kLastNumber = 4;
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns_of(line[i]));
  if (lines.size() > 1) text += '\n';
  for (const auto& line : lines) {
    if (lines.size() == 1) break;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool last = i + 1 == line.size();
      text += "  " + (last ? line[i] : padded(line[i], widths[i], i >= kFirstNumber && i <= kLastNumber));
    }
    text += '\n';
  }
  if (const std::vector<std::string> why = reasons(plan); !why.empty()) {
    text += fmt::format("\nDo not run: {}\n", counted(all.left_out, "cell"));
    for (const std::string& line : why) text += "  " + line + "\n";
  }
  if (!plan.notes.empty()) text += "\nNotes:\n";
  for (const std::string& note : plan.notes) text += "  " + note + "\n";
  return text;
}

Json plan_json(const PlanList& plan) {
  const Totals all = totals(plan);
  Json cells = Json::array();
  for (const PlannedCell& cell : plan.cells) {
    const Record& row = cell.row;
    Json item{{"model", row.model},
              {"model_id", row.model_id},
              {"family", row.family},
              {"hardware", row.hardware},
              {"engine", row.engine},
              {"batch_size", row.batch_size ? Json(*row.batch_size) : Json()},
              {"sequence_length", row.sequence_length ? Json(*row.sequence_length) : Json()},
              {"precision", row.precision},
              {"task_key", row.task_key},
              {"series_key", row.series_key},
              {"launches", cell.launches}};
    if (cell.launches > 0) {
      item["expected_s"] = cell.seconds;
      item["expected_from"] = cell.from_launches > 0 ? "history" : "estimate";
      item["history_launches"] = cell.from_launches;
    } else {
      item["status"] = to_string(row.status);
      item["reason_code"] = to_string(row.reason_code);
      item["message"] = row.message;
    }
    cells.push_back(std::move(item));
  }
  return {{"schema_version", kReportSchema},
          {"command", plan.run.command},
          {"plan",
           {{"cells", all.cells},
            {"do_not_run", all.left_out},
            {"models", plan.models},
            {"targets", plan.targets},
            {"launches", all.launches},
            {"expected_s", plan.seconds},
            {"from_history", all.from_history}}},
          {"cells", std::move(cells)},
          {"notes", plan.notes}};
}

}  // namespace assay::cli
