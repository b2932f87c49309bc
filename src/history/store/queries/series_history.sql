-- SPDX-License-Identifier: Apache-2.0
-- All results of some series (none given: of all), by series, then oldest first. flags, quality and interval decide
-- whether a time is ranked (Record::ranked). The reasons are of what did not run.
-- parameters: series VARCHAR[]
-- columns: series_key result_id timestamp run_id engine engine_version tool_version status verification flags latency_p50_quality latency_p50_interval latency_p50_ms latency_p50_low_ms latency_p50_high_ms latency_mean_ms throughput_ips memory_mb memory_source launches reason_code message hint effective_precision launch_p50_ms
-- budget: 1 s
SELECT
  series_key, result_id, timestamp, run_id, engine, engine_version, tool_version, status, verification, flags,
  latency_p50_quality, latency_p50_interval, latency_p50_ms, latency_p50_low_ms, latency_p50_high_ms,
  latency_mean_ms, throughput_ips, memory_mb, memory_source, coalesce(launches, 1) AS launches,
  CASE WHEN status IN ('unavailable', 'skipped') THEN reason_code END AS reason_code,
  CASE WHEN status IN ('unavailable', 'skipped') THEN message END AS message,
  CASE WHEN status IN ('unavailable', 'skipped') THEN hint END AS hint,
  effective_precision, launch_p50_ms
FROM benchmark_results
WHERE $series IS NULL OR series_key IN (SELECT unnest($series))
ORDER BY series_key, timestamp, result_id
