// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { phasesOf } from '../src/phases.ts';

test('phases are those of one launch, where the record has sums over launches', () => {
  const values: Record<string, number> = { launches: 3, model_load_time: 0.5, first_inference_ms: 20, warmup_time_ms: 300, window_ns: 6e9 };
  const phases = new Map(phasesOf({ number: (name) => values[name] ?? null }));
  assert.deepEqual([...phases.keys()], ['open the runtime', 'load the model', 'compile', 'first run', 'warm-up', 'steady window']);
  assert.equal(phases.get('open the runtime'), null);
  assert.equal(phases.get('load the model'), 0.5);
  assert.equal(phases.get('first run'), 0.02);
  assert.ok(Math.abs(phases.get('warm-up')! - 0.1) < 1e-12);
  assert.ok(Math.abs(phases.get('steady window')! - 2) < 1e-12);
});
