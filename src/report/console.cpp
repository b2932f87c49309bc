// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/analyse.hpp"
#include "base/text.hpp"
#include "report/format.hpp"
#include "report/report.hpp"

namespace assay {
namespace {

// UTF-8's further bytes begin with the bits 10.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Columns of text: how many cells a terminal uses for it. All our text is ASCII but for marks one column wide.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// At most `most` columns of it; that something was left out is marked.
std::string cut(const std::string& text, std::size_t most) {
  if (columns(text) <= most) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (starts_character(text[end]) && ++seen == most) break;
  return text.substr(0, end) + "…";
}

std::string pad(const std::string& text, std::size_t width, bool right) {
  const std::size_t have = columns(text);
  const std::string space(width > have ? width - have : 0, ' ');
  return right ? space + text : text + space;
}

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  [[nodiscard]] std::string operator()(const char* code, const std::string& text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

 private:
  bool on_;
};

const char* colour_of(const Record& row) {
  if (row.status == CellStatus::kWrong || row.status == CellStatus::kFailed) return "31";
  if (row.ranked()) return "32";
  if (row.status == CellStatus::kCompleted) return "33";
  return "2";
}

// Lines of equal columns, the numbers right-aligned from `numbers` on; a message stands below the row it explains.
std::string table_text(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& table,
                       std::span<const Record> rows, std::size_t numbers, const Paint& paint, std::size_t width) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < head.size(); ++c) {
    std::size_t most = columns(head[c]);
    for (const auto& cells : table) most = std::max(most, columns(cells[c]));
    widths.push_back(most);
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) text += (c > 0 ? "  " : "") + pad(cells[c], widths[c], c >= numbers);
    return text;
  };
  std::string out = paint("1", line(head)) + "\n";
  for (std::size_t i = 0; i < table.size(); ++i) {
    out += paint(colour_of(rows[i]), line(table[i])) + "\n";
    const bool repeated =
        i + 1 < table.size() && rows[i + 1].message == rows[i].message && rows[i + 1].model == rows[i].model;
    if (!rows[i].message.empty() && !rows[i].ranked() && !repeated) out += "    " + cut(rows[i].message, width) + "\n";
  }
  return out;
}

// Names and messages come from files: what a terminal would take for a command goes.
ReportInput for_terminal(ReportInput input) {
  for (Record& row : input.rows)
    for (std::string* text : {&row.model, &row.message, &row.device, &row.device_name, &row.reference})
      *text = one_line(*text);
  for (std::string& note : input.notes) note = one_line(note);
  return input;
}

}  // namespace

std::string verification_table(const ReportInput& given, bool colour) {
  const ReportInput input = for_terminal(given);
  const auto number = [](const Number& value) { return value ? fmt::format("{:.3g}", *value) : std::string("–"); };
  std::vector<std::vector<std::string>> table;
  table.reserve(input.rows.size());
  for (const Record& row : input.rows)
    table.push_back({row.model, target_key(row), row.batch_size ? shape_key(row) : "–", verdict_words(row),
                     row.reference, number(row.max_abs_error), number(row.error_limit), number(row.cosine_similarity)});
  std::string out =
      table_text({"model", "hardware", "shape", "verdict", "reference", "max abs error", "limit", "cosine"}, table,
                 input.rows, 5, Paint(colour), 1000);
  for (const std::string& note : input.notes) out += "note: " + note + "\n";
  return out;
}

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

std::string show_weak(const Number& value, const std::string& quality) {
  return (value && quality.starts_with("few") ? "~" : "") + show(value);
}

std::string show_latency(const Record& row) {
  const std::string half = show_half_width(row);
  return show_weak(row.latency_p50_ms, row.latency_p50_quality) + (half == "–" ? "" : " ±" + half);
}

std::string verdict_words(const Record& row) {
  if (row.status != CellStatus::kCompleted)
    return std::string(to_string(row.status)) + (row.reason_code.empty() ? "" : " (" + row.reason_code + ")");
  std::string words(to_string(row.verification));
  for (const std::string_view name : {flag::kSimulated, flag::kSoftware})
    if (row.has_flag(name)) words += fmt::format(" ({})", name);
  return words;
}

std::string show_verdict(const Record& row) {
  const bool bad = row.status == CellStatus::kWrong || row.status == CellStatus::kFailed;
  const bool good = row.status == CellStatus::kCompleted && row.verification == Verification::kVerified;
  return (bad ? "❌ " : good ? "✅ " : "➖ ") + verdict_words(row);
}

std::string summary_table(const ReportInput& given, bool colour, int width) {
  const ReportInput input = for_terminal(given);
  const Paint paint(colour);
  std::vector<std::string> head{"model", "hardware", "shape", "verdict", "p50 ms", "± ms", "p99 ms", "items/s", "MB"};
  const bool generates = std::ranges::any_of(input.rows, [](const Record& row) { return row.ttft_ms.has_value(); });
  if (generates) head.insert(head.end(), {"TTFT ms", "TPOT ms", "tokens/s"});
  std::vector<std::vector<std::string>> table;
  for (const Record& row : input.rows) {
    table.push_back({row.model, target_key(row), row.batch_size ? shape_key(row) : "–", verdict_words(row),
                     show_weak(row.latency_p50_ms, row.latency_p50_quality), show_half_width(row),
                     show_weak(row.latency_p99_ms, row.latency_p99_quality), show(row.throughput_ips),
                     show(row.memory_mb)});
    if (generates)
      table.back().insert(table.back().end(), {show(row.ttft_ms), show(row.tpot_ms), show(row.tokens_per_second)});
  }
  std::string out = table_text(head, table, input.rows, 4, paint, static_cast<std::size_t>(std::max(40, width - 4)));
  const auto section = [&](const char* name, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += "\n" + paint("1", name) + "\n";
    for (const std::string& text : lines) out += "  " + text + "\n";
  };
  section("Recommendations", recommendations(input.rows));
  section("Next steps", next_steps(input.rows));
  section("Notes", input.notes);
  return out;
}

std::string bench_console(const ReportInput& given, const std::filesystem::path& csv) {
  const ReportInput input = for_terminal(given);
  const std::string rule(60, '=');
  std::string out, open;
  for (const Record& row : input.rows) {
    const std::string engine = row.framework == "pytorch" ? "PyTorch" : row.framework == "jax" ? "JAX" : row.engine;
    const std::string title = fmt::format("{} Benchmark: {}", engine, row.model) + "\n" + row.device;
    if (title != open) {
      if (!open.empty()) out += "\n";
      open = title;
      out += fmt::format("{0}\n{1} Benchmark: {2}\n{0}\nDevice: {3}\n  Type: {4}\n  Available: {5}\n", rule, engine,
                         row.model, row.device_name.empty() ? row.hardware : row.device_name,
                         row.device_type.empty() ? row.hardware : row.device_type,
                         row.status == CellStatus::kUnavailable ? "False" : "True");
    }
    if (row.batch_size)
      out += fmt::format("\nBenchmarking batch size: {}{}\n", *row.batch_size,
                         row.sequence_length ? fmt::format(", sequence length: {}", *row.sequence_length) : "");
    if (row.status != CellStatus::kCompleted)
      out += fmt::format("  {}{}: {}\n", to_string(row.status),
                         row.reason_code.empty() ? "" : " (" + row.reason_code + ")", row.message);
    else if (row.verification != Verification::kVerified)
      out += fmt::format("  Verification: {}{}\n", to_string(row.verification),
                         row.message.empty() ? "" : ": " + row.message);
    if (row.latency_p50_ms)
      out += fmt::format("  Latency (p50): {:.3f}ms{}\n", *row.latency_p50_ms,
                         row.latency_p50_quality.starts_with("few") ? " ~ " + row.latency_p50_quality : "");
    if (row.throughput_ips)
      out += fmt::format("  Throughput: {:.2f} {}/sec\n", *row.throughput_ips,
                         row.family == "vision" ? "images" : "items");
    if (row.ttft_ms) out += fmt::format("  Time to first token: {:.3f}ms\n", *row.ttft_ms);
    if (row.tpot_ms)
      out += fmt::format("  Time per output token: {:.3f}ms ({:.2f} tokens/sec)\n", *row.tpot_ms,
                         row.tokens_per_second.value_or(0));
    if (row.memory_mb) out += fmt::format("  Memory: {:.2f} MB\n", *row.memory_mb);
    if (row.wall_time_per_iteration_ns && row.engine == "null")
      out += fmt::format("  Wall time per iteration: {:.0f}ns\n", *row.wall_time_per_iteration_ns);
  }
  out += fmt::format("\n{0}\nBenchmark Suite Complete\n{0}\nTotal configurations: {1}\n", rule, input.rows.size());
  if (!csv.empty()) out += "Results saved to: " + csv.string() + "\n";
  for (const std::string& note : input.notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace assay
