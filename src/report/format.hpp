// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "result/record.hpp"
#include "result/run_info.hpp"

namespace assay {

/// The version of every document that this module writes. A new field is a minor change; fields are never renamed.
inline constexpr const char* kReportSchema = "1.0";

/// "20250302_123456" from the run's start.
[[nodiscard]] std::string guide_timestamp(const RunInfo& run);

/// "12.45", "0.0123": the number of digits depends on the size; "–" if there is no value.
[[nodiscard]] std::string show(const Number& value);

/// The median and its interval, for a table with one number per model and target. A percentile of too few samples is
/// marked "~".
[[nodiscard]] std::string show_latency(const Record& row);

/// Half the width of the median's 95 % interval in ms, two digits; "–" if there is no interval.
[[nodiscard]] std::string show_half_width(const Record& row);

/// Whether the quality of a percentile says that it comes from too few samples.
[[nodiscard]] bool has_few_samples(const std::string& quality);

/// A percentile with its quality: "~12.00" if it comes from too few samples.
[[nodiscard]] std::string show_percentile(const Number& value, const std::string& quality);

/// The status and verdict in words: "verified", "verified (simulated)", "wrong (mismatch)", "skipped (not_built)".
[[nodiscard]] std::string verdict_text(const Record& row);

/// The row's message without the status that verdict_text() shows before it.
[[nodiscard]] std::string message_text(const Record& row);

/// Whether no row has a time: the run only verified, or nothing ran.
[[nodiscard]] bool measured_nothing(std::span<const Record> rows);

/// The verdict's text after a mark: ✅ for verified rows, ❌ for those that are wrong or failed, ➖ for all others.
[[nodiscard]] std::string show_verdict(const Record& row);

}  // namespace assay
