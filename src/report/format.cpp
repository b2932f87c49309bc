// SPDX-License-Identifier: Apache-2.0
#include "report/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

std::string guide_timestamp(const RunInfo& run) {
  // "2026-03-02T12:34:56.789012Z" → "20260302_123456"
  std::string digits;
  for (const char c : run.started.substr(0, 19)) {
    if (c >= '0' && c <= '9') digits += c;
    if (c == 'T') digits += '_';
  }
  return digits;
}

std::string show(const Number& value) {
  if (!value) return "–";
  const double size = std::abs(*value);
  return size >= 100 ? fmt::format("{:.1f}", *value)
         : size >= 1 ? fmt::format("{:.2f}", *value)
                     : fmt::format("{:.3g}", *value);
}

std::string show_half_width(const Record& row) {
  if (!row.latency_p50_low_ms || !row.latency_p50_high_ms) return "–";
  const double half = (*row.latency_p50_high_ms - *row.latency_p50_low_ms) / 2;
  return half >= 10 ? fmt::format("{:.0f}", half) : fmt::format("{:.2g}", half);
}

bool has_few_samples(const std::string& quality) { return quality.starts_with("few"); }

std::string show_percentile(const Number& value, const std::string& quality) {
  return (value && has_few_samples(quality) ? "~" : "") + show(value);
}

std::string show_latency(const Record& row) {
  const std::string half = show_half_width(row);
  return show_percentile(row.latency_p50_ms, row.latency_p50_quality) + (half == "–" ? "" : " ±" + half);
}

std::string verdict_text(const Record& row) {
  if (row.status != CellStatus::kCompleted) {
    const std::string status(to_string(row.status));
    return row.reason_code.empty() || row.reason_code == status ? status : status + " (" + row.reason_code + ")";
  }
  std::string words(to_string(row.verification));
  for (const std::string_view name : {flag::kSimulated, flag::kSoftware, flag::kPartial})
    if (row.has_flag(name)) words += fmt::format(" ({})", name);
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
