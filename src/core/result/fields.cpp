// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/result/record.hpp"

namespace assay {
namespace {

constexpr Hashing kNone{};
constexpr Hashing kTask{.in_task_key = true};
constexpr Hashing kSeries{.in_task_key = true, .in_series_key = true};

constexpr std::string_view sql_type(Count Record::*) { return "BIGINT"; }
constexpr std::string_view sql_type(Number Record::*) { return "DOUBLE"; }
template <class Word>
constexpr std::string_view sql_type(Word Record::*) {
  return "VARCHAR";
}

constexpr std::array kFields{
#define FIELD(type, name, key, unit, meaning) Field{#name, sql_type(&Record::name), unit, meaning, &Record::name, key},
#include "core/result/fields.def"
#undef FIELD
};

}  // namespace

std::span<const Field> result_fields() { return kFields; }

}  // namespace assay
