// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"
#include "history/exchange/readers.hpp"

namespace assay::exchange {
namespace {

enum class Range { kAny, kFromZero, kAboveZero };

/// A time of an inference is above 0. Of the rest, only what is a difference or a seed may be negative.
Range range_of(const Field& field) {
  if (is_any(field.name, {"cosine_similarity", "seed", "energy_j", "memory_model_mb"})) return Range::kAny;
  if (is_any(field.name, {"latency_std_ms"})) return Range::kFromZero;
  const bool of_inference =
      field.name.starts_with("latency_") || field.name.starts_with("ttft_") || field.name.starts_with("tpot_");
  const bool is_time = field.unit == "ms" || field.unit == "ns";
  return field.name == "batch_size" || (of_inference && is_time) ? Range::kAboveZero : Range::kFromZero;
}

const char* words_of(Range range) {
  switch (range) {
    case Range::kAny:
      return "a finite number";
    case Range::kFromZero:
      return "a finite number from 0";
    case Range::kAboveZero:
      return "a finite number above 0";
  }
  return "";
}

bool is_in(Range range, double value) {
  if (!std::isfinite(value)) return false;
  return range == Range::kAny || value > 0 || (range == Range::kFromZero && value == 0);
}

std::optional<double> value_of(const Record& row, const Field& field) {
  if (const auto* count = std::get_if<Count Record::*>(&field.member))
    return row.**count ? std::optional(static_cast<double>(*(row.**count))) : std::nullopt;
  if (const auto* number = std::get_if<Number Record::*>(&field.member)) return row.**number;
  return std::nullopt;
}

std::string bad_value(std::string_view name, double value, Range range) {
  return fmt::format("{} is {}; valid is {}", name, value, words_of(range));
}

/// What is wrong with a row; "" if nothing is.
std::string fault_of(const ReadRow& row) {
  for (const Field& field : result_fields())
    if (const auto value = value_of(row.record, field); value && !is_in(range_of(field), *value))
      return bad_value(field.name, *value, range_of(field));
  for (const LaunchMedian& median : row.record.launch_p50_ms)
    if (!is_in(Range::kAboveZero, median.p50_ms)) return bad_value("launch_p50_ms", median.p50_ms, Range::kAboveZero);
  const std::vector<std::int64_t>& samples = row.samples.duration_ns;
  const auto wrong = std::ranges::find_if(samples, [](std::int64_t duration) { return duration <= 0; });
  if (wrong == samples.end()) return "";
  const std::string place = fmt::format("sample {} of {}", wrong - samples.begin() + 1, samples.size());
  if (*wrong == kNoDuration) return fmt::format("{} is not a duration; valid is a time above 0", place);
  return fmt::format("{} takes {} ns; valid is a time above 0", place, *wrong);
}

}  // namespace

Status check_values(const Source& source, const ResultsFile& file) {
  std::string first;
  std::size_t faults = 0;
  for (std::size_t i = 0; i < file.rows.size(); ++i) {
    const std::string fault = fault_of(file.rows[i]);
    if (fault.empty()) continue;
    ++faults;
    const std::string& place = file.rows[i].place;
    if (first.empty())
      first = fmt::format("{} ({}): {}", place.empty() ? fmt::format("result {}", i + 1) : place,
                          shown(file.rows[i].record.model), fault);
  }
  if (faults == 0) return {};
  const std::string more = faults == 1 ? "" : fmt::format(" (and {} like it)", counted(faults - 1, "more row"));
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}{}", shown_path(source.path), first, more),
              "correct the values or remove the rows; nothing of the file is used");
}

}  // namespace assay::exchange
