// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyse/analyse.hpp"
#include "base/text.hpp"
#include "engine/engine_entry.hpp"
#include "report/format.hpp"
#include "report/interruption.hpp"
#include "report/report.hpp"

namespace assay {
namespace {

// UTF-8's further bytes begin with the bits 10.
bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Columns of text: how many cells a terminal uses for it. All our text is ASCII but for marks one column wide.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// Words, where a command in backquotes is one: a line end inside it would be copied with it.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words{""};
  bool command = false;
  for (const char c : text) {
    if (c == '`') command = !command;
    if (c == ' ' && !command)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// The text in lines of at most `width` columns: the first behind `indent` spaces, the others behind two more. A word
// that is longer has a line of its own.
std::string folded(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out, line(indent, ' ');
  std::size_t words = 0;
  for (const std::string& word : words_of(text)) {
    if (words > 0 && columns(line) + 1 + columns(word) > width) {
      out += line + "\n";
      line.assign(indent + 2, ' ');
      words = 0;
    }
    line += (words++ > 0 ? " " : "") + word;
  }
  return out + line + "\n";
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

// A table under construction: rows of results, and what is printed of each.
struct ResultTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> cells;
  std::size_t numbers = 0;  ///< the first column that is right-aligned
};

void drop_column(ResultTable& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  table.head.erase(table.head.begin() + at);
  for (auto& cells : table.cells) cells.erase(cells.begin() + at);
  if (column < table.numbers) --table.numbers;
}

std::vector<std::size_t> widths_of(const ResultTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.head.size(); ++c) {
    std::size_t most = columns(table.head[c]);
    for (const auto& cells : table.cells) most = std::max(most, columns(cells[c]));
    widths.push_back(most);
  }
  return widths;
}

// Columns behind `from` in which no row has anything.
void drop_empty_columns(ResultTable& table, std::size_t from) {
  for (std::size_t column = table.head.size(); column-- > from;) {
    const auto empty = [&](const std::vector<std::string>& cells) {
      return cells[column].empty() || cells[column] == "–" || cells[column] == "none";
    };
    if (std::ranges::all_of(table.cells, empty)) drop_column(table, column);
  }
}

std::size_t width_of(const ResultTable& table) {
  std::size_t sum = 2 * (table.head.size() - 1);
  for (const std::size_t width : widths_of(table)) sum += width;
  return sum;
}

// Lines of equal columns; a message is below the row that it explains. If the lines would be wider than `width`, the
// model (the first column) becomes a line of its own, and then columns of `spare` are left out, the first one first.
std::string table_text(ResultTable table, std::span<const Record> rows, std::vector<std::string> spare,
                       const Paint& paint, std::size_t width) {
  constexpr std::size_t kIndent = 2;
  const bool grouped = width_of(table) > width;
  if (grouped) drop_column(table, 0);
  std::vector<std::string> left_out;
  for (const std::string& name : spare) {
    if (width_of(table) + kIndent <= width) break;
    const auto column = std::ranges::find(table.head, name);
    if (column == table.head.end()) continue;
    drop_column(table, static_cast<std::size_t>(column - table.head.begin()));
    left_out.push_back(name);
  }
  const std::vector<std::size_t> widths = widths_of(table);
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(grouped ? kIndent : 0, ' ');
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += (c > 0 ? "  " : "") + pad(cells[c], widths[c], c >= table.numbers);
    return text;
  };
  std::string out = paint("1", line(table.head)) + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (grouped && (i == 0 || rows[i - 1].model != rows[i].model)) out += paint("1", rows[i].model) + "\n";
    out += paint(colour_of(rows[i]), line(table.cells[i])) + "\n";
    const std::string message = message_text(rows[i]);
    const bool repeated = i + 1 < rows.size() && rows[i + 1].message == rows[i].message &&
                          (!grouped || rows[i + 1].model == rows[i].model);
    if (!message.empty() && !rows[i].ranked() && !repeated) out += folded(message, 4, width);
  }
  if (!left_out.empty()) out += fmt::format("Left out for the width of the terminal: {}.\n", join(left_out, ", "));
  return out;
}

std::size_t terminal_width(int width) { return static_cast<std::size_t>(std::max(40, width)); }

// Names and messages come from files: characters that a terminal would interpret as commands are removed.
ReportInput for_terminal(ReportInput input) {
  input.rows = with_distinct_names(std::move(input.rows));
  for (Record& row : input.rows)
    for (std::string* text : {&row.model, &row.message, &row.device, &row.device_name, &row.reference})
      *text = one_line(*text);
  for (std::string& note : input.notes) note = one_line(note);
  input.resume_command = one_line(input.resume_command);
  return input;
}

// What an interrupted run did not finish; "" for another run.
std::string interruption_section(const ReportInput& input, const Paint& paint, std::size_t width) {
  const std::optional<std::string> text = interruption_text(input);
  if (!text) return {};
  std::string out = paint("1", *text) + "\n";
  for (const std::string& line : missing_cells(input.rows)) out += folded("missing: " + line, 2, width);
  return out + folded(how_to_resume(input), 2, width) + "\n";
}

std::string verification_rows(const ReportInput& input, const Paint& paint, std::size_t width) {
  const auto number = [](const Number& value) { return value ? fmt::format("{:.3g}", *value) : std::string("–"); };
  ResultTable table{{"model", "hardware", "shape", "verdict", "reference", "max abs error", "limit", "cosine"}, {}, 5};
  const std::vector<Record> rows = begun_rows(input.rows);
  for (const Record& row : rows)
    table.cells.push_back({row.model, target_key(row), row.batch_size ? shape_key(row) : "–",
                           verdict_words(row) + kept_words(input, row), row.reference, number(row.max_abs_error),
                           number(row.error_limit), number(row.cosine_similarity)});
  drop_empty_columns(table, 4);
  return table_text(std::move(table), rows, {"cosine", "reference"}, paint, width);
}

}  // namespace

std::string verification_table(const ReportInput& given, bool colour, int width) {
  const ReportInput input = for_terminal(given);
  const Paint paint(colour);
  const std::size_t columns = terminal_width(width);
  std::string out = interruption_section(input, paint, columns) + verification_rows(input, paint, columns);
  for (const std::string& note : input.notes) out += folded("note: " + note, 0, columns);
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
  return (bad ? "❌ " : good ? "✅ " : "➖ ") + verdict_words(row);
}

namespace {

// What the marks in the table mean, if it has any.
std::string legend_of(std::span<const Record> rows) {
  const bool intervals = std::ranges::any_of(rows, [](const Record& row) { return show_half_width(row) != "–"; });
  const bool weak = std::ranges::any_of(rows, [](const Record& row) {
    return row.latency_p50_quality.starts_with("few") || row.latency_p99_quality.starts_with("few");
  });
  std::string text;
  if (intervals) text = "± is half the width of the 95 % interval of the median.";
  if (weak) text += (text.empty() ? "" : " ") + std::string("~ marks a percentile of too few samples.");
  return text;
}

// The settings of a cell beside batch and sequence length that are not the default.
std::string settings_text(const Record& row) {
  std::string text;
  if (row.output_tokens) text += fmt::format(", output tokens: {}", *row.output_tokens);
  if (row.streams.value_or(1) != 1) text += fmt::format(", streams: {}", *row.streams);
  if (row.threads.value_or(0) != 0) text += fmt::format(", threads: {}", *row.threads);
  if (!row.precision.empty() && row.precision != "float32" && row.precision != "as_is")
    text += ", precision: " + row.precision;
  if (!row.kv_cache.empty() && row.kv_cache != "growing") text += ", KV cache: " + row.kv_cache;
  return text;
}

}  // namespace

namespace {

std::string measured_rows(const ReportInput& input, const Paint& paint, std::size_t width) {
  ResultTable table{{"model", "hardware", "shape", "verdict", "p50 ms", "± ms", "p99 ms", "items/s", "MB"}, {}, 4};
  const std::vector<Record> rows = begun_rows(input.rows);
  const bool generates = std::ranges::any_of(rows, [](const Record& row) { return row.ttft_ms.has_value(); });
  if (generates) table.head.insert(table.head.end(), {"TTFT ms", "TPOT ms", "tokens/s"});
  for (const Record& row : rows) {
    table.cells.push_back(
        {row.model, target_key(row), row.batch_size ? shape_key(row) : "–", verdict_words(row) + kept_words(input, row),
         show_weak(row.latency_p50_ms, row.latency_p50_quality), show_half_width(row),
         show_weak(row.latency_p99_ms, row.latency_p99_quality), show(row.throughput_ips), show(row.memory_mb)});
    if (generates)
      table.cells.back().insert(table.cells.back().end(),
                                {show(row.ttft_ms), show(row.tpot_ms), show(row.tokens_per_second)});
  }
  std::string out = table_text(std::move(table), rows, {"MB", "p99 ms", "items/s"}, paint, width);
  if (const std::string legend = legend_of(rows); !legend.empty()) out += folded(legend, 0, width);
  return out;
}

}  // namespace

std::string summary_table(const ReportInput& given, bool colour, int width) {
  const ReportInput input = for_terminal(given);
  const Paint paint(colour);
  const std::size_t columns = terminal_width(width);
  // Without any time those columns would be empty: the errors and limits of the verdicts are shown instead.
  const bool verified_only = measured_nothing(input.rows);
  std::string out = interruption_section(input, paint, columns) +
                    (verified_only ? verification_rows(input, paint, columns) : measured_rows(input, paint, columns));
  const auto section = [&](const char* name, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += "\n" + paint("1", name) + "\n";
    for (const std::string& text : lines) out += folded(text, 2, columns);
  };
  section("Recommendations", recommendations(input.rows));
  section("Next steps", next_steps(input.rows, input.files));
  section("Notes", input.notes);
  return out;
}

std::string bench_console(const ReportInput& given, const std::filesystem::path& csv) {
  const ReportInput input = for_terminal(given);
  const std::string rule(60, '=');
  std::string out, open;
  for (const Record& row : begun_rows(input.rows)) {
    const EngineEntry* entry = own_engine(row.engine);
    const std::string engine = entry != nullptr ? entry->framework_title : row.engine;
    const std::string title = fmt::format("{} Benchmark: {}", engine, row.model) + "\n" + row.device;
    if (title != open) {
      if (!open.empty()) out += "\n";
      open = title;
      out += fmt::format("{0}\n{1} Benchmark: {2}\n{0}\nDevice: {3}\n  Type: {4}\n  Available: {5}\n", rule, engine,
                         row.model, row.device_name.empty() ? row.hardware : row.device_name,
                         row.device_type.empty() ? row.hardware : row.device_type,
                         row.status == CellStatus::kUnavailable ? "False" : "True");
      if (row.has_flag(flag::kSeeded)) out += "  Weights: random\n";
      if (row.has_flag(flag::kScaled))
        out += fmt::format("  Scaled: smaller than the published model (size {})\n", row.size);
    }
    if (row.batch_size)
      out += fmt::format("\nBenchmarking batch size: {}{}{}{}\n", *row.batch_size,
                         row.sequence_length ? fmt::format(", sequence length: {}", *row.sequence_length) : "",
                         settings_text(row), kept_words(input, row));
    if (row.status != CellStatus::kCompleted) out += fmt::format("  {}: {}\n", verdict_words(row), message_text(row));
    if (const auto log = input.files.logs.find(row.attempt_id);
        row.status == CellStatus::kFailed && log != input.files.logs.end())
      out += fmt::format("  Log: {}\n", log->second.string());
    if (row.status == CellStatus::kCompleted && row.has_flag(flag::kPartial))
      out += "  Partial: measuring was cut short\n";
    if (row.status == CellStatus::kCompleted && row.verification != Verification::kVerified)
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
    if (row.wall_time_per_iteration_ns && entry != nullptr && !entry->needs_model)
      out += fmt::format("  Wall time per iteration: {:.0f}ns\n", *row.wall_time_per_iteration_ns);
  }
  const std::optional<std::string> interruption = interruption_text(input);
  out += fmt::format("\n{0}\nBenchmark Suite {2}\n{0}\nTotal configurations: {1}\n", rule, input.rows.size(),
                     interruption ? *interruption : "Complete");
  for (const std::string& line : interruption ? missing_cells(input.rows) : std::vector<std::string>())
    out += "Missing: " + line + "\n";
  if (interruption) out += how_to_resume(input) + "\n";
  if (!csv.empty()) out += "Results saved to: " + csv.string() + "\n";
  for (const std::string& note : input.notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace assay
