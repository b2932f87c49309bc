// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "show/chart/picture.hpp"

namespace assay::chart {

bool shows_values(const Record& row) {
  return row.status == CellStatus::kCompleted && row.verification != Verification::kWrong;
}

Mark mark_of(const Record& row) {
  if (row.status == CellStatus::kWrong || row.verification == Verification::kWrong) return Mark::kWrong;
  switch (row.status) {
    case CellStatus::kUnsupported:
      return Mark::kUnsupported;
    case CellStatus::kUnavailable:
      return Mark::kUnavailable;
    case CellStatus::kSkipped:
      return Mark::kSkipped;
    case CellStatus::kFailed:
      return Mark::kFailed;
    default:
      break;
  }
  return row.verification == Verification::kVerified ? Mark::kNone : Mark::kUnverified;
}

bool is_simulated(const Record& row) { return row.flags.has(Flag::kSimulated) || row.flags.has(Flag::kSoftware); }

bool is_unranked(const Record& row) { return shows_values(row) && !row.ranked() && !is_simulated(row); }

int style_of(const Record& row) {
  if (is_unranked(row)) return kUnranked;
  return (row.latency_p50_interval != IntervalScope::kLaunches ? kHollow : 0) | (is_simulated(row) ? kHatched : 0);
}

std::string status_words(const Record& row) {
  if (row.status != CellStatus::kCompleted)
    return std::string(to_string(row.status)) +
           (!row.reason_code ? "" : fmt::format(" ({})", to_string(row.reason_code)));
  if (row.verification == Verification::kWrong) return std::string(to_string(row.verification));
  std::string words(to_string(row.verification));
  if (is_simulated(row)) words += ", simulated or software";
  if (is_unranked(row)) words += ", not ranked";
  if (row.latency_p50_quality == kMeanQuality) words += ", mean";
  return words;
}

bool is_asked_alike(const Record& like, const Record& row) {
  const auto agrees = [&](auto field) { return !(row.*field) || row.*field == like.*field; };
  return agrees(&Record::sequence_length) && agrees(&Record::output_tokens) &&
         (row.precision.empty() || row.precision == like.precision) && row.given_shapes == like.given_shapes &&
         row.streams.value_or(1) == like.streams.value_or(1);
}

Number rate_at(const Record& row, const Number& time) {
  if (!row.throughput_ips || !row.latency_p50_ms || !time || *time <= 0) return {};
  return *row.throughput_ips * *row.latency_p50_ms / *time;
}

std::vector<std::string> legend_notes(std::span<const Row> rows, std::string_view hollow_words) {
  bool hollow = false, hatched = false, unranked = false, unverified = false;
  std::map<Mark, std::size_t> marks;
  for (const Row& row : rows) {
    hollow |= row.value && (row.style & kHollow) != 0;
    hatched |= row.value && (row.style & kHatched) != 0;
    unranked |= row.value && (row.style & kUnranked) != 0;
    unverified |= row.value && row.text == kUnverifiedText;
    if (row.mark != Mark::kNone) ++marks[row.mark];
  }
  std::vector<std::string> notes;
  if (unranked)
    notes.emplace_back(
        "Dashed outline: not ranked, because it is too disturbed or too uncertain, was cut short, or is not verified; "
        "nothing is claimed of it.");
  if (unverified) notes.emplace_back("?: no reference has verified the numbers.");
  if (hollow && !hollow_words.empty()) notes.emplace_back(hollow_words);
  if (hatched)
    notes.emplace_back(
        "Hatched or crossed: a simulated or software device; its times are not the device's, and it is never ranked.");
  constexpr std::array<const char*, 9> kMeanings{"",
                                                 "≠ wrong numbers",
                                                 "✕ failed",
                                                 "– unsupported by the runtime",
                                                 "∅ not available on this machine",
                                                 "… skipped",
                                                 "? not verified, so not ranked",
                                                 "∅ no common cell",
                                                 "· not measured"};
  std::string line;
  for (const auto& [mark, count] : marks)
    line += fmt::format("{}{} ({})", line.empty() ? "" : ", ", kMeanings.at(static_cast<std::size_t>(mark)), count);
  if (!line.empty()) notes.push_back("No value: " + line + ".");
  return notes;
}

void leave_out_absent(Frame& frame, std::vector<Row>& rows) {
  const auto says_nothing = [](const Row& row) {
    return !row.value &&
           (row.mark == Mark::kUnavailable || row.mark == Mark::kSkipped || row.mark == Mark::kNoCommonCell);
  };
  std::map<std::string, std::vector<std::string>> absent;  // by reason
  std::erase_if(frame.legend, [&](const Look& look) {
    const Row* first = nullptr;
    for (const Row& row : rows) {
      if (row.series != look.name) continue;
      if (!says_nothing(row)) return false;
      if (first == nullptr) first = &row;
    }
    if (first == nullptr) return true;
    absent[first->mark == Mark::kUnavailable ? "Not available on this machine"
           : first->mark == Mark::kSkipped   ? "Skipped"
                                             : "No cell in common"]
        .push_back(look.name);
    return true;
  });
  for (const auto& [reason, targets] : absent) {
    std::string names;
    for (const std::string& target : targets) {
      names += (names.empty() ? "" : ", ") + target;
      std::erase_if(rows, [&](const Row& row) { return row.series == target; });
    }
    frame.notes.push_back(fmt::format("{}: {}.", reason, names));
  }
}

}  // namespace assay::chart
