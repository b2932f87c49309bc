-- SPDX-License-Identifier: Apache-2.0
-- Views that answer questions. A name may stand for several models in time (`bert` of two sets): model_id tells them apart.

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
  form,
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

CREATE OR REPLACE VIEW model_architecture_coverage AS
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

CREATE OR REPLACE VIEW comprehensive_benchmarks AS
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
