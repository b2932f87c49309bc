// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result/record.hpp"
#include "core/result/run_info.hpp"

namespace assay {

/// The version of every document that this module writes. A new field is a minor change; fields are never renamed.
inline constexpr const char* kReportSchema = "1.0";

/// "20250302_123456" from the run's start.
[[nodiscard]] std::string guide_timestamp(const RunInfo& run);

/// "mps" → "MPS": letters of ASCII, as the guides print hardware.
[[nodiscard]] std::string upper(std::string text);

/// "12.45", "0.0123": the number of digits depends on the size; "–" if there is no value.
[[nodiscard]] std::string show(const Number& value);

/// The median and its interval, for a table with one number per model and target: "8.00 ± 0.031", "1.71 (1.45 to 110)".
/// A percentile of too few samples is marked "~".
[[nodiscard]] std::string show_latency(const Record& row);

/// A value's interval: "± 0.031", or its ends if one is more than 1.5 times as far from the value as the other: "1.45
/// to 110"; "–" if there is no interval.
[[nodiscard]] std::string show_interval(const Number& value, const Number& low, const Number& high);
/// That of the median.
[[nodiscard]] std::string show_interval(const Record& row);

/// The number of launches that the median is of, "2 of 3" if more were planned; "–" without a median.
[[nodiscard]] std::string show_launches(const Record& row);
/// Why rows have fewer launches than planned, a sentence; "" if none has. `interrupted`: the run.
[[nodiscard]] std::string fewer_launches_legend(std::span<const Record> rows, bool interrupted);

/// What to say beside the interval of the median if it is of one launch.
inline constexpr const char* kOneProcessNote = "one process: the difference between processes is not in this interval";
[[nodiscard]] bool of_one_process(const Record& row);

/// What a reader must know about a row's time.
struct Mark {
  char letter;  ///< short form for tables on a terminal
  const char *word, *meaning;
  friend bool operator==(const Mark& a, const Mark& b) { return a.letter == b.letter; }
};
/// noisy, unsteady, slowdown, inconsistent, not ranked: those that the row has.
[[nodiscard]] std::vector<Mark> marks_of(const Record& row, bool inconsistent);
/// "noisy, not ranked"; "" without a mark.
[[nodiscard]] std::string words_of(const std::vector<Mark>& marks);
/// "N X".
[[nodiscard]] std::string letters_of(const std::vector<Mark>& marks);
/// The meaning of each mark that the rows have, a sentence each: "noisy: …", with letters "N noisy: …".
[[nodiscard]] std::vector<std::string> marks_legend(const std::vector<std::vector<Mark>>& marks, bool letters);

/// Median time to the first token and of a further one; the mean, with that word, where there is no median.
[[nodiscard]] std::string show_ttft(const Record& row);
[[nodiscard]] std::string show_tpot(const Record& row);

/// "For t5 latency and items/s are of one generation of 32 tokens."; "" if no row is of a generation.
[[nodiscard]] std::string generation_legend(std::span<const Record> rows);

/// The quality of a percentile of too few samples, as a sentence: "too few samples: 10 of the 43 that it needs (15
/// independent ones; here about 2.83 samples count as one)". `quality`: one of a row, for which
/// stats::has_few_samples() is true.
[[nodiscard]] std::string few_samples_words(const std::string& quality);

/// The flags of a row for people: "few samples, noisy"; "–" if it has none.
[[nodiscard]] std::string flag_words(const Record& row);

/// Why batch / p50 is not the items/s beside it; "" if no row has both.
[[nodiscard]] std::string throughput_legend(std::span<const Record> rows);

/// A percentile with its quality: "~12.00" if it comes from too few samples.
[[nodiscard]] std::string show_percentile(const Number& value, const std::string& quality);

/// The median; "~" only if its interval is not over launches, of which each needs few samples.
[[nodiscard]] std::string show_median(const Record& row);
/// Whether the median is of too few samples.
[[nodiscard]] bool median_of_few_samples(const Record& row);

/// The status and verdict in words: "verified", "verified (simulated)", "wrong (mismatch)", "skipped (not_built)".
[[nodiscard]] std::string verdict_text(const Record& row);

/// The row's message without the status that verdict_text() shows before it.
[[nodiscard]] std::string message_text(const Record& row);

/// Whether no row has a time: the run only verified, or nothing ran.
[[nodiscard]] bool measured_nothing(std::span<const Record> rows);

/// The verdict's text after a mark: ✅ for verified rows, ❌ for those that are wrong or failed, ➖ for all others.
[[nodiscard]] std::string show_verdict(const Record& row);

}  // namespace assay
