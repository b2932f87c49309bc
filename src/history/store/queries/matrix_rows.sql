-- SPDX-License-Identifier: Apache-2.0
-- The rows of the compatibility matrix of one machine: for each series, name of its model, and graph of a model without
-- a configuration, the newest result and the newest with a time. Imported results first, then the oldest.
-- parameters: machine VARCHAR
-- columns: result_id fields
-- budget: 1 s
SELECT result_id, $fields
FROM benchmark_results
WHERE result_id IN (
  SELECT result_id
  FROM benchmark_results
  WHERE $machine IS NULL OR hardware_id = $machine
  QUALIFY
    row_number() OVER (
      PARTITION BY series_key, model, model_id, if(config_hash IS NULL, graph_hash, NULL)
      ORDER BY $newest_first
    ) = 1
    OR (
      latency_mean_ms IS NOT NULL
      AND row_number() OVER (
        PARTITION BY series_key, model, model_id, if(config_hash IS NULL, graph_hash, NULL), latency_mean_ms IS NULL
        ORDER BY $newest_first
      ) = 1
    )
)
ORDER BY NOT $imported, timestamp, result_id
