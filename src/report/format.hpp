// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// A word for people: "✅ verified", "❌ wrong", "– skipped (not_built)".
[[nodiscard]] std::string show_verdict(const Record& row);

}  // namespace assay
