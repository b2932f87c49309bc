// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "history/exchange/readers.hpp"

namespace assay::exchange {

/// The text of a hash as a UUID (version 8: made by its writer's own rule, RFC 9562).
std::string uuid_from(std::string_view name) {
  std::string digits = sha256_hex(name).substr(0, 32);
  digits[12] = '8';
  digits[16] = "89ab"[digits[16] % 4];
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

std::string uuid_of_row(std::string_view sha256, std::size_t row) {
  return uuid_from(fmt::format("{} {}", sha256, row));
}

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* member(const Json& object, std::initializer_list<std::string_view> keys) {
  const Json* value = &object;
  for (const std::string_view key : keys) {
    value = member(*value, key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : json_text(*value);
}

Number number_at(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  if (value == nullptr) return std::nullopt;
  Number number;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) number = parse_number<double>(trim(value->get_ref<const std::string&>()));
  return number;
}

Count count_at(const Json& object, std::string_view key) {
  const Number number = number_at(object, key);
  constexpr double kMost = 9e15;  // integers are exact in a double below this
  if (!number || std::abs(*number) > kMost || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::vector<double> numbers_at(const Json& object, std::string_view key) {
  std::vector<double> numbers;
  const Json* list = member(object, key);
  if (list == nullptr || !list->is_array()) return numbers;
  for (const Json& value : *list)
    if (value.is_number()) numbers.push_back(value.get<double>());
  return numbers;
}

tl::unexpected<Error> bad_file(const Source& source, std::string_view what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", shown_path(source.path), what));
}

std::string iso_time(std::string_view text) {
  constexpr std::size_t kDate = 8;
  std::tm time{};
  std::string whole(text);
  const bool compact = whole.size() > kDate && whole[kDate] == '_';
  const char* rest = strptime(whole.c_str(), compact ? "%Y%m%d_%H%M%S" : "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) return whole;
  std::string_view zone(rest);
  const std::size_t digits = zone.starts_with('.') ? std::min(zone.find_first_not_of("0123456789", 1), zone.size()) : 0;
  const std::string fraction = "0" + std::string(zone.substr(0, digits));
  zone.remove_prefix(digits);
  int hours = 0, minutes = 0;
  char sign = '+';
  constexpr std::size_t kZone = 6;  // +02:00
  if (zone.size() == kZone && std::sscanf(rest + digits, "%c%2d:%2d", &sign, &hours, &minutes) != 3) return whole;
  if (zone.size() != kZone && !zone.empty() && zone != "Z") return whole;
  const std::int64_t offset = (sign == '-' ? -1 : 1) * (hours * std::int64_t{3600} + minutes * std::int64_t{60});
  const std::int64_t seconds = timegm(&time) - offset;
  const auto micros = static_cast<std::int64_t>(parse_number<double>(fraction).value_or(0) * 1e6);
  return iso8601(WallTime(std::chrono::microseconds(seconds * 1'000'000 + micros)));
}

Record foreign_row(std::string model) {
  Record row;
  row.model = row.model_id = std::move(model);
  row.weights = Weights::kGiven;
  row.weights_hash = std::string(kNamedWeights) + row.model_id;
  row.status = CellStatus::kCompleted;
  row.verification = Verification::kUnverified;
  row.reference = "none";
  row.batch_size = 1;
  return row;
}

void add_sample(Samples& samples, SampleKind kind, double seconds) {
  constexpr double kMostSeconds = 1e9;
  samples.kind.push_back(static_cast<std::uint8_t>(kind));
  samples.stream.push_back(0);
  samples.start_ns.push_back(kUnknownStart);
  samples.duration_ns.push_back(std::abs(seconds) < kMostSeconds ? std::llround(seconds * 1e9) : kNoDuration);
}

}  // namespace assay::exchange
