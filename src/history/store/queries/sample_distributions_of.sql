-- SPDX-License-Identifier: Apache-2.0
-- The shapes of the launches that count in some cells (none given: in all). Codes are hexadecimal, the lower byte first.
-- parameters: results VARCHAR[]
-- columns: result_id launch_number kind samples steady low_ns high_ns window_ns first_steady_bin quantiles bins
-- budget: 1 s
SELECT
  l.result_id, coalesce(l.launch_number, 1) AS launch_number, s.kind::BIGINT AS kind, s.samples, s.steady, s.low_ns,
  s.high_ns, s.window_ns, s.first_steady_bin, hex(s.quantiles) AS quantiles, hex(s.bins) AS bins
FROM sample_distributions AS s
JOIN launches AS l ON l.launch_id = s.launch_id
WHERE l.counted AND ($results IS NULL OR l.result_id IN (SELECT unnest($results)::BIGINT))
ORDER BY l.result_id, launch_number, kind
