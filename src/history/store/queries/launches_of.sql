-- SPDX-License-Identifier: Apache-2.0
-- The launches of one cell of one run, also those that do not count in its row.
-- parameters: result_id BIGINT
-- columns: launch_id counted fields
-- budget: 1 s
SELECT launch_id, counted, $fields
FROM launches
WHERE result_id = $result_id
ORDER BY launch_number, launch_id
