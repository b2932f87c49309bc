// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/significant.hpp"
#include "core/traits/inconsistency.hpp"
#include "show/report/console.hpp"
#include "show/report/format.hpp"
#include "show/report/interruption.hpp"
#include "show/report/terminal.hpp"

namespace assay {
namespace {

// The settings of a cell beside batch and sequence length that are not the default.
std::string settings_text(const Record& row) {
  std::string text;
  if (row.output_tokens) text += fmt::format(", output tokens: {}", *row.output_tokens);
  if (row.streams.value_or(1) != 1) text += fmt::format(", streams: {}", *row.streams);
  if (row.threads.value_or(0) != 0) text += fmt::format(", threads: {}", *row.threads);
  if (!row.precision.empty() && row.precision != "float32" && row.precision != "as_is")
    text += ", precision: " + row.precision;
  if (row.kv_cache.value_or(KvCache::kGrowing) != KvCache::kGrowing)
    text += fmt::format(", KV cache: {}", to_string(row.kv_cache));
  return text;
}

class BenchConsole {
 public:
  BenchConsole(ReportInput input, std::size_t width) : input_(std::move(input)), width_(width) {}

  std::string text(const std::vector<std::filesystem::path>& files) {
    const std::vector<Record> rows = started_rows(input_.rows);
    const std::vector<bool> inconsistent = inconsistent_rows(rows);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (inconsistent[i]) inconsistent_.insert(&rows[i]);
    for (const Record& row : rows) add_row(row);
    add_summary(files);
    return std::move(out_);
  }

 private:
  [[nodiscard]] const EngineEntry* engine_of(const Record& row) const {
    const auto found = std::ranges::find(input_.engines, row.engine, &EngineEntry::name);
    return found == input_.engines.end() ? nullptr : &*found;
  }

  // Paths do not go through here: a line end inside one would be copied with it.
  void add_sentence(const std::string& indent, const std::string& text) {
    out_ += folded(indent, text, indent.size() + 2, width_);
  }

  void add_heading(const Record& row, const std::string& framework) {
    const std::string rule(60, '=');
    out_ += fmt::format("{0}\n{1} Benchmark: {2}\n{0}\nDevice: {3}\n  Type: {4}\n  Available: {5}\n", rule, framework,
                        row.model, row.device_name.empty() ? row.hardware : row.device_name,
                        upper(row.device_type.empty() ? row.hardware : row.device_type),
                        row.status == CellStatus::kUnavailable ? "False" : "True");
    if (row.flags.has(Flag::kSeeded)) out_ += "  Weights: random\n";
    if (row.flags.has(Flag::kScaled))
      out_ += fmt::format("  Scaled: smaller than the published model (size {})\n", row.size);
  }

  void add_row(const Record& row) {
    const EngineEntry* engine = engine_of(row);
    const std::string framework = engine != nullptr ? engine->framework_title : row.engine;
    const std::string heading = fmt::format("{} Benchmark: {}", framework, row.model) + "\n" + row.device;
    if (heading != heading_) {
      if (!heading_.empty()) out_ += '\n';
      heading_ = heading;
      add_heading(row, framework);
    }
    if (row.batch_size)
      out_ += fmt::format("\nBenchmarking batch size: {}{}{}{}\n", *row.batch_size,
                          row.sequence_length ? fmt::format(", sequence length: {}", *row.sequence_length) : "",
                          settings_text(row), kept_note(input_, row));
    add_verdict(row);
    if (row.compilation_time_ms)
      out_ += fmt::format("  Compilation time: {}ms\n", fixed_milliseconds(*row.compilation_time_ms));
    add_times(row);
    if (row.memory_mb) out_ += fmt::format("  Memory: {:.2f} MB\n", *row.memory_mb);
    add_marks(row);
    if (row.wall_time_per_iteration_ns && engine != nullptr && !engine->needs_model)
      out_ += fmt::format("  Wall time per iteration: {:.0f}ns\n", *row.wall_time_per_iteration_ns);
  }

  void add_verdict(const Record& row) {
    const bool completed = row.status == CellStatus::kCompleted;
    if (!completed) add_sentence("  ", fmt::format("{}: {}", verdict_text(row), message_text(row)));
    if (const auto log = input_.files.logs.find(row.attempt_id);
        row.status == CellStatus::kFailed && log != input_.files.logs.end())
      out_ += fmt::format("  Log: {}\n", log->second.string());
    if (completed && row.flags.has(Flag::kPartial))
      out_ += "  Partial: the measurement was interrupted; the samples until then are kept\n";
    if (completed && row.verification != Verification::kVerified)
      add_sentence("  ", fmt::format("Verification: {}{}", to_string(row.verification),
                                     row.message.empty() ? "" : ": " + row.message));
  }

  void add_times(const Record& row) {
    if (row.ttft_ms && row.latency_p50_ms && row.output_tokens)
      add_sentence("  ",
                   fmt::format("Latency and throughput are those of one generation of {} tokens", *row.output_tokens));
    if (row.latency_p50_ms) {
      out_ += fmt::format("  Latency (p50): {}ms\n", fixed_milliseconds(*row.latency_p50_ms));
      if (median_of_few_samples(row) && stats::has_few_samples(row.latency_p50_quality))
        add_sentence("    ", few_samples_words(row.latency_p50_quality));
      add_interval(row);
    }
    if (row.throughput_ips)
      out_ += fmt::format("  Throughput: {:.2f} {}/sec\n", *row.throughput_ips,
                          row.family == "vision" ? "images" : "items");
    if (row.ttft_ms)
      out_ += fmt::format("  Time to first token{}\n",
                          median_or_mean(row.ttft_p50_ms, row.ttft_p50_low_ms, row.ttft_p50_high_ms, row.ttft_ms));
    if (row.tpot_ms)
      out_ += fmt::format("  Time per output token{}, {:.2f} tokens/sec\n",
                          median_or_mean(row.tpot_p50_ms, row.tpot_p50_low_ms, row.tpot_p50_high_ms, row.tpot_ms),
                          row.tokens_per_second.value_or(0));
  }

  void add_interval(const Record& row) {
    const bool one = of_one_process(row);
    const std::string of = one ? kOneProcessNote : fmt::format("over {} launches", show_launches(row));
    add_sentence("    ",
                 row.latency_p50_low_ms && row.latency_p50_high_ms
                     ? fmt::format("95 % interval: {} to {}ms ({})", fixed_milliseconds(*row.latency_p50_low_ms),
                                   fixed_milliseconds(*row.latency_p50_high_ms), of)
                     : std::string("95 % interval: none") + (one ? ", and one process only" : ""));
    if (const std::string fewer = fewer_launches_legend(std::span(&row, 1), input_.interrupted); !fewer.empty())
      add_sentence("    ", fmt::format("{} launches. {}", show_launches(row), fewer));
  }

  // ": 5.000ms (mean)", " (p50): 4.900ms (95 % interval: 4.800 to 5.100ms)".
  static std::string median_or_mean(const Number& median, const Number& low, const Number& high, const Number& mean) {
    if (!median) return fmt::format(" (mean): {}ms", fixed_milliseconds(mean.value_or(0)));
    std::string text = fmt::format(" (p50): {}ms", fixed_milliseconds(*median));
    if (low && high)
      text += fmt::format(" (95 % interval: {} to {}ms)", fixed_milliseconds(*low), fixed_milliseconds(*high));
    return text;
  }

  void add_marks(const Record& row) {
    const std::vector<std::string> meanings = marks_legend({marks_of(row, inconsistent_.contains(&row))}, false);
    if (meanings.empty()) return;
    for (const std::string& meaning : meanings) add_sentence("  ", meaning);
    if (row.flags.has(Flag::kNoisy) || row.flags.has(Flag::kUnsteady)) {
      if (row.latency_mean_ms)
        out_ += fmt::format("  Latency (mean): {}ms\n", fixed_milliseconds(*row.latency_mean_ms));
      doctor_ = true;
    }
  }

  void add_summary(const std::vector<std::filesystem::path>& files) {
    const std::optional<std::string> interruption = interruption_text(input_);
    out_ += fmt::format("\n{0}\nBenchmark Suite {2}\n{0}\nTotal configurations: {1}\n", std::string(60, '='),
                        input_.rows.size(), interruption ? *interruption : "Complete");
    if (interruption) {
      for (const std::string& line : missing_cells(input_, input_.rows)) add_sentence("", "Missing: " + line);
      add_sentence("", how_to_resume(input_));
    }
    for (const std::filesystem::path& file : files) out_ += "Results saved to: " + file.string() + "\n";
    for (const std::string& note : input_.notes) add_sentence("", "note: " + note);
    if (const std::string legend = throughput_legend(input_.rows); !legend.empty()) add_sentence("", "note: " + legend);
    if (doctor_) add_sentence("", "note: `assay doctor` says what disturbs timings on this machine");
  }

  ReportInput input_;
  std::size_t width_;
  std::string out_, heading_;
  std::set<const Record*> inconsistent_;
  bool doctor_ = false;
};

}  // namespace

std::string bench_console(const ReportInput& input, const std::vector<std::filesystem::path>& files, int width) {
  return BenchConsole(for_terminal(input), usable_width(width)).text(files);
}

}  // namespace assay
