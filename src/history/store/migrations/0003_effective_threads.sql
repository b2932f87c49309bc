-- SPDX-License-Identifier: Apache-2.0
ALTER TABLE benchmark_results ADD COLUMN effective_threads BIGINT;
