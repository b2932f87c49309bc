// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <assay/error.hpp>

#include "core/base/files.hpp"
#include "core/base/hash.hpp"
#include "core/result/keys.hpp"

namespace assay {
namespace {
using ::testing::HasSubstr;

// A different value in every field, so that the test detects swapped fields.
Record full_record() {
  Record record;
  std::int64_t n = 1;
  for (const Field& field : result_fields()) {
    ++n;
    std::visit(
        [&](auto member) {
          auto& value = record.*member;
          using Value = std::remove_reference_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, Text>) value = "text " + std::to_string(n);
          if constexpr (std::is_same_v<Value, Count>) value = (std::int64_t{1} << 60) + n;
          if constexpr (std::is_same_v<Value, Number>) value = 0.1 * static_cast<double>(n);
          if constexpr (std::is_same_v<Value, CellStatus>) value = CellStatus::kUnavailable;
          if constexpr (std::is_same_v<Value, Verification>) value = Verification::kIllConditioned;
          if constexpr (std::is_same_v<Value, Flags>) value = {Flag::kNoisy, Flag::kSeeded};
          if constexpr (std::is_same_v<Value, StopReasons>) value = {StopReason::kMaxTime, StopReason::kFailure};
          if constexpr (std::is_same_v<Value, LaunchMedians>) value = {{2, 0.1 * static_cast<double>(n)}, {5, 1e-7}};
          if constexpr (requires { WordsOf<typename Value::value_type>::kAll; })
            value = static_cast<typename Value::value_type>(1);  // no default of a key
        },
        field.member);
  }
  return record;
}

TEST(Record, SurvivesJsonWithEveryFieldAndEveryDigit) {
  const Record record = full_record();
  const auto parsed = parse_json(to_json(record).dump(), "record");
  ASSERT_TRUE(parsed);
  const auto back = record_from_json(*parsed);
  ASSERT_TRUE(back) << to_string(back.error());
  for (const Field& field : result_fields())
    EXPECT_EQ(field_value(*back, field), field_value(record, field)) << field.name;
}

TEST(Record, AbsentIsNullAndIsReadAsAbsent) {
  const Json json = to_json(Record{});
  EXPECT_TRUE(json.at("latency_p50_ms").is_null());
  EXPECT_TRUE(json.at("model").is_null());
  EXPECT_EQ(json.at("status"), "failed");
  const auto back = record_from_json(json);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->latency_p50_ms);
  EXPECT_EQ(back->model, "");
}

TEST(Record, NumbersThatJsonCannotRepresentAreNull) {
  Record record;
  record.max_abs_error = std::numeric_limits<double>::quiet_NaN();
  record.message = "bad \xff byte";
  EXPECT_TRUE(to_json(record).at("max_abs_error").is_null());
  EXPECT_EQ(to_json(record).at("message"), "bad \xEF\xBF\xBD byte");
}

TEST(Record, UnknownKeysAreIgnoredAndWrongTypesAreNamed) {
  EXPECT_TRUE(record_from_json(Json{{"a_newer_field", 1}}));
  const auto expect_refused = [](const char* key, const Json& value) {
    const auto record = record_from_json(Json{{key, value}});
    ASSERT_FALSE(record) << key;
    EXPECT_EQ(record.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(record.error().message, HasSubstr(key));
  };
  expect_refused("batch_size", "four");
  expect_refused("batch_size", 1.5);
  expect_refused("batch_size", std::numeric_limits<std::uint64_t>::max());
  expect_refused("latency_p50_ms", true);
  expect_refused("model", 3);
  expect_refused("status", "finished");
  expect_refused("verification", Json());
  EXPECT_FALSE(record_from_json(Json::array()));
}

TEST(Fields, NamesAreUniqueAndTheGuidesColumnsComeFirstInItsOrder) {
  std::set<std::string_view> names;
  for (const Field& field : result_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  const char* const guide[] = {"latency_p50_ms", "latency_p95_ms",      "latency_p99_ms", "latency_mean_ms",
                               "latency_std_ms", "latency_min_ms",      "latency_max_ms", "throughput_ips",
                               "memory_mb",      "compilation_time_ms", "framework",      "model",
                               "device",         "device_type",         "batch_size",     "input_shape",
                               "dtype",          "timestamp",           "git_commit"};
  for (std::size_t i = 0; i < std::size(guide); ++i) EXPECT_EQ(result_fields()[i].name, guide[i]);
}

TEST(Keys, ChangeWithEveryFieldTheyHashAndWithNoOther) {
  const Record base = full_record();
  for (const Field& field : result_fields()) {
    Record changed = base;
    const Json value = std::holds_alternative<CellStatus Record::*>(field.member)     ? Json("completed")
                       : std::holds_alternative<Verification Record::*>(field.member) ? Json("verified")
                                                                                      : Json();
    ASSERT_TRUE(set_field(changed, field, value)) << field.name;
    EXPECT_EQ(task_key(changed) != task_key(base), field.key.in_task_key) << field.name;
    EXPECT_EQ(series_key(changed) != series_key(base), field.key.in_series_key) << field.name;
    EXPECT_TRUE(field.key.in_task_key || !field.key.in_series_key) << field.name;
  }
}

TEST(Keys, TheSeriesSurvivesAnUpgradeButTheTaskDoesNot) {
  for (const char* name : {"engine_version", "tool_version", "graph_hash", "builder_version"}) {
    const Field* field = find_field(name);
    ASSERT_NE(field, nullptr);
    EXPECT_TRUE(field->key.in_task_key && !field->key.in_series_key) << name;
  }
}

TEST(Keys, HashWhatDiffersFromTheHashDefaultAndAbsentMeansTheDefault) {
  Record record;
  record.engine = "onnxruntime";
  const std::string key = task_key(record);
  EXPECT_EQ(key_text(record, KeyKind::kTask), "engine=\"onnxruntime\"\n");
  record.kv_cache = KvCache::kGrowing;
  record.method_version = 1;
  EXPECT_EQ(task_key(record), key);
  record.kv_cache = KvCache::kStatic;
  EXPECT_EQ(key_text(record, KeyKind::kSeries), "engine=\"onnxruntime\"\nkv_cache=\"static\"\n");
  record.kv_cache.reset();
  record.method_version = 2;
  EXPECT_EQ(key_text(record, KeyKind::kSeries), "engine=\"onnxruntime\"\nmethod_version=2\n");
}

TEST(Keys, AFieldThatIsAddedChangesNoOldKeyOfAnyEngine) {
  std::vector<Field> fields(result_fields().begin(), result_fields().end());
  Record record = full_record();
  record.engine = "onnxruntime";
  record.host.clear();  // represents the new field, which older rows do not have
  const std::string before = key_text(record, KeyKind::kTask, fields);
  std::ranges::find(fields, "host", &Field::name)->key =
      Hashing{.in_task_key = true, .in_series_key = true}.unless("static").unless("xla", "dynamic");
  const auto text = [&](const char* engine, const char* value) {
    Record changed = record;
    changed.engine = engine;
    changed.host = value;
    return key_text(changed, KeyKind::kTask, fields);
  };
  EXPECT_EQ(text("onnxruntime", ""), before);
  EXPECT_EQ(text("onnxruntime", "static"), before) << "the meaning of this engine's rows before the field existed";
  EXPECT_THAT(text("onnxruntime", "dynamic"), HasSubstr("host=\"dynamic\"\n"));
  EXPECT_EQ(text("xla", "dynamic"), text("xla", ""));
  EXPECT_THAT(text("xla", "static"), HasSubstr("host=\"static\"\n"));
  std::ranges::reverse(fields);
  EXPECT_EQ(text("onnxruntime", "static"), before) << "the order of the table does not matter";
}

TEST(Keys, OfAStoredRowNeverChange) {
  Record record;
  record.engine = "onnxruntime";
  record.engine_version = "1.31.1";
  record.tool_version = "0.1.0";
  record.method_version = 1;
  record.hardware = record.device = "cpu";
  record.model_class = "BertModel";
  record.kv_cache = KvCache::kGrowing;
  record.weights_hash = "seeded:1:0";
  record.precision = "float32";
  record.contract = Contract::kHost;
  record.batch_size = record.streams = 1;
  record.sequence_length = 128;
  record.seed = 0;
  record.input_shape = "input_ids=(1, 128)";
  // If this fails, every history of users would end: a new field has no hash default, or a field was renamed. Do not
  // change the expected text.
  EXPECT_EQ(
      key_text(record, KeyKind::kTask),
      "batch_size=1\ncontract=\"e2e_host\"\ndevice=\"cpu\"\nengine=\"onnxruntime\"\nengine_version=\"1.31.1\"\n"
      "hardware=\"cpu\"\ninput_shape=\"input_ids=(1, 128)\"\nmodel_class=\"BertModel\"\nprecision=\"float32\"\nseed=0\n"
      "sequence_length=128\nstreams=1\ntool_version=\"0.1.0\"\nweights_hash=\"seeded:1:0\"\n");
  EXPECT_EQ(task_key(record), sha256_hex(key_text(record, KeyKind::kTask)));
}

TEST(Keys, AFieldWithoutAHashDefaultIsOneOfTheFirst) {
  const std::set<std::string_view> first{
      "batch_size",  "builder_version", "config_hash",    "contract",      "device",       "device_name",
      "engine",      "engine_options",  "engine_version", "graph_hash",    "hardware",     "hardware_id",
      "input_hash",  "input_shape",     "model_class",    "output_tokens", "precision",    "seed",
      "seed_scheme", "sequence_length", "streams",        "threads",       "tool_version", "weights_hash"};
  for (const Field& field : result_fields())
    if (field.key.in_task_key && field.key.default_count == 0) {
      EXPECT_TRUE(first.contains(field.name))
          << field.name << " needs the meaning of rows before it: kSeries.unless(…)";
    }
}

TEST(Keys, AValueCannotImitateTheNextField) {
  Record a, b;
  a.engine = "x";
  a.engine_version = "1";
  b.engine = "x\"\nengine_version=\"1";
  EXPECT_NE(task_key(a), task_key(b));
  EXPECT_EQ(task_key(a).size(), 64U);
}

TEST(Flags, AreASortedSet) {
  Record record;
  record.flags.add(Flag::kSeeded);
  record.flags.add(Flag::kNoisy);
  record.flags.add(Flag::kSeeded);
  EXPECT_EQ(record.flags, Flags({Flag::kNoisy, Flag::kSeeded}));
  EXPECT_TRUE(record.flags.has(Flag::kNoisy));
  EXPECT_FALSE(record.flags.has(Flag::kPartial));
  EXPECT_EQ(record.flags.text(), "noisy,seeded");
}

TEST(Flags, SimulatedSoftwareAndUnverifiedCellsAreNotRanked) {
  Record record;
  record.status = CellStatus::kCompleted;
  EXPECT_FALSE(record.ranked());
  record.verification = Verification::kVerified;
  EXPECT_TRUE(record.ranked());
  record.flags.add(Flag::kSeeded);
  EXPECT_TRUE(record.ranked());
  record.flags.add(Flag::kSoftware);
  EXPECT_FALSE(record.ranked());
}

// A cell that may be ranked, with the 95 % interval of its median.
Record ranked_row(double low, double p50, double high) {
  Record record;
  record.status = CellStatus::kCompleted;
  record.verification = Verification::kVerified;
  record.latency_p50_ms = p50;
  record.latency_p50_low_ms = low;
  record.latency_p50_high_ms = high;
  record.latency_p50_quality = "ok";
  return record;
}

TEST(Ranked, UnsteadyAndPartialCellsAreNot) {
  for (const Flag flag : {Flag::kUnsteady, Flag::kPartial, Flag::kSimulated, Flag::kSoftware}) {
    Record record = ranked_row(9.9, 10, 10.1);
    EXPECT_TRUE(record.ranked());
    record.flags.add(flag);
    EXPECT_FALSE(record.ranked()) << to_string(flag);
  }
}

TEST(Ranked, NoisyCellsAreOnlyWithAnIntervalWithinATenth) {
  Record record = ranked_row(9, 10, 11);
  record.flags.add(Flag::kNoisy);
  EXPECT_TRUE(record.ranked());
  record.latency_p50_high_ms = 11.1;
  EXPECT_FALSE(record.ranked());
  record = ranked_row(8.9, 10, 11);
  EXPECT_TRUE(record.ranked()) << "the interval alone says how sure the median is";
  record.flags.add(Flag::kNoisy);
  EXPECT_FALSE(record.ranked());
  record = ranked_row(9.9, 10, 10.1);
  record.flags.add(Flag::kNoisy);
  record.latency_p50_low_ms = record.latency_p50_high_ms = std::nullopt;
  EXPECT_FALSE(record.ranked()) << "nothing bounds the disturbance";
}

TEST(Ranked, AnIntervalOverLaunchesContainsTheNoiseAndMayBeWider) {
  Record record = ranked_row(8, 10, 12.5);
  record.flags.add(Flag::kNoisy);
  EXPECT_FALSE(record.ranked());
  record.latency_p50_interval = IntervalScope::kLaunches;
  EXPECT_TRUE(record.ranked());
  record.latency_p50_high_ms = 12.6;
  EXPECT_FALSE(record.ranked());
}

TEST(Ranked, CellsWhoseMedianIsNotEvenKnownToAFactorOfTwoAreNot) {
  EXPECT_TRUE(ranked_row(5, 10, 20).ranked());
  EXPECT_FALSE(ranked_row(4.9, 10, 12).ranked());
  EXPECT_FALSE(ranked_row(9, 10, 20.1).ranked());
}

TEST(Ranked, AMedianOfTooFewSamplesIsOnlyIfItsIntervalIsOverLaunches) {
  Record record = ranked_row(9.9, 10, 10.1);
  record.latency_p50_quality = "few_samples(n=5<6)";
  EXPECT_FALSE(record.ranked());
  record.latency_p50_interval = IntervalScope::kLaunches;
  EXPECT_TRUE(record.ranked());
}

TEST(Status, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(CellStatus::kSkipped); ++i)
    EXPECT_EQ(from_word<CellStatus>(to_string(static_cast<CellStatus>(i))), static_cast<CellStatus>(i));
  for (int i = 0; i <= static_cast<int>(Verification::kIllConditioned); ++i)
    EXPECT_EQ(from_word<Verification>(to_string(static_cast<Verification>(i))), static_cast<Verification>(i));
  EXPECT_EQ(from_word<CellStatus>("ok"), std::nullopt);
}

TEST(Status, ExitCodesHaveAPrecedence) {
  const ExitCode order[] = {ExitCode::kInterrupted, ExitCode::kUsage,      ExitCode::kFailure,
                            ExitCode::kFinding,     ExitCode::kCannotTell, ExitCode::kSuccess};
  for (std::size_t i = 0; i < std::size(order); ++i)
    for (std::size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(worse(order[i], order[j]), order[i]);
      EXPECT_EQ(worse(order[j], order[i]), order[i]);
    }
}

TEST(Docs, EveryReasonCodeHasAHeadingAndEveryFieldALine) {
  const auto errors = read_file(ASSAY_SOURCE_DIR "/docs/errors.md");
  ASSERT_TRUE(errors);
  for (const std::string_view name : WordsOf<Reason>::kAll)
    EXPECT_THAT(*errors, HasSubstr("\n## " + std::string(name) + "\n"));
  for (int i = 0; i <= static_cast<int>(ErrorCode::kFixedShape); ++i)
    EXPECT_EQ(to_string(reason_of(static_cast<ErrorCode>(i))), to_string(static_cast<ErrorCode>(i)));

  const auto metrics = read_file(ASSAY_SOURCE_DIR "/docs/metrics.md");
  ASSERT_TRUE(metrics);
  for (const Field& field : result_fields()) {
    std::string key = field.key.in_series_key ? "task, series" : field.key.in_task_key ? "task" : "";
    for (std::size_t i = 0; i < field.key.default_count; ++i) {
      const Hashing::Default& each = field.key.defaults.at(i);
      key += ", unless " + std::string(each.value) + (each.engine.empty() ? "" : " (" + std::string(each.engine) + ")");
    }
    const std::string row = "| `" + std::string(field.name) + "` | " + std::string(field.sql_type) + " | " +
                            std::string(field.unit) + " | " + key + " | " + std::string(field.meaning) + " |";
    EXPECT_THAT(*metrics, HasSubstr(row));
  }
}

}  // namespace
}  // namespace assay
