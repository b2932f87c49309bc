// SPDX-License-Identifier: Apache-2.0
// Two runs and two versions of the same cells: what the compare page makes of the history in a document that C++ wrote.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { earlierCells, oneOfEach } from '../src/earlier.ts';
import { type Choice, claimWords, heading, pairUp } from '../src/pairs.ts';
import { readDocument } from '../src/read_document.ts';
import { cell, rounds } from './cells.ts';

const document = readDocument(new Uint8Array(readFileSync(`${process.env.ASSAY_PAGES}/document.bin`)));
const earlier = earlierCells(document);
const pairing = (a: Choice, b: Choice) => pairUp(document.cells, a, b, earlier);
/** The newest result of the cell's series that `wanted` accepts. */
const pointOf = (series: string, wanted: (point: (typeof document.history)[number]) => boolean) =>
  document.history
    .filter((point) => document.series[point.series] === series && wanted(point))
    .sort((a, b) => b.time - a.time)[0]!;
const near = (x: number, y: number) => assert.ok(Math.abs(x / y - 1) < 1e-6, `${x} is not ${y}`);

test('every result that is no cell itself is an earlier one, once', () => {
  assert.equal(earlier.length, document.history.length - document.cells.length);
  const old = earlier.find((one) => one.text('series_key') === 'series-bert-cpu-1' && one.ranked)!;
  const now = document.cells.find((one) => one.text('series_key') === 'series-bert-cpu-1')!;
  assert.deepEqual(
    [old.text('run_id'), old.target, old.text('model'), old.shape, old.number('comparable')],
    ['run-old', now.target, 'bert', now.shape, now.number('comparable')],
  );
  // What is not known of it is absent, and not that of the cell.
  assert.deepEqual([old.number('latency_p99_ms'), old.text('task_key'), old.text('message')], [null, '', '']);
  assert.ok(now.number('latency_p99_ms') !== null);
});

test('two runs of the same cells: ratio and interval of the medians, and no claim', () => {
  const [a, b]: [Choice, Choice] = [{ run_id: 'run-old' }, { run_id: 'run-new' }];
  const found = pairing(a, b);
  assert.equal(found.rows.length, document.cells.filter((one) => one.number('usable') === 1).length);
  for (const row of found.rows) {
    const before = pointOf(row.a.text('series_key'), ({ run }) => run === 'run-old');
    const after = (name: string) => row.b.number(name)!;
    assert.deepEqual(
      [row.a.text('series_key'), row.a.earlier, row.b.earlier],
      [row.b.text('series_key'), true, undefined],
    );
    near(row.found.ratio, after('latency_p50_ms') / before.p50!);
    near(row.ofMedians!.low, after('latency_p50_low_ms') / before.high!);
    near(row.ofMedians!.high, after('latency_p50_high_ms') / before.low!);
    assert.deepEqual(
      [row.found.low, row.found.difference, claimWords(row.found, 'A', 'B')],
      [null, 'not_compared', 'not compared: measured in different runs'],
    );
  }
  assert.equal(
    heading(a, b, found),
    `run run-new and run run-old: not compared: measured in different runs, over ${found.rows.length} cells`,
  );
});

test('two versions of the same cells', () => {
  const found = pairing({ engine_version: '1.30.0', target: 'cpu' }, { engine_version: '1.31.1', target: 'cpu' });
  assert.ok(found.rows.length > 20);
  for (const row of found.rows) {
    assert.deepEqual(
      [row.a.text('engine_version'), row.b.text('engine_version'), row.a.target],
      ['1.30.0', '1.31.1', 'cpu'],
    );
    near(
      row.found.ratio,
      pointOf(row.a.text('series_key'), ({ version }) => version.startsWith('1.31.1')).p50! /
        pointOf(row.a.text('series_key'), ({ version, p50 }) => version.startsWith('1.30.0') && p50 !== null).p50!,
    );
    assert.equal(row.found.difference, 'not_compared');
  }
});

test('two targets in an earlier run are compared by its rounds', () => {
  const found = pairing({ target: 'cpu', run_id: 'run-old' }, { target: 'openvino', run_id: 'run-old' });
  assert.ok(found.rows.length > 20);
  for (const row of found.rows)
    assert.deepEqual([row.found.evidence, row.found.rounds, row.ofMedians], ['rounds', 3, null]);
});

test('two versions in one run are compared by rounds, and a difference is claimed', () => {
  const at = (version: string, ms: number, more = {}) =>
    cell({
      engine_version: version,
      series_key: 's',
      key: version,
      latency_p50_ms: ms,
      launch_p50_ms: rounds(ms),
      ...more,
    });
  const found = pairUp([at('2', 2)], { engine_version: '1' }, { engine_version: '2' }, [at('1', 4)]);
  assert.deepEqual(
    found.rows.map((row) => [row.found.difference, row.found.evidence]),
    [['faster', 'rounds']],
  );
  assert.match(
    heading({ engine_version: '1' }, { engine_version: '2' }, found),
    /^version 2 is 2\.00× as fast as version 1 /,
  );
  // The runtime computed in another precision then: another cell.
  assert.deepEqual(
    pairUp([at('2', 2)], { engine_version: '1' }, { engine_version: '2' }, [
      at('1', 4, { comparable: 9, effective_precision: 'bfloat16' }),
    ]).rows,
    [],
  );
});

test('without a run or a version a side has the newest results only', () => {
  const found = pairing({ target: 'cpu' }, { target: 'openvino' });
  assert.ok(
    found.rows.length > 0 && [...found.rows, ...found.unranked].every((row) => !row.a.earlier && !row.b.earlier),
  );
  assert.ok(found.alone.every((one) => !one.cell.earlier));
});

test('of a series in a run, what has neither a time nor a verdict does not hide what has', () => {
  const at = (key: string, more: Parameters<typeof cell>[0]) => cell({ series_key: 's', key, ...more });
  const [skipped, failed, good] = [
    at('skipped', { status: 'skipped', latency_p50_ms: null }),
    at('failed', { status: 'failed', latency_p50_ms: null }),
    at('good', {}),
  ];
  const keys = (...cells: (typeof good)[]) => oneOfEach(cells).map((one) => one.key);
  assert.deepEqual(keys(skipped, good), ['good']);
  assert.deepEqual(keys(failed, good), ['failed']);
  assert.deepEqual(keys(at('partial', { flags: 'partial' }), good), ['good']);
  assert.deepEqual(keys(skipped), ['skipped']);
  const untimed = { latency_p50_ms: null, throughput_ips: null };
  const checked = at('checked', { ...untimed, verification: 'verified' }),
    wrong = at('wrong', { status: 'wrong' });
  assert.deepEqual(keys(checked, good), ['good']);
  assert.deepEqual(keys(wrong, good), ['wrong']);
  assert.deepEqual(keys(checked, wrong, good), ['good']); // it is not wrong any more
  assert.deepEqual(keys(at('mean', { ...untimed, latency_mean_ms: 3 }), good), ['mean']);
});

test('of a series in a run, an imported result does not hide an own one', () => {
  const at = (key: string, more: Parameters<typeof cell>[0] = {}) => cell({ series_key: 's', key, ...more });
  const keys = (...cells: ReturnType<typeof at>[]) => oneOfEach(cells).map((one) => one.key);
  const imported = at('imported', { flags: 'imported,noisy' });
  assert.deepEqual(keys(imported, at('own')), ['own']);
  assert.deepEqual(keys(imported, at('older', { flags: 'imported' })), ['imported']);
  assert.deepEqual(keys(imported, at('skipped', { status: 'skipped', latency_p50_ms: null })), ['imported']);
  // A verdict of a file does not correct an own one.
  assert.deepEqual(
    keys(at('checked', { flags: 'imported', verification: 'verified' }), at('wrong', { status: 'wrong' })),
    ['wrong'],
  );
});
