// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/groups.hpp"

namespace assay {
namespace {

// "8", "(1e-05)", "12ms", "128x128", and "node_12"; not "Conv2d" and "float16", which are what a cause is about.
bool is_count(std::string_view word) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t first = word.find_first_not_of("([{<\"'`+-=~±");
  if (first == std::string_view::npos) return false;
  if (digit(word[first])) return true;
  const std::size_t last = word.find_last_not_of(")]}>\"'`,;:.");
  const std::string_view plain = word.substr(first, last + 1 - first);
  const std::size_t number =
      plain.size() -
      static_cast<std::size_t>(std::ranges::find_if_not(plain.rbegin(), plain.rend(), digit) - plain.rbegin());
  return number < plain.size() && number > 0 && is_any(plain.substr(number - 1, 1), {"_", ".", ":", "#", "=", "["});
}

// Two messages are of one cause if they differ only in numbers, paths, and what the cell is called.
std::string without_particulars(const Record& row) {
  std::string text;
  for (const std::string& word : split(row.message, ' ')) {
    const bool particular = word.find('/') != std::string::npos || is_count(word) ||
                            is_any(word, {row.model, row.model_id, row.engine, row.hardware, row.architecture});
    text += particular ? "* " : word + " ";
  }
  return text;
}

std::string hint_of(const Record& row) {
  if (!row.hint.empty()) return row.hint;
  const std::string model = row.model_id.empty() ? row.model : row.model_id;
  if (row.status == CellStatus::kWrong)
    return fmt::format("do not use it; `assay verify {} --engines {} --debug` prints the details", model, row.engine);
  return row.status == CellStatus::kFailed ? "run again with --debug" : "";
}

std::string listed(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most));
  return fmt::format("{} and {} more", join(first, ", "), names.size() - most);
}

// By target, and machine if there are several; of one model with its shapes, of several by name.
std::vector<std::string> places_of(const std::vector<const Record*>& rows,
                                   const std::map<std::string, std::string>& machines) {
  constexpr std::size_t kMostNames = 6;
  std::vector<std::string> targets;
  std::map<std::string, std::vector<std::string>> models;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> shapes;
  const auto once = [](std::vector<std::string>& list, const std::string& word) {
    if (std::ranges::find(list, word) == list.end()) list.push_back(word);
  };
  for (const Record* row : rows) {
    const std::string& machine = machines.at(row->hardware_id);
    const std::string target = target_key(*row) + (machine.empty() ? "" : " of " + machine);
    once(targets, target);
    once(models[target], row->model);
    if (row->batch_size) once(shapes[{target, row->model}], shape_key(*row));
  }
  std::vector<std::string> places;
  for (const std::string& target : targets) {
    const std::vector<std::string>& names = models[target];
    std::string place = fmt::format("{} on {}", listed(names, kMostNames), target);
    if (names.size() == 1 && !shapes[{target, names[0]}].empty())
      place += ": " + listed(shapes[{target, names[0]}], kMostNames);
    places.push_back(std::move(place));
  }
  return places;
}

int urgency_of(CellStatus status) {
  switch (status) {
    case CellStatus::kWrong:
      return 0;
    case CellStatus::kFailed:
      return 1;
    case CellStatus::kUnsupported:
      return 2;
    case CellStatus::kSkipped:
      return 3;
    default:
      return 4;
  }
}

}  // namespace

std::vector<Failure> failures_of(std::span<const Record> rows) {
  using Cause = std::tuple<CellStatus, Word<Reason>, std::string>;
  std::map<Cause, std::size_t> places;
  std::vector<Failure> failures;
  std::vector<std::vector<const Record*>> named;  // with distinct names, for each failure
  const std::map<std::string, std::string> names = machine_names(rows);
  const std::vector<RowGroup> machines = groups_by_machine(rows);
  for (const RowGroup& machine : machines)
    for (std::size_t i = 0; i < machine.rows.size(); ++i) {
      const Record& row = machine.rows[i];
      if (row.status == CellStatus::kCompleted || unfinished(row)) continue;
      const auto [place, is_new] =
          places.emplace(Cause(row.status, row.reason_code, without_particulars(row)), failures.size());
      if (is_new) {
        failures.push_back({row.status, row.reason_code, row.message, hint_of(row), {}, {}});
        named.emplace_back();
      }
      failures[place->second].cells.push_back(machine.from[i]);
      named[place->second].push_back(&row);
    }
  for (std::size_t i = 0; i < failures.size(); ++i) failures[i].where = places_of(named[i], names);
  std::ranges::stable_sort(failures, {}, [](const Failure& failure) { return urgency_of(failure.status); });
  return failures;
}

}  // namespace assay
