-- SPDX-License-Identifier: Apache-2.0
-- The hardware guide's table, with the names of models, architectures and hardware; newest first, at most `most`.
-- parameters: most BIGINT
-- columns: benchmark_id model_name model_id architecture category hardware_type device_name batch_size throughput latency_avg latency_std memory_peak_mb test_timestamp verification flags
-- budget: 1 s
SELECT
  c.benchmark_id, c.model AS model_name, c.model_id, a.architecture, a.category, h.hardware_type, h.device_name,
  c.batch_size, c.throughput, c.latency_avg, c.latency_std, c.memory_peak_mb, c.test_timestamp::VARCHAR AS test_timestamp,
  c.verification, c.flags
FROM comprehensive_benchmarks AS c
JOIN model_architecture_coverage AS a ON a.architecture_id = c.architecture_id
JOIN hardware_platforms AS h ON h.id = c.hardware_id
ORDER BY c.test_timestamp DESC, c.benchmark_id DESC
LIMIT coalesce($most, 9223372036854775807)
