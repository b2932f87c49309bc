// SPDX-License-Identifier: Apache-2.0
#include "show/report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"
#include "history/analyse/analyse.hpp"
#include "show/report/format.hpp"
#include "show/report/interruption.hpp"
#include "show/report/result_table.hpp"
#include "show/report/summary_sections.hpp"

namespace assay {
namespace {

// What an interrupted run did not finish; "" for another run.
std::string interruption_section(const ReportInput& input, const Colours& colours, std::size_t width) {
  const std::optional<std::string> text = interruption_text(input);
  if (!text) return {};
  std::string out = colours("1", *text) + "\n";
  for (const std::string& line : missing_cells(input, input.rows)) out += folded("  ", "missing: " + line, 4, width);
  return out + folded("  ", how_to_resume(input), 4, width) + "\n";
}

// Why a cell failed is said below the table, once for all cells of a cause.
std::vector<Record> without_causes(std::vector<Record> rows) {
  for (Record& row : rows)
    if (row.status != CellStatus::kCompleted) row.message.clear();
  return rows;
}

std::string verification_rows(const ReportInput& input, std::span<const Record> shown, const Colours& colours,
                              std::size_t width) {
  const auto number = [](const Number& value) { return value ? fmt::format("{:.3g}", *value) : std::string("–"); };
  ResultTable table{{"model", "hardware", "shape", "verdict", "reference", "max abs error", "limit", "cosine"},
                    {},
                    5,
                    {"cosine", "reference"}};
  const std::vector<Record> rows = started_rows(input.rows);
  for (const Record& row : rows)
    table.cells.push_back({row.model, target_key(row), row.batch_size ? shape_key(row) : "–",
                           verdict_text(row) + kept_note(input, row), row.reference, number(row.max_abs_error),
                           number(row.error_limit), number(row.cosine_similarity)});
  table.drop_empty_columns(4);
  return table_text(std::move(table), shown, colours, width);
}

// What the marks in the table mean, if it has any.
std::string legend_of(std::span<const Record> rows, const std::vector<std::vector<Mark>>& marks, bool interrupted) {
  std::vector<std::string> text;
  if (std::ranges::any_of(rows, [](const Record& row) { return show_interval(row) != "–"; }))
    text.emplace_back("interval: 95 %, of the median.");
  if (std::ranges::any_of(rows, [](const Record& row) { return row.launches.value_or(1) > 1; }))
    text.emplace_back("p50 of several launches: the geometric mean of their medians.");
  if (std::string legend = throughput_legend(rows); !legend.empty()) text.push_back(std::move(legend));
  if (std::ranges::any_of(rows, of_one_process)) text.push_back(fmt::format("1 launch: {}.", kOneProcessNote));
  if (const std::string fewer = fewer_launches_legend(rows, interrupted); !fewer.empty()) text.push_back(fewer);
  if (std::ranges::any_of(rows, [](const Record& row) {
        return median_of_few_samples(row) || stats::has_few_samples(row.latency_p99_quality);
      }))
    text.emplace_back("~ marks a percentile of too few samples.");
  for (const std::string& meaning : marks_legend(marks, true)) text.push_back(meaning);
  if (const std::string generations = generation_legend(rows); !generations.empty())
    text.push_back(generations + " TTFT and TPOT: medians; tokens/s: of one sequence, by the mean TPOT.");
  return join(text, " ");
}

// A bar for each median, if the terminal is wide enough for it.
void add_bars(ResultTable& table, std::span<const Record> rows, std::size_t width) {
  constexpr std::size_t kLength = 8, kLeastWidth = 100;
  const auto place = std::ranges::find(table.head, "p50 ms");
  if (width < kLeastWidth || place == table.head.end()) return;
  const std::vector<std::string> bars = bars_of(rows, kLength);
  if (std::ranges::all_of(bars, [](const std::string& bar) { return bar.empty(); })) return;
  ResultTable with = table;
  const auto column = place - table.head.begin() + 1;
  with.head.insert(with.head.begin() + column, "log scale");
  for (std::size_t i = 0; i < with.cells.size(); ++i)
    with.cells[i].insert(with.cells[i].begin() + column, padded(bars[i], columns_of("log scale")));
  if (with.fits(width) || !table.fits(width)) table = std::move(with);
}

std::string measured_rows(const ReportInput& input, const Colours& colours, std::size_t width) {
  ResultTable table{
      {"model", "hardware", "shape", "verdict", "marks", "p50 ms", "interval", "launches", "p99 ms", "items/s", "MB"},
      {},
      5,
      {"MB", "p99 ms", "tokens/s", "log scale", "launches", "items/s", "interval"}};
  const std::vector<Record> rows = started_rows(input.rows);
  const bool generates = std::ranges::any_of(rows, [](const Record& row) { return row.ttft_ms.has_value(); });
  if (generates) table.head.insert(table.head.end(), {"TTFT ms", "TPOT ms", "tokens/s"});
  const std::vector<bool> inconsistent = inconsistent_rows(rows);
  std::vector<std::vector<Mark>> marks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& row = rows[i];
    marks.push_back(marks_of(row, inconsistent[i]));
    table.cells.push_back(
        {row.model, target_key(row), row.batch_size ? shape_key(row) : "–", verdict_text(row) + kept_note(input, row),
         letters_of(marks.back()), show_median(row), show_interval(row), show_launches(row),
         show_percentile(row.latency_p99_ms, row.latency_p99_quality), show(row.throughput_ips), show(row.memory_mb)});
    if (generates)
      table.cells.back().insert(table.cells.back().end(),
                                {show_ttft(row), show_tpot(row), show(row.tokens_per_second)});
  }
  table.drop_empty_columns(4);
  add_bars(table, rows, width);
  std::string out = table_text(std::move(table), without_causes(rows), colours, width);
  if (const std::string legend = legend_of(rows, marks, input.interrupted); !legend.empty())
    out += folded("", legend, 2, width);
  return out;
}

}  // namespace

ReportInput for_terminal(ReportInput input) {
  input.rows = with_distinct_names(std::move(input.rows));
  for (Record& row : input.rows)
    for (std::string* text : {&row.model, &row.message, &row.device, &row.device_name, &row.reference})
      *text = one_line(*text);
  for (std::string& note : input.notes) note = one_line(note);
  input.resume_command = one_line(input.resume_command);
  return input;
}

std::size_t usable_width(int width) { return static_cast<std::size_t>(std::max(40, width)); }

std::string verification_table(const ReportInput& given, bool colour, int width) {
  const ReportInput input = for_terminal(given);
  const Colours colours(colour);
  const std::size_t columns = usable_width(width);
  std::string out = interruption_section(input, colours, columns) +
                    verification_rows(input, started_rows(input.rows), colours, columns);
  for (const std::string& note : input.notes) out += folded("", "note: " + note, 2, columns);
  return out;
}

std::string summary_table(const ReportInput& given, bool colour, int width) {
  const ReportInput input = for_terminal(given);
  const Colours colours(colour);
  const std::size_t columns = usable_width(width);
  std::string out = interruption_section(input, colours, columns);
  const auto section = [&](const char* name, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += "\n" + colours("1", name) + "\n";
    for (const std::string& text : lines) out += folded("  ", text, 4, columns);
  };
  // Without any time the columns would be empty: the errors and limits of the verdicts are shown instead.
  if (measured_nothing(input.rows)) {
    const std::vector<Record> rows = started_rows(input.rows);
    out += verification_rows(input, without_causes(rows), colours, columns);
    out += failures_section(rows, input.files, colours, columns);
    section("Next steps", next_steps(input.rows, input.files, Steps::kBeyondFailures));
    section("Notes", folded_notes(input.notes));
  } else {
    const std::vector<Record> rows = started_rows(input.rows);
    out += models_section(rows, machine_score_of(input.run.doctor), colours, columns);
    out += measured_rows(input, colours, columns);
    out += failures_section(rows, input.files, colours, columns);
    section("Throughput and memory", further_recommendations(input.rows));
    section("Next steps", next_steps(input.rows, input.files, Steps::kBeyondFailures));
    section("Notes", folded_notes(input.notes));
    section("Not settled", open_comparisons(how_sure(input.rows)));
  }
  if (input.spent.total() > 0) section("Time", {time_text(input.spent)});
  return out;
}

}  // namespace assay
