-- SPDX-License-Identifier: Apache-2.0
-- For each series that the filters select: the newest result; those without a time and a verdict (skipped, not
-- available, cut short, or only verified again) do not hide an older one that has them; but what is wrong or unsupported
-- is not so any more if a newer result is verified. Own results before imported ones, then newest first, at most `most`
-- (none: all). `matching`: how many there are.
-- parameters: models VARCHAR[], families VARCHAR[], categories VARCHAR[], architectures VARCHAR[], hardware VARCHAR[], engines VARCHAR[], precisions VARCHAR[], runs VARCHAR[], machines VARCHAR[], batch_size BIGINT, sequence_length BIGINT, since VARCHAR, until VARCHAR, most BIGINT
-- columns: result_id matching fields
-- budget: 1 s
WITH selected AS (
  SELECT
    result_id, series_key, timestamp, status, flags, coalesce(latency_p50_ms, latency_mean_ms) IS NOT NULL AS has_time,
    max(timestamp) FILTER (WHERE status = 'completed' AND verification = 'verified')
      OVER (PARTITION BY series_key, $imported) AS verified_at
  FROM benchmark_results
  WHERE
    ($models IS NULL OR list_contains($models, model) OR list_contains($models, model_id))
    AND ($families IS NULL OR list_contains($families, family))
    AND ($categories IS NULL OR list_contains($categories, category))
    AND ($architectures IS NULL OR list_contains($architectures, architecture))
    AND ($hardware IS NULL OR list_contains($hardware, hardware))
    AND ($engines IS NULL OR list_contains($engines, engine))
    AND ($precisions IS NULL OR list_contains($precisions, precision))
    AND ($runs IS NULL OR list_contains($runs, run_id))
    AND ($machines IS NULL OR list_contains($machines, hardware_id))
    AND ($batch_size IS NULL OR batch_size = $batch_size)
    AND ($sequence_length IS NULL OR sequence_length = $sequence_length)
    AND ($since IS NULL OR timestamp >= $since)
    AND ($until IS NULL OR timestamp <= $until)
),
chosen AS (
  SELECT result_id, timestamp, flags
  FROM selected
  QUALIFY
    row_number() OVER (
      PARTITION BY series_key
      ORDER BY
        NOT list_contains(string_split(coalesce(flags, ''), ','), 'partial')
          AND coalesce(
            CASE
              WHEN status IN ('skipped', 'unavailable') THEN false
              WHEN status = 'completed' THEN has_time
              WHEN status IN ('wrong', 'unsupported') THEN verified_at IS NULL OR verified_at < timestamp
              ELSE status IS NOT NULL
            END,
            false
          ) DESC,
        $newest_first
    ) = 1
)
SELECT result_id, (SELECT count(*) FROM chosen) AS matching, $fields
FROM benchmark_results
WHERE result_id IN (SELECT result_id FROM chosen ORDER BY $newest_first LIMIT coalesce($most, 9223372036854775807))
ORDER BY $newest_first
