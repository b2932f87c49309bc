// SPDX-License-Identifier: Apache-2.0
#include "show/report/change_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/store/dataset.hpp"

namespace assay {
namespace {

constexpr std::string_view kNoRunBefore = "This is the first run: nothing can be compared with it.";

// Whether a result is so many days older than the newest one.
bool has_older(const Dataset& data, int days) {
  if (data.history.empty()) return false;
  const auto [oldest, newest] = std::ranges::minmax_element(data.history, {}, &HistoryPoint::time_s);
  return oldest->time_s <= newest->time_s - days * kSecondsOfDay;
}

Section change_section(const char* heading, const std::vector<Change>& changes, bool older) {
  Section section{heading, {}, {}, {}, {}};
  constexpr std::size_t kMost = 40;
  for (const Change& change : changes) {
    if (section.points.size() == kMost) {
      section.points.push_back(fmt::format("and {} more", changes.size() - kMost));
      break;
    }
    section.points.push_back(change.words);
  }
  if (changes.empty())
    section.paragraphs.emplace_back(older ? "No change is shown." : "The history does not go back that far.");
  return section;
}

}  // namespace

bool is_first_run(const Dataset& data, const Analysis& analysis) {
  return data.runs.size() < 2 && analysis.since_last_run.empty();
}

std::vector<Section> change_sections(const Dataset& data, const Analysis& analysis) {
  if (is_first_run(data, analysis)) return {{"What changed", {std::string(kNoRunBefore)}, {}, {}, {}}};
  return {change_section("Since the last run", analysis.since_last_run, true),
          change_section("In the last 7 days", analysis.since_a_week, has_older(data, kWeek)),
          change_section("In the last 30 days", analysis.since_a_month, has_older(data, kMonth))};
}

std::string changes_answer(const Dataset& data, const Analysis& analysis) {
  if (is_first_run(data, analysis)) return std::string(kNoRunBefore);
  using What = Change::What;
  const auto cells = [&](std::initializer_list<What> kinds) {
    std::size_t sum = 0;
    for (const Change& change : analysis.since_last_run)
      if (std::ranges::find(kinds, change.what) != kinds.end()) sum += change.rows.size();
    return sum;
  };
  std::string words = fmt::format("Since the run before: {} of verdict or status, {} of time, throughput or memory",
                                  counted(cells({What::kNewlyWrong, What::kNewlyFailed, What::kFixed}), "change"),
                                  counted(cells({What::kMoved}), "move"));
  if (const std::size_t gone = cells({What::kGone}); gone > 0)
    words += ", " + counted(gone, "cell that cannot be tried any more", "cells that cannot be tried any more");
  if (const std::size_t fresh = cells({What::kNew}); fresh > 0) words += ", " + counted(fresh, "new cell");
  return words + ". Times of different runs are never called different: a move is a reason to measure again.";
}

Table change_table(const Analysis& analysis) {
  Table table{{{"since", "since", ""},
               {"what", "change", ""},
               {"model", "model", ""},
               {"target", "target", ""},
               {"shape", "shape", ""},
               {"cells", "cells", ""},
               {"quantity", "quantity", ""},
               {"unit", "unit", ""},
               {"before", "before", ""},
               {"after", "after", ""},
               {"ratio", "ratio", ""},
               {"beyond_spread", "beyond the spread", ""},
               {"words", "in words", ""}},
              {}};
  const std::array periods{std::pair("last_run", &analysis.since_last_run), std::pair("week", &analysis.since_a_week),
                           std::pair("month", &analysis.since_a_month)};
  for (const auto& [since, changes] : periods)
    for (const Change& change : *changes) {
      const bool one = change.rows.size() == 1 && change.what != Change::What::kVersion;
      table.rows.push_back({std::string(since), std::string(to_string(change.what)), one ? change.row->model : "",
                            target_key(*change.row), one ? shape_words(*change.row) : "",
                            static_cast<double>(change.rows.size()), change.quantity, change.unit,
                            value_of(change.before), value_of(change.after), value_of(change.ratio),
                            std::string(change.what != Change::What::kMoved ? ""
                                        : change.beyond_spread              ? "yes"
                                                                            : "no"),
                            change.words});
    }
  return table;
}

}  // namespace assay
