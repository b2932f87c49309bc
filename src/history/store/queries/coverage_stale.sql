-- SPDX-License-Identifier: Apache-2.0
-- For each series of one machine whose newest settled result (coverage_done) is older than `before`: that result.
-- Oldest first.
-- parameters: machine VARCHAR, before VARCHAR
-- columns: result_id fields
-- budget: 1 s
SELECT result_id, $fields
FROM (
  SELECT *
  FROM benchmark_results
  WHERE
    ($machine IS NULL OR hardware_id = $machine)
    AND (status = 'unsupported' OR (status IN ('completed', 'wrong') AND latency_mean_ms IS NOT NULL))
    AND NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
  QUALIFY row_number() OVER (PARTITION BY series_key ORDER BY $newest_first) = 1
)
WHERE timestamp < $before
ORDER BY timestamp, result_id
