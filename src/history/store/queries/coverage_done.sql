-- SPDX-License-Identifier: Apache-2.0
-- What one machine has measured: of each series and version of its engine, the time of the newest result that is
-- settled (Record::settled): completed with a time, wrong, or unsupported, and not cut short; and that of the newest
-- failure. Imported results count in a series without own ones. What is unsupported or failed may work with the next
-- assay, so that `refused_by` is the version of the assay that says so; otherwise it is NULL.
-- parameters: machine VARCHAR
-- columns: series_key engine engine_version failed refused_by timestamp
-- budget: 1 s
SELECT
  series_key, engine, engine_version, status = 'failed' AS failed,
  CASE WHEN status IN ('unsupported', 'failed') THEN tool_version END AS refused_by,
  max(timestamp) AS timestamp
FROM (
  SELECT *
  FROM benchmark_results
  WHERE
    ($machine IS NULL OR hardware_id = $machine)
    AND (status IN ('unsupported', 'failed') OR (status IN ('completed', 'wrong') AND latency_mean_ms IS NOT NULL))
    AND NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
  QUALIFY NOT $imported OR bool_and($imported) OVER (PARTITION BY series_key)
)
GROUP BY ALL
ORDER BY ALL
