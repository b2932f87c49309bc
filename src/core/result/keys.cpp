// SPDX-License-Identifier: Apache-2.0
#include "core/result/keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/base/hash.hpp"
#include "core/base/json.hpp"

namespace assay {
namespace {

bool differs_from_default(const Record& record, const Field& field) {
  const Json value = field_value(record, field);
  if (value.is_null()) return false;
  const std::optional<std::string_view> usual = field.key.default_for(record.engine);
  return !usual || (value.is_string() ? value.get<std::string>() : json_text(value)) != *usual;
}

}  // namespace

std::vector<const Field*> hashed_fields(const Record& record, KeyKind kind, std::span<const Field> fields) {
  std::vector<const Field*> hashed;
  for (const Field& field : fields)
    if ((kind == KeyKind::kTask ? field.key.in_task_key : field.key.in_series_key) &&
        differs_from_default(record, field))
      hashed.push_back(&field);
  std::ranges::sort(hashed, {}, &Field::name);
  return hashed;
}

std::string key_text(const Record& record, KeyKind kind, std::span<const Field> fields) {
  std::string text;
  for (const Field* field : hashed_fields(record, kind, fields))
    text += fmt::format("{}={}\n", field->name, json_text(field_value(record, *field)));
  return text;
}

std::string task_key(const Record& record) { return sha256_hex(key_text(record, KeyKind::kTask)); }
std::string series_key(const Record& record) { return sha256_hex(key_text(record, KeyKind::kSeries)); }

}  // namespace assay
