-- SPDX-License-Identifier: Apache-2.0
-- No primary keys, foreign keys or indexes: bulk appends stay fast, and no index stands in a write-ahead log.

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

-- One row per cell and shape: the fields of result_fields(), statistics materialised.
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
  form VARCHAR,
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
  flops_counted DOUBLE
);

-- One row per steady sample, clustered by result. start_ns is from the start of the sampling window.
CREATE TABLE raw_benchmark_data (
  result_id BIGINT,
  seq BIGINT,
  kind ENUM ('run', 'first_token', 'token'),
  stream BIGINT,
  start_ns BIGINT,
  duration_ns BIGINT
);

-- What was taken in: a bundle is ingested once.
CREATE TABLE bundles (
  sha256 VARCHAR,
  path VARCHAR,  -- task key/attempt id, in the spool
  attempt_id VARCHAR,
  result_id BIGINT,
  samples BIGINT,
  ingested_at TIMESTAMP
);

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
  count(DISTINCT model) AS models,
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
