-- SPDX-License-Identifier: Apache-2.0
-- `form` is now called `kv_cache`, and its values have other names. The keys of all rows are computed anew after each
-- migration (results_table.hpp); rows with the default keep theirs.
DROP VIEW IF EXISTS latest_results;
UPDATE benchmark_results SET form =
  CASE form WHEN 'portable' THEN 'growing' WHEN 'fixed' THEN 'static' WHEN 'native' THEN 'runtime' ELSE form END;
ALTER TABLE benchmark_results RENAME COLUMN form TO kv_cache;

-- One row per cell (one series on one machine) and name: the newest one that was measured and verified, unless a newer one
-- computed wrong numbers. The 95 % interval of the median is latency_p50_low_ms to latency_p50_high_ms. `ranked`: the time
-- is one of the device itself in a steady state, so that it may be compared with others.
CREATE VIEW latest_results AS
SELECT
  model,
  model_id,
  family,
  batch_size,
  sequence_length,
  output_tokens,
  hardware,
  device_name,
  engine,
  engine_version,
  engine_options,
  precision,
  effective_precision,
  kv_cache,
  streams,
  threads,
  effective_threads,
  contract,
  latency_p50_ms,
  latency_p50_low_ms,
  latency_p50_high_ms,
  latency_p50_quality,
  throughput_ips,
  ttft_ms,
  tpot_ms,
  tokens_per_second,
  memory_mb,
  weights,
  size,
  flags,
  flags IS NULL OR NOT list_has_any(string_split(flags, ','), ['simulated', 'software', 'unsteady']) AS ranked,
  timestamp,
  hardware_id,
  series_key,
  result_id
FROM (
  SELECT
    *,
    row_number() OVER (PARTITION BY series_key, model, model_id ORDER BY timestamp DESC, result_id DESC) AS age
  FROM benchmark_results
  WHERE
    (status = 'wrong' OR (status = 'completed' AND verification = 'verified' AND latency_p50_ms IS NOT NULL))
    AND NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
)
WHERE age = 1 AND status = 'completed';
