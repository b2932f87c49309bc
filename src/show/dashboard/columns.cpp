// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

namespace assay::dashboard {
namespace {

static_assert(std::endian::native == std::endian::little, "documents are little-endian");

// The bytes of the values by significance: all first bytes, then all second ones.
template <class Value>
std::string by_significance(std::span<const Value> values) {
  std::string bytes(values.size_bytes(), '\0');
  const std::span raw = std::as_bytes(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t byte = 0; byte < sizeof(Value); ++byte)
      bytes[byte * values.size() + i] = static_cast<char>(raw[i * sizeof(Value) + byte]);
  return bytes;
}

template <class Value>
bool all_equal(std::span<const Value> values) {
  return !values.empty() && std::ranges::all_of(values, [&](const Value& value) { return value == values.front(); });
}

Json constant(std::string_view name, Json value) {
  return {{"name", name}, {"type", "value"}, {"value", std::move(value)}};
}

Json named(std::string_view name, std::string_view type, const Json& section) {
  Json column{{"name", name}, {"type", type}};
  column.update(section);
  return column;
}

template <class Float>
std::vector<Float> floats(std::span<const std::optional<double>> values) {
  std::vector<Float> result;
  result.reserve(values.size());
  for (const std::optional<double>& value : values)
    result.push_back(value ? static_cast<Float>(*value) : std::numeric_limits<Float>::quiet_NaN());
  return result;
}

Json finite_json(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

}  // namespace

Json Columns::section(std::string_view bytes) {
  Json place{{"at", sections_.size()}, {"bytes", bytes.size()}};
  sections_ += bytes;
  return place;
}

std::uint32_t Columns::index_of(const std::string& text) {
  const auto [at, fresh] = known_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return at->second;
}

Json Columns::f64(std::string_view name, std::span<const std::optional<double>> values) {
  if (all_equal(values)) return constant(name, finite_json(values.front()));
  return named(name, "f64", section(by_significance<double>(floats<double>(values))));
}

Json Columns::f32(std::string_view name, std::span<const std::optional<double>> values) {
  if (all_equal(values)) return constant(name, finite_json(values.front()));
  return named(name, "f32", section(by_significance<float>(floats<float>(values))));
}

Json Columns::integers(std::string_view name, std::span<const std::optional<std::int64_t>> values) {
  if (all_equal(values)) return constant(name, values.front() ? Json(*values.front()) : Json());
  constexpr std::int32_t kAbsent = std::numeric_limits<std::int32_t>::min();
  const auto fits = [](const std::optional<std::int64_t>& value) {
    return !value || (*value > kAbsent && *value <= std::numeric_limits<std::int32_t>::max());
  };
  if (!std::ranges::all_of(values, fits)) {
    std::vector<std::optional<double>> wide;
    wide.reserve(values.size());
    for (const std::optional<std::int64_t>& value : values)
      wide.push_back(value ? std::optional(static_cast<double>(*value)) : std::nullopt);
    return f64(name, wide);
  }
  std::vector<std::int32_t> narrow;
  narrow.reserve(values.size());
  for (const std::optional<std::int64_t>& value : values)
    narrow.push_back(value ? static_cast<std::int32_t>(*value) : kAbsent);
  return named(name, "i32", section(by_significance<std::int32_t>(narrow)));
}

Json Columns::texts(std::string_view name, std::span<const std::string> values) {
  if (all_equal(values)) return constant(name, values.front());
  std::vector<std::uint32_t> indices;
  indices.reserve(values.size());
  for (const std::string& value : values) indices.push_back(index_of(value));
  return named(name, "text", section(by_significance<std::uint32_t>(indices)));
}

Json Columns::codes(std::span<const std::uint16_t> values) { return section(by_significance(values)); }

std::string Columns::finish(Json header) const {
  constexpr std::string_view kMagic = "ASSAYDD1";
  constexpr std::size_t kAlignment = 8, kBefore = kMagic.size() + sizeof(std::uint32_t);
  header["text"] = texts_;
  std::string text = json_text(header);
  text.append((kAlignment - (kBefore + text.size()) % kAlignment) % kAlignment, ' ');
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string result(kMagic);
  for (std::size_t byte = 0; byte < sizeof length; ++byte) result += static_cast<char>(length >> (8 * byte) & 0xFF);
  return result + text + sections_;
}

}  // namespace assay::dashboard
