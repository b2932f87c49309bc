-- SPDX-License-Identifier: Apache-2.0
-- The highest rates that runs and `assay doctor --peak` measured on machines (`peaks` of the run's environment): for each
-- device, precision and engine the newest; one that something disturbed, or whose time is in the future, only if there is
-- no other.
-- parameters:
-- columns: hardware_id hardware device precision engine engine_version flops_per_s bytes_per_s threads measured_at
-- budget: 1 s
SELECT
  hardware_id,
  peak->>'hardware' AS hardware,
  peak->>'device' AS device,
  peak->>'precision' AS precision,
  peak->>'engine' AS engine,
  peak->>'engine_version' AS engine_version,
  TRY_CAST(peak->>'flops_per_s' AS DOUBLE) AS flops_per_s,
  TRY_CAST(peak->>'bytes_per_s' AS DOUBLE) AS bytes_per_s,
  TRY_CAST(peak->>'threads' AS BIGINT) AS threads,
  peak->>'measured_at' AS measured_at
FROM (
  SELECT hardware_id, unnest(from_json(environment->'$.peaks', '["JSON"]')) AS peak
  FROM (SELECT hardware_id, TRY_CAST(environment AS JSON) AS environment FROM benchmark_runs)
  WHERE json_type(environment, '$.peaks') = 'ARRAY'
)
QUALIFY row_number() OVER (
  PARTITION BY hardware_id, hardware, device, precision, engine
  ORDER BY
    coalesce(TRY_CAST(peak->>'disturbed' AS BOOLEAN), false),
    measured_at > strftime(now()::TIMESTAMP + $clock_allowance, '%Y-%m-%dT%H:%M:%S'),
    measured_at DESC
) = 1
ORDER BY ALL
