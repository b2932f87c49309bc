// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { phaseRows, phasesOf } from '../src/phases.ts';

test('phases are those of one launch, where the record has sums over launches', () => {
  const values: Record<string, number> = {
    launches: 3,
    model_load_time: 0.5,
    first_inference_ms: 20,
    warmup_time_ms: 300,
    window_ns: 6e9,
  };
  const phases = new Map(phasesOf({ number: (name) => values[name] ?? null }));
  assert.deepEqual(
    [...phases.keys()],
    ['load the runtime', 'load the model', 'compile', 'first run', 'warm-up', 'steady'],
  );
  assert.equal(phases.get('load the runtime'), null);
  assert.equal(phases.get('load the model'), 0.5);
  assert.equal(phases.get('first run'), 0.02);
  assert.ok(Math.abs(phases.get('warm-up')! - 0.1) < 1e-12);
  assert.ok(Math.abs(phases.get('steady')! - 2) < 1e-12);
});

test('the bars of phases begin where the phase before ends', () => {
  const values: Record<string, number> = {
    launches: 1,
    model_load_time: 0.5,
    first_inference_ms: 20,
    warmup_time_ms: 300,
    window_ns: 6e9,
  };
  const rows = phaseRows({ number: (name) => values[name] ?? null }, 'cpu').map(
    ([panel, , phase, from, length, , , , , text]) => [panel, phase, from, length, text],
  );
  assert.deepEqual(rows, [
    [0, 'load the model', 0, 500, ''],
    [0, 'first run', 500, 20, ''],
    [0, 'sum', 520, null, '520\u2009ms'],
    [1, 'load the model', 0, 0.5, ''],
    [1, 'first run', 0.5, 0.02, ''],
    [1, 'warm-up', 0.52, 0.3, ''],
    [1, 'steady', 0.8200000000000001, 6, ''],
    [1, 'sum', 6.82, null, '6.82\u2009s'],
  ]);
});
