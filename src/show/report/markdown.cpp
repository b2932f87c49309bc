// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/traits/cell.hpp"
#include "core/traits/inconsistency.hpp"
#include "history/analyse/analyse.hpp"
#include "show/report/format.hpp"
#include "show/report/interruption.hpp"
#include "show/report/report.hpp"

namespace assay {
namespace {

// "text_generation" → "Text Generation", as the guide heads its sections.
std::string title(const std::string& word) {
  std::string text = word;
  bool start = true;
  for (char& c : text) {
    if (c == '_') c = ' ';
    if (start) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    start = c == ' ';
  }
  return text;
}

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) line += " " + cell(text) + " |";
  return line + "\n";
}

std::string heading(const std::vector<std::string>& cells) {
  std::string rule = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) rule += "---|";
  return line_of(cells) + rule + "\n";
}

std::string or_dash(const std::string& text) { return text.empty() ? "–" : text; }

std::string millions(const Count& count) {
  if (!count) return "–";
  return *count >= 1'000'000 ? fmt::format("{:.2f} M", static_cast<double>(*count) / 1e6) : std::to_string(*count);
}

std::string text_of(const Json& json, const char* key) {
  if (!json.contains(key) || json.at(key).is_null()) return "unknown";
  const Json& value = json.at(key);
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string system_section(const RunInfo& run) {
  const Json& system = run.system;
  std::string out = "## System Information\n";
  const auto item = [&](const char* label, const std::string& value) {
    out += fmt::format("- **{}**: {}\n", label, value);
  };
  item("Platform", text_of(system, "platform"));
  item("Processor", text_of(system, "processor"));
  item("Python Version", text_of(system, "python_version"));
  if (system.value("cuda_available", false)) item("CUDA Version", text_of(system, "cuda_version"));
  const Json gpus = system.contains("gpus") ? system.at("gpus") : Json::array();
  item("GPU Count", std::to_string(gpus.size()));
  if (!gpus.empty()) {
    out += "- **GPUs**:\n";
    for (std::size_t i = 0; i < gpus.size(); ++i)
      out += fmt::format("  - GPU {}: {}, {:.2f} GB, Compute Capability {}\n", i, text_of(gpus[i], "name"),
                         gpus[i].value("memory_gb", 0.0), text_of(gpus[i], "compute_capability"));
  }
  item("Host", run.host);
  item("assay", run.tool_version + (run.git_commit.empty() ? "" : " (" + run.git_commit + ")"));
  item("Command", "`" + run.command + "`");
  return out + "\n";
}

std::string interruption_section(const ReportInput& input, const std::vector<Record>& rows) {
  const std::optional<std::string> text = interruption_text(input);
  if (!text) return {};
  std::string out = fmt::format("**{}.** {}\n\n", upper(text->substr(0, 1)) + text->substr(1), how_to_resume(input));
  const std::vector<std::string> missing = missing_cells(input, rows);
  if (!missing.empty()) out += "Missing:\n\n";
  for (const std::string& line : missing) out += "- " + line + "\n";
  return missing.empty() ? out : out + "\n";
}

std::string hardware_section(const RunInfo& run) {
  std::string out = "## Available Hardware\n";
  for (const auto& [word, entry] : run.hardware.items()) {
    const bool available = entry.is_object() && entry.value("available", false);
    out += fmt::format("- **{}**: {}", word, available ? "✅ Available" : "❌ Not available");
    if (!available && entry.is_object() && !entry.value("why", "").empty()) out += ": " + entry.value("why", "");
    out += '\n';
  }
  return out + "\n";
}

std::string models_section(const std::vector<Record>& rows) {
  std::string out =
      "## Models Tested\n\n" + heading({"Model", "Resolved to", "Family", "Class", "Size", "Weights", "Parameters"});
  for (const std::string& model : models_of(rows)) {
    const Record& row = *std::find_if(rows.begin(), rows.end(), [&](const Record& r) { return r.model == model; });
    out += line_of({model, or_dash(row.model_id), row.family, or_dash(row.model_class), or_dash(row.size),
                    or_dash(std::string(to_string(row.weights))), millions(row.parameter_count)});
  }
  return out + "\n";
}

std::string verification_section(const ReportInput& input, const std::vector<Record>& rows) {
  std::string out =
      "## Functionality Verification Results\n\n" +
      heading({"Model", "Hardware", "Shape", "Verdict", "Reference", "Max abs error", "Limit", "Message"});
  for (const Record& row : rows)
    out += line_of({row.model, target_key(row), row.batch_size ? shape_key(row) : "–",
                    show_verdict(row) + kept_note(input, row), row.reference,
                    row.max_abs_error ? fmt::format("{:.3g}", *row.max_abs_error) : "–",
                    row.error_limit ? fmt::format("{:.3g}", *row.error_limit) : "–", message_text(row)});
  return out + "\n";
}

// In place of a time: why there is no time to compare.
std::string why_no_number(const Record& row) {
  if (row.status != CellStatus::kCompleted) return std::string(to_string(row.status));
  for (const Flag flag : {Flag::kSimulated, Flag::kSoftware, Flag::kPartial})
    if (row.flags.has(flag)) return std::string(to_string(flag));
  if (too_unsure_to_rank(row))
    return row.flags.has(Flag::kUnsteady) ? "unsteady" : row.flags.has(Flag::kNoisy) ? "too noisy" : "too uncertain";
  if (!row.ranked()) return std::string(to_string(row.verification));
  return row.latency_p50_ms ? "other shape or precision" : "not measured";
}

// A table of models by targets; `pick` gives the row that stands for a pair, `print` its number.
template <class Pick, class Print>
std::string grid(const std::vector<Record>& rows, Pick pick, Print print) {
  const std::vector<std::string> targets = targets_of(rows);
  std::vector<std::string> head{"Model"};
  for (const std::string& target : targets) head.push_back(upper(target));
  std::string out = heading(head);
  for (const std::string& model : models_of(rows)) {
    std::vector<std::string> cells{model};
    for (const std::string& target : targets) {
      if (const Record* row = pick(rows, model, target)) {
        cells.push_back(print(*row));
        continue;
      }
      const auto of_pair = [&](const Record& r) { return r.model == model && target_key(r) == target; };
      const auto any = std::ranges::find_if(rows, of_pair);
      const auto wrong =
          std::ranges::find_if(rows, [&](const Record& r) { return of_pair(r) && r.status == CellStatus::kWrong; });
      cells.push_back(any == rows.end()                      ? "–"
                      : any->ranked() && wrong != rows.end() ? "wrong at " + shape_key(*wrong)
                                                             : why_no_number(*any));
    }
    out += line_of(cells);
  }
  return out + "\n";
}

std::string shapes_table(const std::vector<Record>& rows, bool interrupted) {
  std::string out =
      "#### All shapes\n\n" +
      heading({"Model", "Hardware", "Shape", "Verdict", "p50 (ms)", "95 % interval", "Launches", "p90 (ms)", "p99 (ms)",
               "Throughput (items/s)", "Memory (MB)", "Load (s)", "First (ms)", "Samples", "Flags", "Marks"});
  const std::vector<bool> inconsistent = inconsistent_rows(rows);
  std::vector<std::vector<Mark>> marks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& row = rows[i];
    marks.push_back(marks_of(row, inconsistent[i]));
    if (row.latency_p50_ms)
      out += line_of(
          {row.model, target_key(row), shape_key(row), verdict_text(row), show_median(row), show_interval(row),
           show_launches(row), show_percentile(row.latency_p90_ms, row.latency_p90_quality),
           show_percentile(row.latency_p99_ms, row.latency_p99_quality), show(row.throughput_ips), show(row.memory_mb),
           show(row.model_load_time), show(row.first_inference_ms),
           row.iterations ? std::to_string(*row.iterations) : "–", flag_words(row), or_dash(words_of(marks.back()))});
  }
  std::vector<std::string> legend;
  if (out.find("| ~") != std::string::npos)
    legend.emplace_back("`~`: too few samples for this percentile (`latency_pXX_quality` says how many it needs).");
  if (std::string items = throughput_legend(rows); !items.empty()) legend.push_back(std::move(items));
  if (std::ranges::any_of(rows, of_one_process)) legend.push_back(fmt::format("1 launch: {}.", kOneProcessNote));
  if (const std::string fewer = fewer_launches_legend(rows, interrupted); !fewer.empty()) legend.push_back(fewer);
  for (const std::string& meaning : marks_legend(marks, false)) legend.push_back(meaning);
  if (const std::string generations = generation_legend(rows); !generations.empty()) legend.push_back(generations);
  return out + (legend.empty() ? "\n" : "\n" + join(legend, " ") + "\n\n");
}

std::string generation_table(const std::vector<Record>& rows) {
  std::string out;
  for (const Record& row : rows)
    if (row.ttft_ms)
      out +=
          line_of({row.model, target_key(row), shape_key(row), verdict_text(row), std::string(to_string(row.kv_cache)),
                   show_ttft(row), show_interval(row.ttft_p50_ms, row.ttft_p50_low_ms, row.ttft_p50_high_ms),
                   row.ttft_samples ? std::to_string(*row.ttft_samples) : "–", show(row.ttft_p99_ms), show_tpot(row),
                   show_interval(row.tpot_p50_ms, row.tpot_p50_low_ms, row.tpot_p50_high_ms), show(row.tpot_p99_ms),
                   show(row.tpot_ms), show(row.tokens_per_second), show(row.total_tokens_per_second),
                   show(row.prompt_tokens_per_second)});
  if (out.empty()) return out;
  return "#### Generation\n\n" +
         heading({"Model", "Hardware", "Shape", "Verdict", "KV cache", "TTFT p50 (ms)", "95 % interval", "Prompts",
                  "TTFT p99 (ms)", "TPOT p50 (ms)", "95 % interval", "TPOT p99 (ms)", "TPOT mean (ms)", "Tokens/s",
                  "Tokens/s, batch", "Prompt tokens/s"}) +
         out +
         "\nGreedy, with fixed lengths of prompt and output; a latency above is that of a whole generation. TTFT: from "
         "the start of the prompt's run to the first token's id on the host. TPOT: from id to id of all further "
         "tokens. Tokens/s: of one sequence, 1000 / TPOT mean; of the batch: times its size. Prompt tokens/s: of the "
         "whole batch. KV cache: `growing` is extended by concatenation, `static` has its maximal length from the "
         "start, `runtime` is the runtime's own.\n\n";
}

// The row of this target among those that stand for a model.
const Record* at_one_cell(std::span<const Record> rows, const std::string& model, const std::string& target) {
  for (const Record* row : representatives(rows, model))
    if (target_key(*row) == target) return row;
  return nullptr;
}

const Record* best_at_one_precision(std::span<const Record> rows, const std::string& model, const std::string& target) {
  const std::vector<const Record*> alike = representatives(rows, model);
  return alike.empty() ? nullptr : best_throughput(rows, model, target, *alike.front());
}

std::string cells_compared(const Speedup& speedup) {
  const std::string left_out = speedup.comparison.interval && speedup.left_out > 0
                                   ? fmt::format("; {} left out: one process each", speedup.left_out)
                                   : "";
  return std::to_string(speedup.pairs) + left_out;
}

std::string results_section(const std::vector<Record>& all, bool interrupted) {
  std::string out = "## Benchmark Results\n\n";
  const bool completed =
      std::ranges::any_of(all, [](const Record& row) { return row.status == CellStatus::kCompleted; });
  if (completed && measured_nothing(all)) return out + "The models were verified, not measured.\n\n";
  for (const std::string& family : families_of(all)) {
    std::vector<Record> rows;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows), [&](const Record& r) { return r.family == family; });
    out += fmt::format("### {} Models\n\n", title(family));
    const auto comparable_time = [](const Record& r) { return r.ranked() && r.latency_p50_ms.has_value(); };
    if (std::any_of(rows.begin(), rows.end(), comparable_time)) {
      out +=
          "#### Latency Comparison (ms)\n\nMedian at the smallest shape that most hardware has, the same in a line; "
          "lower is better; with its 95 % interval, over launches if there are several.\n\n";
      out += grid(rows, at_one_cell, [](const Record& row) { return show_latency(row); });
      out +=
          "#### Throughput Comparison (items/sec)\n\nThe highest of the cells of this model and hardware, with its "
          "shape and the number of cells; higher is better.\n\n";
      out += grid(rows, best_at_one_precision, [&](const Record& row) {
        const std::size_t cells = throughput_cells(rows, row.model, target_key(row), row).size();
        return fmt::format("{} (batch {}{}{})", show(row.throughput_ips), row.batch_size.value_or(1),
                           row.streams.value_or(1) > 1 ? fmt::format(", {} streams", *row.streams) : "",
                           cells > 1 ? fmt::format(", best of {}", cells) : "");
      });
    } else {
      out +=
          "No cell of this family is verified, measured and steady enough to be ranked; what was measured is in the "
          "tables below.\n\n";
    }
    const std::vector<Speedup> speedups = speedups_against_cpu(rows);
    if (!speedups.empty()) {
      out +=
          "#### Relative Performance (vs CPU)\n\nHow many times as fast as the CPU, higher is better: geometric mean "
          "of the ratios of times over equal cells, of each round of launches, with its 95 % interval over "
          "rounds.\n\n" +
          heading({"Hardware", "Speedup Factor", "95 % interval", "Rounds", "Cells compared"});
      for (const Speedup& each : speedups) {
        const CellComparison& found = each.comparison;
        out +=
            line_of({upper(each.target), found.claimed() ? fmt::format("{:.2f}x", found.ratio) : no_claim_words(found),
                     found.interval ? fmt::format("{:.2f} to {:.2f}", found.interval->low, found.interval->high) : "–",
                     std::to_string(found.rounds), cells_compared(each)});
      }
      out += '\n';
    }
    out += generation_table(rows);
    if (std::any_of(rows.begin(), rows.end(), [](const Record& r) { return r.latency_p50_ms.has_value(); }))
      out += shapes_table(rows, interrupted);
  }
  return out;
}

std::string ratings_table(const std::vector<Record>& all) {
  std::string lines;
  for (const std::string& family : families_of(all)) {
    std::vector<Record> rows;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows), [&](const Record& r) { return r.family == family; });
    for (const std::string& target : targets_of(rows)) {
      const std::optional<Rating> found = performance_rating(rows, target);
      if (!found) continue;
      const bool measured = std::ranges::any_of(
          rows, [&](const Record& row) { return target_key(row) == target && row.ranked() && row.latency_p50_ms; });
      if (!measured) continue;
      lines += line_of(
          {title(family), target, rating_words(*found),
           found->interval ? fmt::format("{:.2f} to {:.2f}", found->interval->low, found->interval->high) : "–"});
    }
  }
  if (lines.empty()) return {};
  return heading({"Family", "Hardware", "Performance rating", "Times slower"}) + lines +
         "\nRating: how many times slower than the fastest other hardware here over the cells that both have "
         "(geometric mean of the ratios of times, 95 % interval over rounds of launches): `high` up to 1.5, "
         "`medium-high` up to 4, `medium` up to 10, `low` beyond. If the interval covers several, all are possible. A "
         "hardware is rated only if it is shown to be slower than another one, or faster than all others.\n\n";
}

std::string compatibility_section(const std::vector<Record>& rows) {
  std::string out = "## Hardware Compatibility\n\n" + heading({"Model", "Hardware", "Status", "Why"});
  // If one shape is wrong, the pair is wrong; else, if one works, the pair works.
  const auto weight = [](const Record& row) { return row.status == CellStatus::kWrong ? 2 : row.ranked() ? 1 : 0; };
  for (const std::string& model : models_of(rows))
    for (const std::string& target : targets_of(rows)) {
      const Record* shown = nullptr;
      for (const Record& row : rows)
        if (row.model == model && target_key(row) == target && (shown == nullptr || weight(row) > weight(*shown)))
          shown = &row;
      if (shown != nullptr) out += line_of({model, target, show_verdict(*shown), message_text(*shown)});
    }
  return out + "\n" + ratings_table(rows);
}

std::string list(const char* head, const std::vector<std::string>& lines, const char* nothing) {
  std::string out = fmt::format("## {}\n\n", head);
  for (const std::string& line : lines) out += "- " + line + "\n";
  if (lines.empty()) out += std::string(nothing) + "\n";
  return out + "\n";
}

}  // namespace

std::string markdown_report(const ReportInput& input) {
  const std::vector<Record> all = with_distinct_names(input.rows), rows = started_rows(all);
  std::string out = fmt::format("# Hardware Benchmark Report - {}\n\n", guide_timestamp(input.run));
  out += interruption_section(input, all);
  out += system_section(input.run) + hardware_section(input.run) + models_section(rows) +
         verification_section(input, rows);
  out += results_section(rows, input.interrupted) + compatibility_section(all);
  out += list("Recommendations", recommendations(all), "Nothing was measured and verified, so nothing is recommended.");
  out += list("Next Steps", next_steps(all, input.files), "None.");
  if (!input.notes.empty()) out += list("Notes", input.notes, "");
  if (const auto lines = how_sure_lines(all, machine_score_of(input.run.doctor)); !lines.empty())
    out += list("How Sure", lines, "");
  if (input.spent.total() > 0) out += list("Time", {time_text(input.spent)}, "");
  out += fmt::format(
      "---\n\nLatency contract `e2e_host`: from just before the runtime's run call, inputs in bound host buffers, "
      "until all outputs\n"
      "are readable in bound host buffers. Percentiles by nearest rank. Only verified cells are ranked; simulated and\n"
      "software devices, unsteady series and disturbed ones never are. Two cells are called different by paired rounds "
      "of\n"
      "launches only. Report schema {}.\n",
      kReportSchema);
  return out;
}

}  // namespace assay
