-- SPDX-License-Identifier: Apache-2.0
-- All cells of some runs, oldest first.
-- parameters: runs VARCHAR[]
-- columns: result_id fields
-- budget: 1 s
SELECT result_id, $fields
FROM benchmark_results
WHERE list_contains($runs, run_id)
ORDER BY timestamp, result_id
