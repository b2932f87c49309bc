-- SPDX-License-Identifier: Apache-2.0
-- The first schema. No primary keys, foreign keys or indexes: bulk appends stay fast, and no index stands in a
-- write-ahead log.

-- One row per invocation of assay.
CREATE TABLE benchmark_runs (
  run_id VARCHAR,
  started_at TIMESTAMP,
  tool_version VARCHAR,
  git_commit VARCHAR,
  command VARCHAR,
  host VARCHAR,
  hardware_id VARCHAR,
  environment VARCHAR  -- JSON
);

-- One row per machine as it was found: what is slow to change.
CREATE TABLE hardware_info (
  hardware_id VARCHAR,
  host VARCHAR,
  platform VARCHAR,
  processor VARCHAR,
  cpu_cores BIGINT,
  cpu_threads BIGINT,
  memory_gb DOUBLE,
  gpu_count BIGINT,
  cuda_version VARCHAR,
  info VARCHAR  -- JSON
);

-- One row per cell of a run, derived from its launches (cells.hpp): the fields of result_fields(), with statistics.
CREATE TABLE benchmark_results (
  result_id BIGINT,
  latency_p50_ms DOUBLE,
  latency_p95_ms DOUBLE,
  latency_p99_ms DOUBLE,
  latency_mean_ms DOUBLE,
  latency_std_ms DOUBLE,
  latency_min_ms DOUBLE,
  latency_max_ms DOUBLE,
  throughput_ips DOUBLE,
  memory_mb DOUBLE,
  compilation_time_ms DOUBLE,
  framework VARCHAR,
  model VARCHAR,
  device VARCHAR,
  device_type VARCHAR,
  batch_size BIGINT,
  input_shape VARCHAR,
  dtype VARCHAR,
  timestamp VARCHAR,
  git_commit VARCHAR,
  run_id VARCHAR,
  attempt_id VARCHAR,
  task_key VARCHAR,
  series_key VARCHAR,
  process VARCHAR,
  attempt_number BIGINT,
  launch_number BIGINT,
  host VARCHAR,
  hardware_id VARCHAR,
  tool_version VARCHAR,
  model_id VARCHAR,
  family VARCHAR,
  category VARCHAR,
  architecture VARCHAR,
  model_class VARCHAR,
  kv_cache VARCHAR,
  weights VARCHAR,
  weights_hash VARCHAR,
  config_hash VARCHAR,
  graph_hash VARCHAR,
  builder_version VARCHAR,
  seed_scheme VARCHAR,
  size VARCHAR,
  modality VARCHAR,
  parameter_count BIGINT,
  model_size_mb DOUBLE,
  engine VARCHAR,
  engine_version VARCHAR,
  engine_options VARCHAR,
  effective_options VARCHAR,
  hardware VARCHAR,
  device_name VARCHAR,
  precision VARCHAR,
  effective_precision VARCHAR,
  sequence_length BIGINT,
  output_tokens BIGINT,
  streams BIGINT,
  threads BIGINT,
  contract VARCHAR,
  input_hash VARCHAR,
  data_source VARCHAR,
  seed BIGINT,
  status VARCHAR,
  reason_code VARCHAR,
  message VARCHAR,
  hint VARCHAR,
  flags VARCHAR,
  verification VARCHAR,
  reference VARCHAR,
  max_abs_error DOUBLE,
  max_rel_error DOUBLE,
  cosine_similarity DOUBLE,
  error_limit DOUBLE,
  worst_output VARCHAR,
  runtime_load_ms DOUBLE,
  model_load_time DOUBLE,
  first_inference_ms DOUBLE,
  warmup_iterations BIGINT,
  warmup_time_ms DOUBLE,
  iterations BIGINT,
  latency_p90_ms DOUBLE,
  latency_p50_ns BIGINT,
  latency_p50_low_ms DOUBLE,
  latency_p50_high_ms DOUBLE,
  latency_p90_low_ms DOUBLE,
  latency_p90_high_ms DOUBLE,
  latency_p95_low_ms DOUBLE,
  latency_p95_high_ms DOUBLE,
  latency_p99_low_ms DOUBLE,
  latency_p99_high_ms DOUBLE,
  latency_p50_quality VARCHAR,
  latency_p90_quality VARCHAR,
  latency_p95_quality VARCHAR,
  latency_p99_quality VARCHAR,
  autocorrelation_time DOUBLE,
  outliers BIGINT,
  measure_plan VARCHAR,
  steady_from BIGINT,
  steady_class VARCHAR,
  stop_reason VARCHAR,
  relative_half_width DOUBLE,
  window_ns BIGINT,
  wall_time_per_iteration_ns DOUBLE,
  memory_avg_mb DOUBLE,
  memory_model_mb DOUBLE,
  memory_load_mb DOUBLE,
  memory_source VARCHAR,
  ttft_ms DOUBLE,
  tpot_ms DOUBLE,
  tpot_p50_ms DOUBLE,
  tpot_p90_ms DOUBLE,
  tpot_p95_ms DOUBLE,
  tpot_p99_ms DOUBLE,
  tokens_per_second DOUBLE,
  prompt_tokens_per_second DOUBLE,
  energy_j DOUBLE,
  energy_scope VARCHAR,
  energy_quality VARCHAR,
  flops DOUBLE,
  bytes DOUBLE,
  flops_counted DOUBLE,
  method_version BIGINT,
  effective_threads BIGINT,
  launches BIGINT,
  worst_element VARCHAR,
  rms_error DOUBLE,
  rms_limit DOUBLE,
  honest_error DOUBLE,
  top1_agreement DOUBLE,
  checked VARCHAR,
  agreed_by VARCHAR,
  verdict_source VARCHAR,
  kernels VARCHAR,
  shared_kernels VARCHAR,
  load_cold_ms DOUBLE,
  load_warm_ms DOUBLE,
  spin VARCHAR,
  effective_spin VARCHAR,
  denormals VARCHAR,
  shapes VARCHAR,
  latency_p50_interval VARCHAR,
  launch_p50_ms VARCHAR,
  launch_spread DOUBLE,
  latency_window_p50_ms DOUBLE,
  ttft_p50_ms DOUBLE,
  ttft_p50_low_ms DOUBLE,
  ttft_p50_high_ms DOUBLE,
  ttft_p90_ms DOUBLE,
  ttft_p95_ms DOUBLE,
  ttft_p99_ms DOUBLE,
  ttft_samples BIGINT,
  tpot_p50_low_ms DOUBLE,
  tpot_p50_high_ms DOUBLE,
  tpot_samples BIGINT,
  total_tokens_per_second DOUBLE,
  planned_launches BIGINT,
  given_shapes VARCHAR
);

-- One row per bundle: a cell is measured in several launches. `counted`: benchmark_results includes it (of several
-- attempts of one launch, one counts).
CREATE TABLE launches AS
SELECT result_id AS launch_id, result_id, true AS counted, * EXCLUDE (result_id) FROM benchmark_results;

-- One row per steady sample, clustered by launch, which nothing but ingesting changes: which cell a sample belongs to
-- follows from the row of its launch. kind: 0 run, 1 first_token, 2 token. seq counts in samples.bin. start_ns is from
-- the start of the sampling window.
CREATE TABLE samples (
  launch_id INTEGER,
  seq INTEGER,
  kind UTINYINT,
  stream UINTEGER,
  start_ns BIGINT,
  duration_ns BIGINT
);

-- One row per launch and kind of its samples: how they are distributed, and how they went over time, for pictures
-- (docs/formats.md, "Distributions of samples").
CREATE TABLE sample_distributions (
  launch_id INTEGER,
  kind UTINYINT,
  samples BIGINT,
  steady BIGINT,
  low_ns BIGINT,
  high_ns BIGINT,
  window_ns BIGINT,
  first_steady_bin BIGINT,
  quantiles BLOB,
  bins BLOB
);

-- What was ingested: a bundle is ingested once.
CREATE TABLE bundles (
  sha256 VARCHAR,
  path VARCHAR,  -- task key/attempt id, in the spool
  attempt_id VARCHAR,
  result_id BIGINT,
  samples BIGINT,
  ingested_at TIMESTAMP,
  launch_id BIGINT
);

-- result_id is the cell's, and NULL for launches that do not count.
CREATE VIEW raw_benchmark_data AS
SELECT
  CASE WHEN l.counted THEN l.result_id END AS result_id,
  s.launch_id::BIGINT AS launch_id,
  coalesce(l.launch_number, 1) AS launch_number,
  s.seq::BIGINT AS seq,
  CASE s.kind WHEN 0 THEN 'run' WHEN 1 THEN 'first_token' ELSE 'token' END::ENUM ('run', 'first_token', 'token') AS kind,
  s.stream::BIGINT AS stream,
  s.start_ns,
  s.duration_ns
FROM samples AS s JOIN launches AS l ON l.launch_id = s.launch_id;

-- The hardware guide's tables. Their numbers are given by first appearance, so a history that grows keeps them.
CREATE VIEW hardware_platforms AS
SELECT
  row_number() OVER (ORDER BY min(result_id)) AS id,
  hardware AS hardware_type,
  device_name,
  hardware_id,
  count(*) AS results,
  count(*) FILTER (WHERE status = 'completed') AS completed
FROM benchmark_results
GROUP BY hardware, device_name, hardware_id;

CREATE VIEW model_architecture_coverage AS
SELECT
  row_number() OVER (ORDER BY min(result_id)) AS architecture_id,
  architecture,
  any_value(category) AS category,
  any_value(family) AS family,
  count(DISTINCT coalesce(model_id, model)) AS models,
  list_sort(list(DISTINCT hardware) FILTER (WHERE status = 'completed')) AS hardware_completed,
  count(*) AS results,
  count(*) FILTER (WHERE verification = 'verified') AS verified,
  max(timestamp) AS last_tested
FROM benchmark_results
GROUP BY architecture;

-- latency_avg and latency_std are seconds, like the guide's avg_latency.
CREATE VIEW comprehensive_benchmarks AS
SELECT
  r.result_id AS benchmark_id,
  a.architecture_id,
  h.id AS hardware_id,
  r.model,
  r.model_id,
  r.batch_size,
  r.throughput_ips AS throughput,
  r.latency_mean_ms / 1000 AS latency_avg,
  r.latency_std_ms / 1000 AS latency_std,
  r.memory_mb AS memory_peak_mb,
  TRY_CAST(r.timestamp AS TIMESTAMP) AS test_timestamp,
  r.verification,
  r.flags
FROM benchmark_results AS r
JOIN model_architecture_coverage AS a ON a.architecture IS NOT DISTINCT FROM r.architecture
JOIN hardware_platforms AS h
  ON h.hardware_type IS NOT DISTINCT FROM r.hardware
  AND h.device_name IS NOT DISTINCT FROM r.device_name
  AND h.hardware_id IS NOT DISTINCT FROM r.hardware_id
WHERE r.status = 'completed' AND r.latency_mean_ms IS NOT NULL;

-- One row per cell (one series on one machine): the newest one that was measured and verified, unless a newer one
-- computed wrong numbers. Imported ones count in a series without own ones. `names` are all names that the model of
-- the series had. `ranked` is Record::ranked() (docs/metrics.md, "Ranked cells"). DuckDB prints the first and the last
-- columns of a wide table: they are the ones that one reads.
CREATE VIEW latest_results AS
SELECT
  model,
  engine,
  batch_size,
  sequence_length,
  output_tokens,
  precision,
  hardware,
  coalesce(NOT list_has_any(string_split(flags, ','), ['simulated', 'software', 'partial', 'unsteady']), true)
    AND (
      coalesce(NOT list_contains(string_split(flags, ','), 'noisy'), true)
      OR coalesce(
        latency_p50_low_ms >= (1 - if(latency_p50_interval = 'launches', 0.25, 0.1)) * latency_p50_ms
        AND latency_p50_high_ms <= (1 + if(latency_p50_interval = 'launches', 0.25, 0.1)) * latency_p50_ms, false
      )
    )
    AND NOT coalesce(latency_p50_low_ms < 0.5 * latency_p50_ms OR latency_p50_high_ms > 2 * latency_p50_ms, false)
    AND NOT (coalesce(latency_p50_quality, '') LIKE 'few%' AND coalesce(latency_p50_interval, '') <> 'launches')
    AS ranked,
  flags,
  model_id,
  names,
  family,
  device_name,
  engine_version,
  engine_options,
  effective_precision,
  kv_cache,
  shapes,
  streams,
  threads,
  effective_threads,
  contract,
  latency_p50_quality,
  latency_window_p50_ms,
  steady_class,
  throughput_ips,
  ttft_ms,
  tpot_ms,
  tokens_per_second,
  total_tokens_per_second,
  load_cold_ms,
  load_warm_ms,
  memory_mb,
  weights,
  size,
  timestamp,
  hardware_id,
  series_key,
  result_id,
  launch_p50_ms,
  launch_spread,
  latency_p50_interval,
  launches,
  latency_p50_ms,
  latency_p50_low_ms,
  latency_p50_high_ms
FROM (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY series_key
      ORDER BY list_contains(string_split(coalesce(flags, ''), ','), 'imported'), timestamp DESC, result_id DESC
    ) AS age,
    array_to_string(list_sort(list_distinct(list(model) OVER (PARTITION BY series_key))), ', ') AS names
  FROM benchmark_results
  WHERE
    (status = 'wrong' OR (status = 'completed' AND verification = 'verified' AND latency_p50_ms IS NOT NULL))
    AND NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
)
WHERE age = 1 AND status = 'completed';
