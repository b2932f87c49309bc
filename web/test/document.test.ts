// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { fromBase64, inflate, readDocument } from '../src/read_document.ts';
import { synthetic } from './synthetic.ts';

test('a document is read back with every kind of column', async () => {
  const bytes = synthetic({ models: 12 });
  const document = readDocument(await inflate(fromBase64(deflateSync(bytes).toString('base64'))));
  assert.equal(document.cells.length, 12 * 4 * 3);
  const cell = document.cellAt(0);
  assert.equal(cell.key, '1000');
  assert.ok(document.cells.includes(cell));
  assert.equal(document.byKey.get('1000'), cell);
  assert.equal(document.byKey.get(cell.text('task_key')), cell);
  assert.equal(cell.text('engine'), 'onnxruntime');
  assert.equal(cell.target, 'cpu');
  assert.equal(cell.number('batch_size'), 1);
  assert.ok(cell.number('latency_p50_ms')! > 0);
  assert.equal(cell.number('energy_j'), null);
  assert.equal(document.fields[0]!.name, 'latency_p50_ms');
});

test('distributions rise, end at the extremes, and belong to their cells', () => {
  const document = readDocument(synthetic({ models: 3 }));
  const cell = document.cells.find((one) => one.ranked)!;
  const distributions = document.distributionsOf(cell);
  assert.equal(distributions.length, 3);
  for (const distribution of distributions) {
    assert.equal(distribution.quantiles.length, 64);
    assert.equal(distribution.bins.length, 100);
    for (const [i, ms] of distribution.quantiles.entries()) assert.ok(i === 0 || ms >= distribution.quantiles[i - 1]!);
    const p50 = cell.number('latency_p50_ms')!;
    assert.ok(distribution.quantiles[0]! < p50 && distribution.quantiles[63]! > p50);
    for (const bin of distribution.bins) assert.ok(bin && bin.min <= bin.median && bin.median <= bin.max);
  }
});

test('a file of another format is refused in words', () => {
  assert.throws(() => readDocument(new TextEncoder().encode('PK345678xxxxxxxx')), /not a document of assay/);
});

test('the same seed makes the same document', () => {
  assert.deepEqual(synthetic({ models: 2, seed: 5 }), synthetic({ models: 2, seed: 5 }));
  assert.notDeepEqual(synthetic({ models: 2, seed: 5 }), synthetic({ models: 2, seed: 6 }));
});
