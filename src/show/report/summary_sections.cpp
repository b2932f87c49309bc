// SPDX-License-Identifier: Apache-2.0
#include "show/report/summary_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "history/analyse/analysis.hpp"
#include "show/report/format.hpp"

namespace assay {
namespace {

// The columns of a model's line before the words.
using ModelColumns = std::array<std::string, 4>;

ModelColumns model_columns(const ModelLine& line) {
  ModelColumns columns{line.model, "–", "", ""};
  if (!line.size.empty() && line.size != "as_is") columns[0] += " (" + line.size + ")";
  if (!line.latency) return columns;
  columns[1] = targets_words(*line.latency);
  columns[2] = show_latency(*line.latency->row) + " ms";
  columns[3] = shape_words(*line.latency->row);
  return columns;
}

std::string model_words(const ModelLine& line) {
  const std::string answer = line.latency ? line.latency->words : line.why_none;
  return fmt::format("{}; {}", answer, state_words(line.states));
}

std::string sure_line(const HowSure& sure, const std::optional<MachineScore>& machine) {
  std::vector<std::string> parts;
  if (machine) parts.push_back("machine " + score_text(*machine));
  parts.push_back(fmt::format("{} of {} cells reached their precision", sure.precise, sure.cells));
  if (sure.unranked > 0) parts.push_back(fmt::format("{} too uncertain to be ranked", sure.unranked));
  if (sure.sure_of_one_process > 0)
    parts.push_back(
        fmt::format("{}{} of one process, not compared", sure.sure_of_one_process, sure.unranked > 0 ? " more" : ""));
  if (sure.detectable)
    parts.push_back(fmt::format("smallest difference that could be shown {}", difference_words(*sure.detectable)));
  std::string line = "How sure: " + join(parts, ", ");
  if (!sure.detectable) return line;
  return line +
         ". ± x of \"no difference shown\": these launches cannot show one below x, as a claim takes the interval of "
         "99 %";
}

// Eighths of a column.
std::string bar(double columns) {
  constexpr std::array<const char*, 8> kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(columns * 8));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths.at(eighths % 8);
}

// What notes of one kind have in common.
std::string note_kind(std::string_view note) {
  std::string kind;
  bool quoted = false;
  for (const char c : note) {
    if (c == '`') quoted = !quoted;
    if (!quoted && std::isdigit(static_cast<unsigned char>(c)) == 0) kind += c;
  }
  return kind;
}

}  // namespace

std::string models_section(std::span<const Record> rows, const std::optional<MachineScore>& machine,
                           const Colours& colours, std::size_t width) {
  const std::vector<ModelLine> lines = model_lines(rows);
  if (lines.empty()) return {};
  std::vector<ModelColumns> table;
  std::array<std::size_t, std::tuple_size_v<ModelColumns>> widths{};
  for (const ModelLine& line : lines) {
    table.push_back(model_columns(line));
    for (std::size_t c = 0; c < widths.size(); ++c)
      widths.at(c) = std::max(widths.at(c), columns_of(table.back().at(c)));
  }
  // The words of a narrow terminal are below the numbers.
  constexpr std::size_t kIndent = 2, kGap = 2, kBelow = 6, kLeastForWords = 36;
  std::size_t used = kIndent;
  for (const std::size_t each : widths) used += each + kGap;
  const bool beside = used + kLeastForWords <= width;
  std::string out = colours("1", "Fastest runtime of each model") + "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string begin(kIndent, ' ');
    for (std::size_t c = 0; c < widths.size(); ++c)
      begin += padded(table[i].at(c), widths.at(c), c == 2) + std::string(kGap, ' ');
    if (beside) {
      begin.pop_back();  // folded() puts a space before a word that is not the first
      out += folded(begin + " ", model_words(lines[i]), used, width);
      continue;
    }
    begin.erase(begin.find_last_not_of(' ') + 1);
    out += begin + "\n" + folded(std::string(kBelow, ' '), model_words(lines[i]), kBelow, width);
  }
  const HowSure sure = how_sure(rows);
  if (sure.cells > 0) out += folded("", sure_line(sure, machine), 2, width);
  return out + "\n";
}

std::string failures_section(std::span<const Record> rows, const ReportedFiles& files, const Colours& colours,
                             std::size_t width) {
  const std::vector<Failure> failures = failures_of(rows);
  if (failures.empty()) return {};
  constexpr std::size_t kIndent = 2, kBelow = 4, kFolded = 6;
  std::string out = "\n" + colours("1", "What failed, and why") + "\n";
  for (const Failure& failure : failures) {
    const bool urgent = failure.status == CellStatus::kWrong || failure.status == CellStatus::kFailed;
    std::string cause = std::string(to_string(failure.status));
    if (failure.reason_code) cause += fmt::format(" ({})", to_string(failure.reason_code));
    const std::string message = message_text(*failure.cells.front());
    if (!message.empty()) cause += ": " + message;
    std::string text = folded(std::string(kIndent, ' '), cause, kBelow, width);
    out += urgent ? colours("31", text.substr(0, text.size() - 1)) + "\n" : text;
    for (const std::string& where : failure.where) out += folded(std::string(kBelow, ' '), where, kFolded, width);
    for (const Record* row : failure.cells) {
      const auto log = files.logs.find(row->attempt_id);
      if (log == files.logs.end()) continue;
      out += fmt::format("{}log: {}\n", std::string(kBelow, ' '), log->second.string());
      break;
    }
    if (!failure.hint.empty()) out += folded(std::string(kBelow, ' '), "to do: " + failure.hint, kFolded, width);
  }
  return out;
}

std::vector<std::string> bars_of(std::span<const Record> rows, std::size_t length) {
  struct Range {
    double low, high;
    std::size_t count;
  };
  std::map<std::string, Range> ranges;
  for (const Record& row : rows) {
    const double p50 = row.latency_p50_ms.value_or(0);
    if (p50 <= 0) continue;
    const auto [range, is_new] = ranges.try_emplace(row.model, Range{p50, p50, 0});
    range->second = {std::min(range->second.low, p50), std::max(range->second.high, p50), range->second.count + 1};
  }
  std::vector<std::string> bars;
  for (const Record& row : rows) {
    const auto range = ranges.find(row.model);
    const double p50 = row.latency_p50_ms.value_or(0);
    if (range == ranges.end() || p50 <= 0 || range->second.count < 2) {
      bars.emplace_back();
      continue;
    }
    // The fastest has a bar, too: of one column.
    // At least a factor of 1.2, so that noise is not blown up (docs/charts.md).
    const double whole = std::log(std::max(1.2, range->second.high / range->second.low));
    const double share = std::log(p50 / range->second.low) / whole;
    const std::string text = bar(1 + share * static_cast<double>(length - 1));
    bars.push_back(padded(text, length));
  }
  return bars;
}

std::vector<std::string> folded_notes(const std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::size_t>> kept;
  std::map<std::string, std::size_t> places;
  for (const std::string& note : notes) {
    const auto [place, is_new] = places.emplace(note_kind(note), kept.size());
    if (is_new) kept.emplace_back(note, 0);
    ++kept[place->second].second;
  }
  std::vector<std::string> lines;
  lines.reserve(kept.size());
  for (const auto& [note, count] : kept)
    lines.push_back(count == 1 ? note : fmt::format("{} ({} notes of this kind)", note, count));
  return lines;
}

}  // namespace assay
