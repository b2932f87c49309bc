-- SPDX-License-Identifier: Apache-2.0
-- The words that results have, for each filter of a selection; `filter` is the name of its option.
-- parameters:
-- columns: filter word
-- budget: 1 s
SELECT DISTINCT filter, word
FROM (
  SELECT unnest([
    {'filter': 'model', 'word': model}, {'filter': 'model', 'word': model_id}, {'filter': 'family', 'word': family},
    {'filter': 'category', 'word': category}, {'filter': 'architecture', 'word': architecture},
    {'filter': 'hardware', 'word': hardware}, {'filter': 'engine', 'word': engine},
    {'filter': 'precision', 'word': precision}, {'filter': 'run', 'word': run_id},
    {'filter': 'machine', 'word': hardware_id}
  ], recursive := true)
  FROM (
    SELECT DISTINCT model, model_id, family, category, architecture, hardware, engine, precision, run_id, hardware_id
    FROM benchmark_results
  )
)
WHERE word IS NOT NULL AND word <> ''
ORDER BY filter, word
