-- SPDX-License-Identifier: Apache-2.0
-- How many rows of each kind there are, and the times of the first and the last of them. Samples are those that the
-- database itself has: its snapshot has none.
-- parameters:
-- columns: what count first_time last_time
-- budget: 1 s
SELECT * FROM (
  SELECT 'runs' AS what, count(*) AS count, strftime(min(started_at), '%Y-%m-%dT%H:%M:%S.%fZ') AS first_time,
    strftime(max(started_at), '%Y-%m-%dT%H:%M:%S.%fZ') AS last_time
  FROM benchmark_runs
  UNION ALL SELECT 'machines', count(*), NULL, NULL FROM hardware_info
  UNION ALL SELECT 'results', count(*), min(timestamp), max(timestamp) FROM benchmark_results
  UNION ALL SELECT 'series', count(DISTINCT series_key), min(timestamp), max(timestamp) FROM benchmark_results
  UNION ALL SELECT 'models', count(DISTINCT coalesce(model_id, model)), NULL, NULL FROM benchmark_results
  UNION ALL SELECT 'launches', count(*), min(timestamp), max(timestamp) FROM launches
  UNION ALL SELECT 'bundles', count(*), NULL, NULL FROM bundles
  UNION ALL SELECT 'samples', coalesce(sum(samples), 0)::BIGINT, NULL, NULL FROM bundles
)
