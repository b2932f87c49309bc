// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { counted, number, plusMinus, when } from '../src/format.ts';
import { compareTogether, noClaimWords, studentQuantile } from '../src/stats.ts';

const near = (actual: number, expected: number, tolerance = 1e-9) =>
  assert.ok(Math.abs(actual - expected) <= tolerance * Math.abs(expected), `${actual} is not ${expected}`);

test('quantiles of Student’s distribution are those of the tables', () => {
  near(studentQuantile(0.975, 1), 12.706204736432095);
  near(studentQuantile(0.975, 2), 4.302652729911275);
  near(studentQuantile(0.995, 9), 3.2498355440153697);
  near(studentQuantile(0.025, 30), -2.0422724563012373);
});

const row = (run: string, launches: string, p50: number) => ({ run, launches, launchNumber: 1, p50 });

test('a difference that all rounds show is claimed, one within the spread is not', () => {
  const slow = row('r', '1:2.0 2:2.01 3:1.99', 2);
  const fast = row('r', '1:1.0 2:1.0 3:1.01', 1);
  assert.equal(compareTogether([{ baseline: slow, candidate: fast }]).difference, 'faster');
  assert.equal(compareTogether([{ baseline: fast, candidate: slow }]).difference, 'slower');
  const noisy = row('r', '1:1.2 2:0.9 3:1.02', 1.02);
  const none = compareTogether([{ baseline: fast, candidate: noisy }]);
  assert.equal(none.difference, 'not_shown');
  assert.match(noClaimWords(none), /^no difference shown \(/);
});

test('rows of different runs and rows of one process are not compared', () => {
  const a = row('r', '1:2 2:2', 2);
  const b = row('s', '1:1 2:1', 1);
  assert.equal(compareTogether([{ baseline: a, candidate: b }]).evidence, 'different_runs');
  const one = row('r', '', 1);
  assert.equal(noClaimWords(compareTogether([{ baseline: a, candidate: one }])), 'not compared: one process each');
});

test('numbers have three significant digits and thin separators', () => {
  assert.equal(number(1234.5), '1\u2009230');
  assert.equal(number(0.012345), '0.0123');
  assert.equal(number(9.999), '10.0');
  assert.equal(number(99.96), '100');
  assert.equal(number(null), '–');
  assert.deepEqual(
    ['cell', 'opportunity', 'series'].map((noun) => counted(2, noun)),
    ['2 cells', '2 opportunities', '2 series'],
  );
  assert.equal(plusMinus(100, 98, 101), '±\u00a02\u00a0%');
  assert.equal(when('2026-03-02T12:00:59.123Z'), '2026-03-02 12:00');
});
