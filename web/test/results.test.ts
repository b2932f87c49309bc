// SPDX-License-Identifier: Apache-2.0
// The times of a cell whose numbers are wrong are nowhere shown as results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryPoint } from '../src/document.ts';
import { readDocument } from '../src/read_document.ts';
import { medianOf, resultOf, shownValue, standingOf } from '../src/results.ts';
import { stateFrom, stateOf } from '../src/words.ts';
import { synthetic } from './synthetic.ts';

const document = readDocument(synthetic({ models: 12 }));
const wrong = document.cells.find((cell) => stateOf(cell) === 'wrong')!;
const good = document.cells.find((cell) => cell.ranked)!;
const field = (name: string) => document.fields.find((one) => one.name === name)!;

test('a wrong cell has times, but none that is a result', () => {
  assert.ok(wrong.number('latency_p50_ms')! > 0);
  assert.equal(resultOf(wrong, 'latency_p50_ms'), null);
  assert.equal(resultOf(good, 'latency_p50_ms'), good.number('latency_p50_ms'));
  for (const name of ['latency_p99_ms', 'throughput_ips', 'memory_mb', 'launch_p50_ms', 'window_ns']) {
    assert.equal(shownValue(wrong, field(name)), null, name);
    assert.equal(shownValue(good, field(name)), good.value(name), name);
  }
  // What the cell is stays, and what was found of its numbers.
  for (const name of ['model', 'batch_size', 'model_size_mb', 'rms_error', 'launches'])
    assert.equal(shownValue(wrong, field(name)), wrong.value(name), name);
});

test('a result that was verified as wrong is wrong, whatever its status', () => {
  assert.equal(stateFrom('completed', 'wrong'), 'wrong');
  assert.equal(stateFrom('completed', 'verified'), 'verified');
  assert.equal(stateFrom('completed', 'degenerate'), 'unverified');
  assert.equal(stateFrom('failed', 'unverified'), 'failed');
});

test('a series that became wrong has no newest time', () => {
  const point = (p50: number | null, shown: boolean) => ({ p50, shown }) as HistoryPoint;
  const series = [point(4, true), point(null, false), point(4.1, true), point(2, false)];
  const { newest, now, before, first } = standingOf(series);
  assert.equal(newest, series[3]);
  assert.equal(now, null);
  assert.equal(before, series[2]);
  assert.equal(first, series[0]);
  assert.equal(medianOf(series[3]!), null);
  assert.deepEqual(standingOf([]), { newest: undefined, now: null, before: undefined, first: undefined });
  assert.equal(standingOf(series.slice(0, 3)).now, 4.1);
});
