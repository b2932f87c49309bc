-- SPDX-License-Identifier: Apache-2.0
-- The extents that --shape and --dim fix.
ALTER TABLE benchmark_results ADD COLUMN given_shapes VARCHAR;
ALTER TABLE launches ADD COLUMN given_shapes VARCHAR;

-- Which result is the newest (src/core/result/newest.hpp): times that cannot be true become the time of the ingest, as
-- ingesting does it now, and imported results are behind own ones. Rows of cells are derived again after the migration.
UPDATE launches AS l
SET
  timestamp = strftime(b.ingested_at, '%Y-%m-%dT%H:%M:%S.%fZ'),
  flags = array_to_string(list_sort(list_distinct(list_append(
    list_filter(string_split(coalesce(l.flags, ''), ','), lambda f: f <> ''), 'doubtful_time'))), ',')
FROM bundles AS b
WHERE
  b.launch_id = l.launch_id
  AND b.ingested_at IS NOT NULL
  AND l.timestamp IS NOT NULL
  AND NOT coalesce(
    regexp_full_match(l.timestamp, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z')
    AND TRY_CAST(l.timestamp AS TIMESTAMP) BETWEEN TIMESTAMP '2010-01-01' AND b.ingested_at + INTERVAL 24 HOUR, false
  );

-- The start of a run becomes the time of the ingest of its first bundle. A run without bundles, which measured peaks,
-- has no start then.
UPDATE benchmark_runs AS r
SET started_at = f.ingested_at
FROM (
  SELECT benchmark_runs.run_id, arg_min(b.ingested_at, b.launch_id) AS ingested_at
  FROM benchmark_runs
  LEFT JOIN launches AS l ON l.run_id = benchmark_runs.run_id
  LEFT JOIN bundles AS b ON b.launch_id = l.launch_id
  GROUP BY benchmark_runs.run_id
) AS f
WHERE
  f.run_id = r.run_id
  AND NOT coalesce(
    r.started_at BETWEEN TIMESTAMP '2010-01-01' AND coalesce(f.ingested_at, now()::TIMESTAMP) + INTERVAL 24 HOUR, false
  );

-- One row per cell (one series on one machine): the newest one that was measured and verified, unless a newer one
-- computed wrong numbers. Imported ones count in a series without own ones. `names` are all names that the model of
-- the series had. `ranked` is Record::ranked() (docs/metrics.md, "Ranked cells"). DuckDB prints the first and the last
-- columns of a wide table: they are the ones that one reads.
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
