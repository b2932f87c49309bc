-- SPDX-License-Identifier: Apache-2.0
-- Samples in a narrow table, which nothing but ingesting changes: which cell a sample belongs to follows from the row of
-- its launch. raw_benchmark_data stays as a view with the columns it had.

-- One row per steady sample, clustered by launch. kind: 0 run, 1 first_token, 2 token. seq counts in samples.bin.
CREATE TABLE samples AS
SELECT
  launch_id::INTEGER AS launch_id,
  seq::INTEGER AS seq,
  enum_code(kind)::UTINYINT AS kind,
  stream::UINTEGER AS stream,
  start_ns,
  duration_ns
FROM raw_benchmark_data
ORDER BY launch_id, seq;

DROP TABLE raw_benchmark_data;

-- result_id is the cell's, and NULL for launches that do not count.
CREATE VIEW raw_benchmark_data AS
SELECT
  CASE WHEN l.counted THEN l.result_id END AS result_id,
  s.launch_id::BIGINT AS launch_id,
  coalesce(l.launch_number, 1) AS launch_number,
  s.seq::BIGINT AS seq,
  CASE s.kind WHEN 0 THEN 'run' WHEN 1 THEN 'first_token' ELSE 'token' END::ENUM ('run', 'first_token', 'token') AS kind,
  s.stream::BIGINT AS stream,
  s.start_ns,
  s.duration_ns
FROM samples AS s JOIN launches AS l ON l.launch_id = s.launch_id;

-- One row per launch and kind of its samples: how they are distributed, and how they went over time, for pictures
-- (docs/formats.md, "Shapes"). Code fills it.
CREATE TABLE launch_shapes (
  launch_id INTEGER,
  kind UTINYINT,
  samples BIGINT,
  steady BIGINT,
  low_ns BIGINT,
  high_ns BIGINT,
  window_ns BIGINT,
  first_steady_bin BIGINT,
  whole_window BOOLEAN,
  quantiles BLOB,
  bins BLOB
);
