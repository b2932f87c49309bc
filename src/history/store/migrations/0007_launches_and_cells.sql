-- SPDX-License-Identifier: Apache-2.0
-- A cell is measured in several launches. Each bundle is one launch, and a row of `launches`; the rows of
-- benchmark_results are those of cells, which code derives from their launches (cells.hpp). Old rows are launches of
-- their own.

-- One row per bundle. `counted`: benchmark_results includes it (of several attempts of one launch, one counts).
CREATE TABLE launches AS
SELECT result_id AS launch_id, result_id, true AS counted, * EXCLUDE (result_id) FROM benchmark_results;

-- result_id is the cell's, and NULL for launches that do not count.
CREATE OR REPLACE TABLE raw_benchmark_data AS
SELECT
  s.result_id,
  s.result_id AS launch_id,
  coalesce(l.launch_number, 1) AS launch_number,
  s.seq,
  s.kind,
  s.stream,
  s.start_ns,
  s.duration_ns
FROM raw_benchmark_data AS s LEFT JOIN launches AS l ON l.launch_id = s.result_id
ORDER BY s.result_id, s.seq;

ALTER TABLE bundles ADD COLUMN launch_id BIGINT;
UPDATE bundles SET launch_id = result_id;

-- One row per cell (one series on one machine): the newest one that was measured and verified, unless a newer one
-- computed wrong numbers. `names` are all names that the model of the series had. `ranked` is Record::ranked()
-- (docs/metrics.md, "Ranked cells"). DuckDB prints the first and the last columns of a wide table: they are the ones
-- that one reads.
DROP VIEW IF EXISTS latest_results;
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
    row_number() OVER (PARTITION BY series_key ORDER BY timestamp DESC, result_id DESC) AS age,
    array_to_string(list_sort(list_distinct(list(model) OVER (PARTITION BY series_key))), ', ') AS names
  FROM benchmark_results
  WHERE
    (status = 'wrong' OR (status = 'completed' AND verification = 'verified' AND latency_p50_ms IS NOT NULL))
    AND NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
)
WHERE age = 1 AND status = 'completed';
