// SPDX-License-Identifier: Apache-2.0
#include "show/report/interruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"

namespace assay {
namespace {

enum class CellState { kComplete, kPartlyMeasured, kNotBegun };

bool never_started(const Record& row) { return row.status == CellStatus::kSkipped && unfinished(row); }

CellState state_of(const ReportInput& input, const Record& row) {
  if (never_started(row)) return CellState::kNotBegun;
  return unfinished(row) || input.partly.contains(row.attempt_id) ? CellState::kPartlyMeasured : CellState::kComplete;
}

std::size_t cells_in(const ReportInput& input, CellState state) {
  return static_cast<std::size_t>(
      std::ranges::count_if(input.rows, [&](const Record& row) { return state_of(input, row) == state; }));
}

// Launches that were cut short do not count.
std::int64_t whole_launches(const Record& row) { return unfinished(row) ? 0 : row.launches.value_or(0); }

std::string shape_of(const ReportInput& input, const Record& row) {
  std::string shape = row.batch_size ? shape_key(row) : "all shapes";
  if (state_of(input, row) != CellState::kPartlyMeasured) return shape;
  return fmt::format("{} ({} of {} launches)", shape, whole_launches(row), row.planned_launches.value_or(1));
}

}  // namespace

std::optional<std::string> interruption_text(const ReportInput& input) {
  if (!input.interrupted) return std::nullopt;
  return fmt::format("interrupted: {} of {} cells complete, {} partly measured, {} not begun",
                     cells_in(input, CellState::kComplete), input.rows.size(),
                     cells_in(input, CellState::kPartlyMeasured), cells_in(input, CellState::kNotBegun));
}

std::vector<std::string> missing_cells(const ReportInput& input, const std::vector<Record>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // where, shapes
  for (const Record& row : rows) {
    if (state_of(input, row) == CellState::kComplete) continue;
    const std::string where = fmt::format("{} on {}", row.model, target_key(row));
    auto group = std::ranges::find(groups, where, [](const auto& each) { return each.first; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(shape_of(input, row));
  }
  std::vector<std::string> lines;
  lines.reserve(groups.size());
  for (const auto& [where, shapes] : groups) lines.push_back(where + ": " + join(shapes, ", "));
  return lines;
}

std::string how_to_resume(const ReportInput& input) {
  return input.resume_command.empty() ? "This run cannot be resumed: its results are not in the database."
                                      : fmt::format("`{}` completes them.", input.resume_command);
}

std::string kept_note(const ReportInput& input, const Record& row) {
  constexpr std::size_t kDay = 10, kMinute = 16;  // of "2026-03-02T14:55:12Z"
  if (!input.kept.contains(row.attempt_id) || row.timestamp.size() < kMinute) return {};
  const std::string day = row.timestamp.substr(0, kDay);
  const std::string time = row.timestamp.substr(kDay + 1, kMinute - kDay - 1);
  return fmt::format(" (kept from {}{} UTC)", input.run.started.starts_with(day) ? "" : day + " ", time);
}

std::vector<Record> started_rows(std::vector<Record> rows) {
  std::erase_if(rows, never_started);
  return rows;
}

Json interruption_json(const ReportInput& input) {
  if (!input.interrupted) return nullptr;
  Json missing = Json::array();
  for (const Record& row : input.rows)
    if (state_of(input, row) != CellState::kComplete)
      missing.push_back({{"model", row.model},
                         {"model_id", field_value(row, *find_field("model_id"))},
                         {"hardware", target_key(row)},
                         {"shape", row.batch_size ? Json(shape_key(row)) : Json(nullptr)},
                         {"launches", whole_launches(row)},
                         {"planned_launches", row.planned_launches ? Json(*row.planned_launches) : Json(nullptr)}});
  return {{"cells", input.rows.size()},
          {"finished", cells_in(input, CellState::kComplete)},
          {"partly_measured", cells_in(input, CellState::kPartlyMeasured)},
          {"not_begun", cells_in(input, CellState::kNotBegun)},
          {"missing", std::move(missing)},
          {"resume", input.resume_command.empty() ? Json(nullptr) : Json(input.resume_command)}};
}

}  // namespace assay
