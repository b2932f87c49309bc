// SPDX-License-Identifier: Apache-2.0
#include "core/result/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/result/launch_medians.hpp"

namespace assay {
namespace {

Json json_value(const Text& value) { return value.empty() ? Json() : Json(sanitise(value)); }
Json json_value(const Count& value) { return value ? Json(*value) : Json(); }
Json json_value(const Number& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }
template <HasWords Enum>
Json json_value(Enum value) {
  return Json(to_string(value));
}
template <HasWords Enum>
Json json_value(const Word<Enum>& value) {
  return value ? Json(to_string(*value)) : Json();
}
template <HasWords Enum>
Json json_value(WordSet<Enum> value) {
  return value.empty() ? Json() : Json(value.text());
}

Json json_value(const LaunchMedians& value) { return value.empty() ? Json() : Json(launch_medians_text(value)); }

/// Each reads `json` into `out`, or returns what would be valid.
using Expected = std::optional<std::string>;
Expected read_value(const Json& json, Text& out) {
  if (json.is_null()) return out.clear(), std::nullopt;
  if (!json.is_string()) return "a string or null";
  out = json.get<std::string>();
  return std::nullopt;
}
Expected read_value(const Json& json, Count& out) {
  if (json.is_null()) return out.reset(), std::nullopt;
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() &&
       json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}))
    return "a 64-bit integer or null";
  out = json.get<std::int64_t>();
  return std::nullopt;
}
Expected read_value(const Json& json, Number& out) {
  if (json.is_null()) return out.reset(), std::nullopt;
  if (!json.is_number()) return "a number or null";
  out = json.get<double>();
  return std::nullopt;
}
template <HasWords Enum>
Expected read_value(const Json& json, Enum& out) {
  const auto value = json.is_string() ? from_word<Enum>(json.get<std::string>()) : std::nullopt;
  if (!value) return valid_words<Enum>();
  out = *value;
  return std::nullopt;
}
template <HasWords Enum>
Expected read_value(const Json& json, Word<Enum>& out) {
  if (json.is_null()) return out.reset(), std::nullopt;
  Enum value{};
  Expected expected = read_value(json, value);
  if (!expected) out = value;
  return expected;
}
template <HasWords Enum>
Expected read_value(const Json& json, WordSet<Enum>& out) {
  const auto set = json.is_null()     ? WordSet<Enum>()
                   : json.is_string() ? WordSet<Enum>::from_text(json.get<std::string>())
                                      : std::nullopt;
  if (!set) return "a list, separated by commas, of " + valid_words<Enum>();
  out = *set;
  return std::nullopt;
}

Expected read_value(const Json& json, LaunchMedians& out) {
  if (json.is_null()) return out.clear(), std::nullopt;
  Result<LaunchMedians> medians = json.is_string() ? parse_launch_medians(json.get<std::string>()) : LaunchMedians();
  if (!json.is_string() || !medians) return "a list like '1:1.234 2:1.24', NUMBER:MILLISECONDS, each number once";
  out = *std::move(medians);
  return std::nullopt;
}

}  // namespace

bool Record::ranked() const {
  // docs/metrics.md, "Ranked cells", has the same rule as SQL.
  constexpr double kMostNoise = 0.1, kMostNoiseOfLaunches = 0.25, kLeast = 0.5, kMost = 2;
  if (status != CellStatus::kCompleted || verification != Verification::kVerified) return false;
  for (const Flag never : {Flag::kSimulated, Flag::kSoftware, Flag::kPartial, Flag::kUnsteady})
    if (flags.has(never)) return false;
  const bool of_launches = latency_p50_interval == IntervalScope::kLaunches;
  if (stats::has_few_samples(latency_p50_quality) && !of_launches) return false;
  if (!latency_p50_ms) return true;
  if (latency_p50_low_ms && *latency_p50_low_ms < kLeast * *latency_p50_ms) return false;
  if (latency_p50_high_ms && *latency_p50_high_ms > kMost * *latency_p50_ms) return false;
  const double most_noise = of_launches ? kMostNoiseOfLaunches : kMostNoise;
  return !flags.has(Flag::kNoisy) ||
         (latency_p50_low_ms && latency_p50_high_ms && *latency_p50_low_ms >= (1 - most_noise) * *latency_p50_ms &&
          *latency_p50_high_ms <= (1 + most_noise) * *latency_p50_ms);
}

bool Record::settled(bool measured) const {
  if (flags.has(Flag::kPartial)) return false;
  if (status == CellStatus::kUnsupported) return true;
  const bool ran = status == CellStatus::kCompleted || status == CellStatus::kWrong;
  return ran && (!measured || latency_mean_ms);
}

std::optional<std::string_view> Hashing::default_for(std::string_view engine) const {
  std::optional<std::string_view> found;
  for (std::size_t i = 0; i < default_count; ++i) {
    const Default& each = defaults.at(i);
    if (each.engine == engine) return each.value;
    if (each.engine.empty()) found = each.value;
  }
  return found;
}

const Field* find_field(std::string_view name) {
  const std::span<const Field> fields = result_fields();
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

Json field_value(const Record& record, const Field& field) {
  return std::visit([&](auto member) { return json_value(record.*member); }, field.member);
}

Status set_field(Record& record, const Field& field, const Json& value) {
  const Expected expected = std::visit([&](auto member) { return read_value(value, record.*member); }, field.member);
  if (!expected) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("'{}' is {}; it must be {}", field.name, json_text(value), *expected));
}

bool is_foreign(const Record& record) { return record.weights_hash.starts_with(kNamedWeights); }

Json to_json(const Record& record) {
  Json json = Json::object();
  for (const Field& field : result_fields()) json[std::string(field.name)] = field_value(record, field);
  return json;
}

Result<Record> record_from_json(const Json& json) {
  if (!json.is_object())
    return fail(ErrorCode::kInvalidArgument, fmt::format("a result is a JSON object, not {}", json.type_name()));
  Record record;
  for (const Field& field : result_fields())
    if (const auto found = json.find(std::string(field.name)); found != json.end())
      ASSAY_CHECK_OK(set_field(record, field, *found));
  return record;
}

}  // namespace assay
