-- SPDX-License-Identifier: Apache-2.0
-- Some databases of version 7 have the column already, because a development version had it in migration 0006.
ALTER TABLE benchmark_results ADD COLUMN IF NOT EXISTS planned_launches BIGINT;
ALTER TABLE launches ADD COLUMN IF NOT EXISTS planned_launches BIGINT;
