// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "result/record.hpp"
#include "result/run_info.hpp"

namespace assay {

/// Of every document that the report module writes. A new field is a minor change; nothing is ever renamed.
inline constexpr const char* kReportSchema = "1.0";

/// "20250302_123456" from the run's start.
[[nodiscard]] std::string guide_timestamp(const RunInfo& run);

/// "12.45", "0.0123": as many digits as the size needs; "–" for nothing.
[[nodiscard]] std::string show(const Number& value);

/// The cell of a table that has one number per model and target: the number, or the word that says why there is none.
/// A percentile of too few samples is marked "~".
[[nodiscard]] std::string show_latency(const Record& row);

/// Half the width of the median's 95 % interval in ms, two digits; "–" where there is no interval.
[[nodiscard]] std::string show_half_width(const Record& row);

/// A percentile or another number with `quality` beside it: "~12.00" when it comes from too few samples.
[[nodiscard]] std::string show_weak(const Number& value, const std::string& quality);

/// A word for people: "verified", "verified (simulated)", "wrong (mismatch)", "skipped (not_built)".
[[nodiscard]] std::string verdict_words(const Record& row);

/// The row's message without the status that verdict_words() shows before it.
[[nodiscard]] std::string message_text(const Record& row);

/// Whether no row has a time: the run only verified, or nothing ran.
[[nodiscard]] bool measured_nothing(std::span<const Record> rows);

/// The verdict's words behind a mark: ✅ for what may be relied on, ❌ for what is wrong or failed, ➖ for the rest.
[[nodiscard]] std::string show_verdict(const Record& row);

}  // namespace assay
