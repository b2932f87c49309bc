// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "core/base/text.hpp"
#include "core/result/hardware_words.hpp"
#include "history/exchange/readers.hpp"

namespace assay::exchange {
namespace {

constexpr int kNewestMajor = 1;  // show/report/format.hpp, kReportSchema

Status check_schema(const Source& source) {
  const std::string version = text_at(source.json, "schema_version");
  const auto major = parse_number<int>(version.substr(0, version.find('.')));
  if (version.empty() || (major && *major <= kNewestMajor)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("'{}' has schema version {}, and this assay reads up to {}.x", source.path.string(),
                          shown(version), kNewestMajor),
              "read it with the assay that wrote it, or a newer one");
}

RunInfo run_of(const Json& json) {
  RunInfo run;
  if (const Json* entry = member(json, "run")) {
    run.run_id = text_at(*entry, "run_id");
    run.command = text_at(*entry, "command");
    run.started = text_at(*entry, "started");
    run.host = text_at(*entry, "host");
    run.tool_version = text_at(*entry, "tool_version");
    run.git_commit = text_at(*entry, "git_commit");
    run.hardware_fingerprint = text_at(*entry, "hardware_id");
  }
  if (run.started.empty()) run.started = iso_time(text_at(json, "timestamp"));
  for (const char* name : {"environment", "system_info"})  // the second has more
    if (const Json* system = member(json, name); system != nullptr && system->is_object()) run.system = *system;
  if (const Json* hardware = member(json, "available_hardware"); hardware != nullptr && hardware->is_object())
    run.hardware = *hardware;
  return run;
}

/// "cpu@onnxruntime.PROVIDER@VERSION": the engine's name alone.
void set_target(std::string_view key, Record& row) {
  const std::size_t at = key.find('@');
  row.hardware = row.device_type = canonical_hardware(key.substr(0, at));
  if (at != std::string_view::npos) row.engine = key.substr(at + 1, key.find_first_of(".@", at + 1) - at - 1);
}

/// "batch_1_seq_32_float16": the parts that the guide's own files have, and the precision.
void set_shape(std::string_view key, Record& row) {
  const std::vector<std::string> words = split(key, '_');
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto next = i + 1 < words.size() ? parse_number<std::int64_t>(words[i + 1]) : std::nullopt;
    if (words[i] == "batch" && next) row.batch_size = next;
    if (words[i] == "seq" && next) row.sequence_length = next;
    if (words[i] == "out" && next) row.output_tokens = next;
    if (is_any(words[i], {"float16", "bfloat16", "float32", "int8"})) row.precision = words[i];
  }
}

Status set_status(const Source& source, const Json& entry, Record& row) {
  const std::string word = text_at(entry, "status");
  if (word.empty()) return {};
  if (const auto status = from_word<CellStatus>(word)) {
    row.status = *status;
    return {};
  }
  if (!is_any(word, {"error", "failed", "timeout"}))  // of the guide's scripts
    return bad_file(source,
                    fmt::format("\"status\" of {} on {} is {}; valid are completed, wrong, unsupported, failed, "
                                "unavailable and skipped",
                                shown(row.model), shown(row.hardware), shown(word)));
  row.status = CellStatus::kFailed;
  return {};
}

/// The place of an entry: benchmarks.FAMILY.MODEL.KEY.
struct Place {
  std::string family, model, key;
};

Result<Record> guide_row(const Source& source, const Place& place, const Json& target) {
  Record row = foreign_row(place.model);
  row.family = place.family;
  row.model_load_time = number_at(target, "model_load_time");
  set_target(place.key, row);
  ASSAY_CHECK_OK(set_status(source, target, row));
  row.message = text_at(target, row.status == CellStatus::kCompleted ? "message" : "error");
  for (const std::string_view name : kTargetFields)
    if (const std::string value = text_at(target, name); !value.empty())
      ASSAY_CHECK_OK(set_field(row, *find_field(name), value));
  return row;
}

Result<Record> shape_row(const Source& source, const Place& place, const Json& target, const std::string& shape,
                         const Json& entry) {
  if (entry.is_object() && entry.contains("engine") && entry.contains("verification")) {
    ASSAY_TRY(Record row, with_context(record_from_json(entry),
                                       fmt::format("while reading {} of '{}'", shape, source.path.string())));
    return row;
  }
  ASSAY_TRY(Record row, guide_row(source, place, target));
  set_shape(shape, row);
  ASSAY_CHECK_OK(set_status(source, entry, row));
  if (const Number seconds = number_at(entry, "avg_latency")) row.latency_mean_ms = *seconds * 1e3;
  row.throughput_ips = number_at(entry, "throughput");
  if (const Number megabytes = number_at(entry, "memory_usage")) row.memory_mb = megabytes;
  return row;
}

Status add_target(const Source& source, const Place& place, const Json& target, ResultsFile& file) {
  if (!target.is_object())
    return bad_file(source, fmt::format("benchmarks.{}.{}.{} is not an object", place.family, place.model, place.key));
  const Json* shapes = member(target, "benchmark_results");
  if (shapes == nullptr || !shapes->is_object() || shapes->empty()) {
    ASSAY_TRY(Record row, guide_row(source, place, target));
    row.batch_size.reset();
    file.rows.push_back({std::move(row)});
    return {};
  }
  for (const auto& [shape, entry] : shapes->items()) {
    ASSAY_TRY(Record row, shape_row(source, place, target, shape, entry));
    file.rows.push_back(
        {std::move(row),
         {},
         fmt::format("benchmarks.{}.{}.{}.benchmark_results.{}", place.family, place.model, place.key, shape)});
  }
  return {};
}

Status add_results(const Source& source, const Json& results, ResultsFile& file) {
  if (!results.is_array()) return bad_file(source, "\"results\" is not a list");
  for (const Json& entry : results) {
    if (!entry.is_object()) return bad_file(source, fmt::format("results[{}] is not an object", file.rows.size()));
    ASSAY_TRY(Record row, with_context(record_from_json(entry), fmt::format("while reading results[{}] of '{}'",
                                                                            file.rows.size(), source.path.string())));
    file.rows.push_back({std::move(row), {}, fmt::format("results[{}]", file.rows.size())});
  }
  return {};
}

}  // namespace

Result<ResultsFile> read_assay(const Source& source) {
  ASSAY_CHECK_OK(check_schema(source));
  ResultsFile file;
  file.run = run_of(source.json);
  if (const Json* score = member(source.json, {"how_sure", "machine_score"}); score != nullptr && score->is_number())
    file.run.doctor = {{"score", *score}};
  if (const Json* results = member(source.json, "results")) {
    ASSAY_CHECK_OK(add_results(source, *results, file));
    return file;
  }
  const Json* benchmarks = member(source.json, "benchmarks");
  if (benchmarks == nullptr || !benchmarks->is_object())
    return bad_file(source, "it has neither an object \"benchmarks\" nor a list \"results\"");
  for (const auto& [family, models] : benchmarks->items()) {
    if (!models.is_object()) return bad_file(source, fmt::format("benchmarks.{} is not an object", family));
    for (const auto& [model, targets] : models.items()) {
      if (!targets.is_object())
        return bad_file(source, fmt::format("benchmarks.{}.{} is not an object", family, model));
      for (const auto& [key, target] : targets.items())
        ASSAY_CHECK_OK(add_target(source, {family, model, key}, target, file));
    }
  }
  return file;
}

}  // namespace assay::exchange
