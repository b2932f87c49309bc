-- SPDX-License-Identifier: Apache-2.0
-- Every machine, with the times of its first and its last result.
-- parameters:
-- columns: hardware_id host processor info first_seen last_seen cells
-- budget: 1 s
SELECT m.hardware_id, m.host, m.processor, m.info, c.first_seen, c.last_seen, coalesce(c.cells, 0) AS cells
FROM hardware_info AS m
LEFT JOIN (
  SELECT hardware_id, min(timestamp) AS first_seen, max(timestamp) AS last_seen, count(*) AS cells
  FROM benchmark_results
  GROUP BY hardware_id
) AS c ON c.hardware_id = m.hardware_id
ORDER BY c.last_seen DESC NULLS LAST, m.hardware_id
