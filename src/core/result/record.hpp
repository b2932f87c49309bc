// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/base/words.hpp"
#include "core/result/facts.hpp"
#include "core/result/status.hpp"
#include "core/stats/stats.hpp"

namespace assay {

using Text = std::string;                   ///< "" is stored as NULL
using Count = std::optional<std::int64_t>;  ///< absent is NULL
using Number = std::optional<double>;
template <HasWords Enum>
using Word = std::optional<Enum>;  ///< absent is NULL

/// New tokens to generate by default.
inline constexpr std::int64_t kDefaultOutputTokens = 32;

/// The value of a field of a Record before it is set.
template <class Value>
constexpr Value unset() {
  return {};
}
template <>
constexpr CellStatus unset() {
  return CellStatus::kFailed;
}
template <>
constexpr Verification unset() {
  return Verification::kUnverified;
}

/// One result: one cell and shape, with all known facts. Flat, so that the database's row, the CSV
/// line, the bundle's manifest and the JSON object are the same list of fields (result_fields()).
/// The members and their meanings are the lines of core/result/fields.def. Names contain units; if the guides define a
/// name without a unit, its line has the unit.
struct Record {
#define FIELD(type, name, key, unit, meaning) type name = unset<type>();
#include "core/result/fields.def"
#undef FIELD

  /// Completed and verified, and its time may be compared: not simulated, software, partial or unsteady, not a median
  /// of too few samples of one process, and the interval of the median not too wide, above all if it is `noisy`.
  /// Included in rankings, speed-ups and ratings. A row without a latency is ranked if it is verified (docs/metrics.md,
  /// "Ranked cells").
  [[nodiscard]] bool ranked() const;
  /// Whether --resume keeps the row instead of running its task again: `completed`, `wrong` or `unsupported`, not cut
  /// short. `measured`: one that ran must have a latency (a verification alone has none).
  [[nodiscard]] bool settled(bool measured) const;
};

/// Whether the keys hash a field (core/result/keys.hpp).
struct Hashing {
  struct Default {
    std::string_view engine;  ///< "": every engine without its own default
    std::string_view value;   ///< the value as text
  };
  static constexpr std::size_t kMaxDefaults = 4;

  bool in_task_key = false;    ///< may change a number: part of the task key
  bool in_series_key = false;  ///< part of the series key (a subset of the task key)
  std::array<Default, kMaxDefaults> defaults{};
  std::size_t default_count = 0;

  /// With a hash default: what rows meant before the field existed, for every engine or for one.
  [[nodiscard]] constexpr Hashing unless(std::string_view value) const { return unless({}, value); }
  [[nodiscard]] constexpr Hashing unless(std::string_view engine, std::string_view value) const {
    Hashing with = *this;
    with.defaults.at(with.default_count++) = {engine, value};
    return with;
  }
  [[nodiscard]] std::optional<std::string_view> default_for(std::string_view engine) const;
};

/// One field of a Record, defined once for the database, CSV, JSON, tables and keys.
struct Field {
  std::string_view name;      ///< the name of the database's column, the CSV's heading and the JSON's key
  std::string_view sql_type;  ///< VARCHAR, BIGINT or DOUBLE
  std::string_view unit;      ///< "ms", "s", "items/s", "MB", …; "" if it has no unit
  std::string_view meaning;   ///< one line, for docs and the comment of the database's column
  using Member =
      std::variant<Text Record::*, Count Record::*, Number Record::*, CellStatus Record::*, Verification Record::*,
                   Word<Process> Record::*, Word<Spin> Record::*, Word<EffectiveSpin> Record::*,
                   Word<Denormals> Record::*, Word<Contract> Record::*, Word<MemorySource> Record::*,
                   Word<IntervalScope> Record::*, Word<stats::SteadyClass> Record::*, Word<KvCache> Record::*,
                   Word<ShapesForm> Record::*, Word<Reason> Record::*, Word<Weights> Record::*, Flags Record::*,
                   StopReasons Record::*, LaunchMedians Record::*>;
  Member member;
  Hashing key;
};

/// All fields, in the order of the CSV: the bench-runner guide's nineteen first.
[[nodiscard]] std::span<const Field> result_fields();

/// The field of that name, or null.
[[nodiscard]] const Field* find_field(std::string_view name);

/// The fields that a results file with the layout of the hardware guide has for each target of a model, so that also a
/// target without any shape is known for what it is (docs/formats.md).
inline constexpr std::array<std::string_view, 13> kTargetFields{
    "reason_code", "message", "hint",   "model_id",       "architecture", "category",   "model_class",
    "weights",     "size",    "engine", "engine_version", "device",       "device_name"};

/// The value of a field: null, integer, number or string. "" and numbers that are not finite are null; text is
/// converted to valid UTF-8.
[[nodiscard]] Json field_value(const Record& record, const Field& field);

/// Sets a field; null makes it absent. Errors: invalid_argument naming the field, the value and what would be valid.
[[nodiscard]] Status set_field(Record& record, const Field& field, const Json& value);

/// Begins the `weights_hash` of a model that is known by its name only: no hash, so that two models are not one series.
inline constexpr std::string_view kNamedWeights = "named:";
/// Whether another program measured it: its model is known by its name only.
[[nodiscard]] bool is_foreign(const Record& record);

[[nodiscard]] Json to_json(const Record& record);
/// Unknown keys are ignored (written by a newer assay), missing ones stay absent. Errors: invalid_argument naming the
/// key whose value has the wrong type.
[[nodiscard]] Result<Record> record_from_json(const Json& json);

}  // namespace assay
