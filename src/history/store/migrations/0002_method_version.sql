-- SPDX-License-Identifier: Apache-2.0
-- The keys of all rows are computed anew after each migration (results_table.hpp).
ALTER TABLE benchmark_results ADD COLUMN method_version BIGINT;
