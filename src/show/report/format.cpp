// SPDX-License-Identifier: Apache-2.0
#include "show/report/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "core/base/significant.hpp"
#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"
#include "history/analyse/analyse.hpp"

namespace assay {
namespace {

constexpr Mark kNoisyMark{'N', "noisy", "other activity of the machine disturbed the measurement"};
constexpr Mark kUnsteadyMark{'U', "unsteady", "the times did not reach a steady state"};
constexpr Mark kSlowdownMark{'S', "slowdown", "the last samples were slower, or the first ones faster"};
constexpr Mark kInconsistentMark{'I', "inconsistent", "a larger batch takes less time in all than a smaller one"};
constexpr Mark kNotRankedMark{'X', "not ranked", "too disturbed or too uncertain to be compared"};
constexpr std::array kMarks{kNoisyMark, kUnsteadyMark, kSlowdownMark, kInconsistentMark, kNotRankedMark};

}  // namespace

std::string guide_timestamp(const RunInfo& run) {
  // "2026-03-02T12:34:56.789012Z" → "20260302_123456"
  std::string digits;
  for (const char c : run.started.substr(0, 19)) {
    if (c >= '0' && c <= '9') digits += c;
    if (c == 'T') digits += '_';
  }
  return digits;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string show(const Number& value) {
  if (!value) return "–";
  const double size = std::abs(*value);
  return size >= 100 ? fmt::format("{:.1f}", *value) : size >= 1 ? fmt::format("{:.2f}", *value) : significant(*value);
}

std::string show_interval(const Number& value, const Number& low, const Number& high) {
  if (!value || !low || !high) return "–";
  constexpr double kAsymmetric = 1.5;
  const double below = *value - *low, above = *high - *value;
  if (below < 0 || above < 0 || std::max(below, above) > kAsymmetric * std::min(below, above))
    return show(low) + " to " + show(high);
  const double half = (*high - *low) / 2;
  return "± " + significant(half, 2);
}

std::string show_interval(const Record& row) {
  return show_interval(row.latency_p50_ms, row.latency_p50_low_ms, row.latency_p50_high_ms);
}

std::string show_launches(const Record& row) {
  if (!row.latency_p50_ms) return "–";
  const std::string made = std::to_string(std::max<std::size_t>(1, launch_medians(row).size()));
  return has_fewer_launches(row) ? fmt::format("{} of {}", made, *row.planned_launches) : made;
}

std::string fewer_launches_legend(std::span<const Record> rows, bool interrupted) {
  std::vector<std::string> reasons;
  for (const Record& row : rows) {
    if (!row.latency_p50_ms || !has_fewer_launches(row)) continue;
    std::string reason = why_fewer_launches(row);
    if (reason.empty())
      reason = interrupted ? "the run was interrupted" : "the notes or the message of the row say why";
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  }
  return reasons.empty() ? "" : fmt::format("Fewer launches than planned: {}.", join(reasons, "; "));
}

bool of_one_process(const Record& row) { return row.latency_p50_ms && launch_medians(row).size() < 2; }

std::vector<Mark> marks_of(const Record& row, bool inconsistent) {
  std::vector<Mark> marks;
  if (!row.latency_p50_ms) return marks;
  if (row.flags.has(Flag::kNoisy)) marks.push_back(kNoisyMark);
  if (row.flags.has(Flag::kUnsteady)) marks.push_back(kUnsteadyMark);
  if (row.steady_class == stats::SteadyClass::kSlowdown) marks.push_back(kSlowdownMark);
  if (inconsistent) marks.push_back(kInconsistentMark);
  if (too_unsure_to_rank(row)) marks.push_back(kNotRankedMark);
  return marks;
}

std::string words_of(const std::vector<Mark>& marks) {
  std::vector<std::string> words;
  words.reserve(marks.size());
  for (const Mark& mark : marks) words.emplace_back(mark.word);
  return join(words, ", ");
}

std::string letters_of(const std::vector<Mark>& marks) {
  std::string letters;
  for (const Mark& mark : marks) letters += (letters.empty() ? "" : " ") + std::string(1, mark.letter);
  return letters;
}

std::vector<std::string> marks_legend(const std::vector<std::vector<Mark>>& marks, bool letters) {
  std::vector<std::string> legend;
  for (const Mark& mark : kMarks)
    if (std::ranges::any_of(marks, [&](const auto& each) { return std::ranges::find(each, mark) != each.end(); }))
      legend.push_back(fmt::format("{}{}: {}.", letters ? std::string{mark.letter, ' '} : "", mark.word, mark.meaning));
  return legend;
}

std::string show_ttft(const Record& row) {
  return row.ttft_p50_ms || !row.ttft_ms ? show(row.ttft_p50_ms) : "mean " + show(row.ttft_ms);
}

std::string show_tpot(const Record& row) {
  return row.tpot_p50_ms || !row.tpot_ms ? show(row.tpot_p50_ms) : "mean " + show(row.tpot_ms);
}

std::string generation_legend(std::span<const Record> rows) {
  std::map<std::int64_t, std::vector<std::string>> models;  // by output tokens
  for (const Record& row : rows) {
    if (!row.ttft_ms || !row.latency_p50_ms) continue;
    std::vector<std::string>& names = models[row.output_tokens.value_or(0)];
    if (std::ranges::find(names, row.model) == names.end()) names.push_back(row.model);
  }
  std::vector<std::string> parts;
  parts.reserve(models.size());
  for (const auto& [tokens, names] : models)
    parts.push_back(
        fmt::format("For {} latency and items/s are of one generation of {} tokens.", join(names, ", "), tokens));
  return join(parts, " ");
}

std::string few_samples_words(const std::string& quality) {
  long long have = 0, needed = 0, independent = 0;
  double time = 0;
  const int read =
      std::sscanf(quality.c_str(), "few_samples(n=%lld<%lld=%lldx%lf)", &have, &needed, &independent, &time);
  if (read < 2) return "too few samples";
  std::string text = fmt::format("too few samples: {} of the {} that it needs", have, needed);
  if (read == 4)
    text += fmt::format(" ({} independent ones; here about {} samples count as one)", independent, significant(time));
  return text;
}

std::string flag_words(const Record& row) {
  if (row.flags.empty()) return "–";
  std::string words = row.flags.text(", ");
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string throughput_legend(std::span<const Record> rows) {
  const bool both =
      std::ranges::any_of(rows, [](const Record& row) { return row.throughput_ips && row.latency_p50_ms; });
  return both ? "items/s: items over the time of all samples, so batch / p50 (the median) is another number." : "";
}

std::string show_percentile(const Number& value, const std::string& quality) {
  return (value && stats::has_few_samples(quality) ? "~" : "") + show(value);
}

bool median_of_few_samples(const Record& row) {
  return stats::has_few_samples(row.latency_p50_quality) && row.latency_p50_interval != IntervalScope::kLaunches;
}

std::string show_median(const Record& row) {
  return (row.latency_p50_ms && median_of_few_samples(row) ? "~" : "") + show(row.latency_p50_ms);
}

std::string show_latency(const Record& row) {
  std::string median = show_median(row);
  const std::string interval = show_interval(row);
  if (interval == "–") return median;
  return interval.starts_with("±") ? median + " " + interval : median + " (" + interval + ")";
}

std::string verdict_text(const Record& row) {
  if (row.status != CellStatus::kCompleted) {
    const std::string status(to_string(row.status));
    return !row.reason_code || to_string(row.reason_code) == status
               ? status
               : fmt::format("{} ({})", status, to_string(row.reason_code));
  }
  std::string words(to_string(row.verification));
  for (const Flag flag : {Flag::kSimulated, Flag::kSoftware, Flag::kPartial})
    if (row.flags.has(flag)) words += fmt::format(" ({})", to_string(flag));
  return words;
}

std::string message_text(const Record& row) {
  const std::string repeated = std::string(to_string(row.status)) + ": ";
  return row.message.starts_with(repeated) ? row.message.substr(repeated.size()) : row.message;
}

bool measured_nothing(std::span<const Record> rows) {
  return std::ranges::none_of(rows, [](const Record& row) { return row.latency_p50_ms || row.ttft_ms; });
}

std::string show_verdict(const Record& row) {
  const bool bad = row.status == CellStatus::kWrong || row.status == CellStatus::kFailed;
  const bool good = row.status == CellStatus::kCompleted && row.verification == Verification::kVerified;
  return (bad ? "❌ " : good ? "✅ " : "➖ ") + verdict_text(row);
}

}  // namespace assay
