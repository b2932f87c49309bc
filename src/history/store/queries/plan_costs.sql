-- SPDX-License-Identifier: Apache-2.0
-- What one launch of each series took on one machine: the median, over its launches that were completed, of the seconds
-- for opening the runtime, loading the model, warming up and measuring. The check of its numbers is not among them.
-- parameters: machine VARCHAR
-- columns: series_key launches seconds
-- budget: 1 s
SELECT
  series_key,
  count(*) AS launches,
  median(
    coalesce(runtime_load_ms, 0) / 1e3 + coalesce(model_load_time, 0) + coalesce(first_inference_ms, 0) / 1e3
    + coalesce(warmup_time_ms, 0) / 1e3 + window_ns / 1e9
  ) AS seconds
FROM launches
WHERE
  ($machine IS NULL OR hardware_id = $machine)
  AND status IN ('completed', 'wrong')
  AND window_ns IS NOT NULL
GROUP BY series_key
ORDER BY series_key
