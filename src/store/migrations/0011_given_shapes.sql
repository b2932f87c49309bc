-- SPDX-License-Identifier: Apache-2.0
ALTER TABLE benchmark_results ADD COLUMN given_shapes VARCHAR;
ALTER TABLE launches ADD COLUMN given_shapes VARCHAR;
