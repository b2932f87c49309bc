-- SPDX-License-Identifier: Apache-2.0
-- Some runs (none given: all), newest first. `score`: how quiet the machine was, 0 to 100, if it was looked at.
-- parameters: runs VARCHAR[], most BIGINT
-- columns: run_id started tool_version git_commit command host hardware_id environment cells score
-- budget: 1 s
SELECT
  r.run_id,
  strftime(r.started_at, '%Y-%m-%dT%H:%M:%S.%fZ') AS started,
  r.tool_version,
  r.git_commit,
  r.command,
  r.host,
  r.hardware_id,
  r.environment,
  coalesce(c.cells, 0) AS cells,
  TRY_CAST(json_extract_string(TRY_CAST(r.environment AS JSON), '$.doctor.score') AS BIGINT) AS score
FROM benchmark_runs AS r
LEFT JOIN (SELECT run_id, count(*) AS cells FROM benchmark_results GROUP BY run_id) AS c ON c.run_id = r.run_id
WHERE $runs IS NULL OR r.run_id IN (SELECT unnest($runs))
ORDER BY r.started_at DESC, r.run_id
LIMIT coalesce($most, 9223372036854775807)
