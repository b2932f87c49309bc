// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "result/status.hpp"

namespace assay {

using Text = std::string;                   ///< "" is stored as NULL
using Count = std::optional<std::int64_t>;  ///< absent is NULL
using Number = std::optional<double>;

/// Tokens that a generative model gives when nobody asks for another number.
inline constexpr std::int64_t kDefaultOutputTokens = 32;

/// One result: one cell and shape, with everything that is known of it. Flat, so that the database's row, the CSV
/// line, the bundle's manifest and the JSON object are the same list of fields (result_fields()).
/// Units stand in the names; where the guides fix a name without a unit, result_fields() has it.
struct Record {
  // who and when
  Text run_id;      ///< one invocation of assay
  Text attempt_id;  ///< one execution of the cell in a worker
  Text task_key;    ///< hash of all that may change a number: task_key()
  Text series_key;  ///< the same without versions and graph hash
  Text timestamp;   ///< UTC, ISO 8601, end of the attempt
  Text process;     ///< fresh | warm
  Count attempt_number, launch_number;
  Text host, tool_version, git_commit;
  Text hardware_id;  ///< of the machine: what is slow to change in it, hashed; a row of hardware_info

  // the model
  Text model;     ///< as the user or the set names it
  Text model_id;  ///< what it was resolved to: a Hugging Face id, a path
  Text family, category, architecture, model_class, form;
  Text weights;  ///< checkpoint | seeded | given (a model file's own)
  Text weights_hash, config_hash, graph_hash, builder_version, seed_scheme;
  Text size;      ///< tiny | small | reference | the file's own: as_is
  Text modality;  ///< of custom models
  Count parameter_count;
  Number model_size_mb;

  // where and how
  Text framework;  ///< what the bench-runner guide calls it: pytorch, jax, or the engine's name
  Text engine, engine_version, engine_options, effective_options;
  Text hardware, device, device_type, device_name;
  Text precision, effective_precision;
  Count batch_size, sequence_length, output_tokens, streams, threads;
  Text contract;     ///< e2e_host | device_resident
  Text input_shape;  ///< "(1, 3, 224, 224)"; several inputs: "input_ids=(1, 128), …"
  Text dtype;        ///< the guide's column: the precision as asked
  Text input_hash;
  Text data_source;  ///< synthetic | a path
  Count seed;

  // how it ended
  CellStatus status = CellStatus::kFailed;
  Text reason_code, message, hint, flags;
  Verification verification = Verification::kUnverified;
  Text reference;  ///< golden | given | onnxruntime-noopt | none
  Number max_abs_error, max_rel_error, cosine_similarity, error_limit;
  Text worst_output;

  // phases
  Number runtime_load_ms, model_load_time, compilation_time_ms, first_inference_ms;
  Count warmup_iterations;
  Number warmup_time_ms;

  // latency over the steady samples
  Count iterations;  ///< steady samples
  Number latency_mean_ms, latency_std_ms, latency_min_ms, latency_max_ms;
  Number latency_p50_ms, latency_p90_ms, latency_p95_ms, latency_p99_ms;
  Count latency_p50_ns;
  Number latency_p50_low_ms, latency_p50_high_ms, latency_p90_low_ms, latency_p90_high_ms;
  Number latency_p95_low_ms, latency_p95_high_ms, latency_p99_low_ms, latency_p99_high_ms;
  Text latency_p50_quality, latency_p90_quality, latency_p95_quality, latency_p99_quality;
  Number autocorrelation_time;
  Count outliers;
  Text measure_plan;  ///< as asked: "adaptive", "warmup=10 iterations=50"
  Count steady_from;  ///< index of the first steady sample in the samples' file
  Text steady_class, stop_reason;
  Number relative_half_width;         ///< of the median's interval, reached when sampling stopped
  Count window_ns;                    ///< wall time of the steady window
  Number wall_time_per_iteration_ns;  ///< of the timed loop, our own cost included

  Number throughput_ips;

  // memory
  Number memory_mb, memory_avg_mb, memory_model_mb, memory_load_mb;
  Text memory_source;

  // generative models
  Number ttft_ms, tpot_ms, tpot_p50_ms, tpot_p90_ms, tpot_p95_ms, tpot_p99_ms;
  Number tokens_per_second, prompt_tokens_per_second;

  // cost
  Number energy_j;
  Text energy_scope, energy_quality;
  Number flops, bytes, flops_counted;

  [[nodiscard]] bool has_flag(std::string_view name) const;
  void add_flag(std::string_view name);
  /// Completed and verified, not simulated, not software: may stand in rankings, speed-ups and ratings.
  [[nodiscard]] bool ranked() const;
};

/// One column of a Record, told once for the database, CSV, JSON and tables.
struct Field {
  std::string_view name;      ///< of the database's column, the CSV's heading and the JSON's key
  std::string_view sql_type;  ///< VARCHAR, BIGINT or DOUBLE
  std::string_view unit;      ///< "ms", "s", "items/s", "MB", …; "" where there is none
  std::string_view meaning;   ///< one line, for docs and `--help`
  using Member =
      std::variant<Text Record::*, Count Record::*, Number Record::*, CellStatus Record::*, Verification Record::*>;
  Member member;
  bool in_task_key = false;    ///< may change a number: part of the task key
  bool in_series_key = false;  ///< part of the series key (a subset of the task key)
};

/// All fields, in the order of the database's columns and of the CSV: the bench-runner guide's nineteen first.
[[nodiscard]] std::span<const Field> result_fields();

/// The field of that name, or null.
[[nodiscard]] const Field* find_field(std::string_view name);

/// The value of a field: null, integer, number or string. "" and numbers that are not finite are null; text is made
/// valid UTF-8.
[[nodiscard]] Json field_value(const Record& record, const Field& field);

/// Sets a field; null makes it absent. Errors: invalid_argument naming the field, the value and what would be valid.
[[nodiscard]] Status set_field(Record& record, const Field& field, const Json& value);

[[nodiscard]] Json to_json(const Record& record);
/// Unknown keys are ignored (written by a newer assay), missing ones stay absent.
/// Errors: invalid_argument naming the key whose value has the wrong type.
[[nodiscard]] Result<Record> record_from_json(const Json& json);

/// What a key hashes, in clear: one line `name=value` for each of its fields in field order, the value as JSON.
[[nodiscard]] std::string task_key_text(const Record& record);
[[nodiscard]] std::string series_key_text(const Record& record);
/// Their SHA-256, 64 hexadecimal digits. All that they hash is known before a cell runs.
[[nodiscard]] std::string task_key(const Record& record);
[[nodiscard]] std::string series_key(const Record& record);

}  // namespace assay
