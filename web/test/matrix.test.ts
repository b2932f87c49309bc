// SPDX-License-Identifier: Apache-2.0
// The rows of the matrix and what its heading says of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Line, matrixHeading, matrixLines, type Shown } from '../src/matrix_lines.ts';
import {
  filterOf,
  foldedGroups,
  foldText,
  isFiltered,
  manyRows,
  matching,
  matrixColumns,
  placeWords,
  winsOf,
} from '../src/matrix_view.ts';
import { readDocument } from '../src/read_document.ts';
import { toCsv, toMarkdown } from '../src/table_text.ts';
import { cell } from './cells.ts';

const shown: Shown = { batch: 1, tokens: null, precision: 'float32', machine: '' };
const table = (lines: Line[]) =>
  lines.map((line) => [line.model, line.label, [...line.cells.values()].map((one) => one.key).sort()]);

test('the cells of a row are comparable; a model has a row for each of those that are not', () => {
  const lines = matrixLines(
    [
      cell({ target: 'cpu', key: 'cpu float32', latency_p50_ms: 4 }),
      cell({
        target: 'openvino',
        key: 'openvino bfloat16',
        effective_precision: 'bfloat16',
        comparable: 2,
        latency_p50_ms: 1,
      }),
      cell({ target: 'openvino', key: 'openvino float32', latency_p50_ms: 3 }),
    ],
    shown,
  );
  assert.deepEqual(table(lines), [
    ['bert', 'computed in bfloat16', ['openvino bfloat16']],
    ['bert', 'computed in float32', ['cpu float32', 'openvino float32']],
  ]);
  assert.equal(lines[1]!.best!.key, 'openvino float32');
  assert.deepEqual([...lines[0]!.elsewhere.keys()], ['cpu']);
  assert.equal(
    matrixHeading(lines, 1),
    'At batch 1 openvino is fastest for 1 of 2 rows. 1 has one ranked target only.',
  );
});

test('the best of a row is in the row', () => {
  const lines = matrixLines(
    [
      cell({ target: 'cpu', key: 'growing', kv_cache: 'growing', latency_p50_ms: 8 }),
      cell({ target: 'cpu', key: 'static', kv_cache: 'static', comparable: 2, latency_p50_ms: 2 }),
      cell({ target: 'openvino', key: 'openvino', kv_cache: 'growing', latency_p50_ms: 4 }),
    ],
    shown,
  );
  for (const line of lines) assert.ok([...line.cells.values()].includes(line.best!));
  assert.deepEqual(
    lines.map((line) => [line.label, line.best!.key, line.settled]),
    [
      ['KV cache growing', 'openvino', true],
      ['KV cache static', 'static', false],
    ],
  );
});

test('of two cells of a target in one row the first that is ranked stands there', () => {
  const lines = matrixLines(
    [
      cell({ key: 'unsteady', ranked: 0, usable: 0, latency_p50_ms: 1 }),
      cell({ key: 'first', latency_p50_ms: 4 }),
      cell({ key: 'second', latency_p50_ms: 3 }),
    ],
    shown,
  );
  assert.deepEqual(table(lines), [['bert', '', ['first']]]);
  assert.equal(lines[0]!.best!.key, 'first');
});

test('a target that computes wrong numbers is in the row, but is not its best and not in the heading', () => {
  const lines = matrixLines(
    [cell({ target: 'openvino', usable: 0, latency_p50_ms: 1 }), cell({ target: 'cpu', latency_p50_ms: 4 })],
    shown,
  );
  assert.deepEqual([lines[0]!.best!.target, lines[0]!.ranked.length, lines[0]!.cells.size], ['cpu', 1, 2]);
  assert.equal(matrixHeading(lines, 1), 'At batch 1, 1 of 1 model has one ranked target only.');
});

test('what did not run has its symbol in the row of its shape, and makes no row of its own beside it', () => {
  const failed = {
    status: 'failed',
    verification: 'unverified',
    shown: 0,
    usable: 0,
    ranked: 0,
    latency_p50_ms: null,
    effective_precision: '',
  };
  const lines = matrixLines(
    [
      cell({ target: 'cpu' }),
      cell({ target: 'cuda', comparable: 7, ...failed }),
      cell({ target: 'webgpu', key: 'dynamic', shape: 'batch_1_dynamic', comparable: 8, ...failed }),
      cell({ model: 'gpt2', comparable: 3, target: 'cuda', ...failed }),
    ],
    shown,
  );
  assert.deepEqual(
    lines.map((line) => [line.model, [...line.cells.keys()].sort()]),
    [
      ['bert', ['cpu', 'cuda']],
      ['bert', ['webgpu']],
      ['gpt2', ['cuda']],
    ],
  );
  assert.equal(matrixHeading(lines.slice(1), 1), 'No time is ranked at batch 1');
});

test('groups are folded where there are many rows, until the link says which', () => {
  const folded = (fold: string | undefined, rows: number, filtered = false) => [
    ...foldedGroups(fold, ['audio', 'text, long', ''], rows, filtered),
  ];
  assert.deepEqual(folded(undefined, manyRows), []);
  assert.deepEqual(folded(undefined, manyRows + 1), ['audio', 'text, long', '']);
  assert.deepEqual(folded(undefined, manyRows + 1, true), []);
  assert.deepEqual(folded(foldText(new Set()), manyRows + 1), []);
  for (const some of [['audio'], ['text, long'], [''], ['audio', '']])
    assert.deepEqual(folded(foldText(new Set(some)), 2), some);
  assert.deepEqual([...foldedGroups(undefined, ['audio'], 1000, false)], []);
});

test('rows are found by every word of the search, by category and by model', () => {
  const one = (model: string, category: string, target = 'cpu') =>
    cell({ model, category, target, model_id: `zoo:${model}`, comparable: model.length });
  const lines = matrixLines(
    [one('bert', 'text_encoders'), one('wav2vec2', 'audio', 'openvino'), one('whisper-tiny', 'audio')],
    shown,
  );
  const models = (query: Record<string, string>) =>
    matching(lines, filterOf(query))
      .map((line) => line.model)
      .sort();
  assert.deepEqual(models({ q: 'AUDIO cpu' }), ['whisper-tiny']);
  assert.deepEqual(models({ q: 'text encoders' }), ['bert']);
  assert.deepEqual(models({ q: 'zoo:w' }), ['wav2vec2', 'whisper-tiny']);
  assert.deepEqual(models({ category: 'audio' }), ['wav2vec2', 'whisper-tiny']);
  assert.deepEqual(models({ category: 'audio', model: 'wav2vec2' }), ['wav2vec2']);
  assert.deepEqual(models({ q: 'nothing' }), []);
  assert.equal(models({}).length, 3);
  assert.deepEqual([filterOf({}), filterOf({ model: 'x' })].map(isFiltered), [false, true]);
});

test('the matrix is copied as it is seen, and for a spreadsheet with its medians', () => {
  const failed = { status: 'failed', verification: 'unverified', shown: 0, usable: 0, ranked: 0, latency_p50_ms: null };
  const [line] = matrixLines(
    [
      cell({ target: 'cpu', latency_p50_ms: 4 }),
      cell({ target: 'openvino', latency_p50_ms: 2 }),
      cell({ target: 'cuda', ...failed }),
      cell({ target: 'webgpu', usable: 0, ranked: 0, flags: 'noisy', latency_p50_ms: 3 }),
    ],
    shown,
  );
  assert.deepEqual(
    ['openvino', 'cpu', 'cuda', 'webgpu', 'tpu'].map((target) => placeWords(line!, target)),
    ['2.00\u00a0ms', '2.00×', 'failed', '(1.50×)', ''],
  );
  assert.deepEqual([winsOf([line!], 'openvino'), winsOf([line!], 'cpu')], [1, 0]);
  const targets = ['cpu', 'cuda'].map((key) => ({
    key,
    hardware: key,
    engine: 'onnxruntime',
    marker: 'circle' as const,
  }));
  const { seen, csv } = matrixColumns(targets);
  assert.equal(toMarkdown(seen, [line!]).split('\n')[2], '| text_encoders | bert |  | 2.00× | failed |');
  assert.equal(
    toCsv(csv, [line!]),
    'category,model,row,cpu,cuda,cpu median ms,cuda median ms\r\ntext_encoders,bert,,2.00×,failed,4,\r\n',
  );
});

test('only one batch, precision, length and machine at a time', () => {
  const cells = [
    cell({ key: 'it' }),
    cell({ batch_size: 4 }),
    cell({ precision: 'float16' }),
    cell({ sequence_length: 256 }),
    cell({ machine: 'other' }),
  ].map((one, i) =>
    cell({
      ...Object.fromEntries(
        ['key', 'batch_size', 'precision', 'sequence_length', 'machine'].map((name) => [
          name,
          name === 'key' ? one.key : one.value(name),
        ]),
      ),
      comparable: i,
    }),
  );
  assert.deepEqual(table(matrixLines(cells, shown)), [['bert', '', ['it']]]);
  assert.equal(
    matrixLines(cells, { ...shown, tokens: 256 })[0]!
      .cells.get('cpu')!
      .number('sequence_length'),
    256,
  );
  assert.equal(
    matrixLines(cells, { ...shown, machine: 'other' })[0]!
      .cells.get('cpu')!
      .text('machine'),
    'other',
  );
  assert.deepEqual(matrixLines(cells, { ...shown, batch: 2 }), []);
});

test('the heading counts rows that are shown, not shown, alone, and without a time', () => {
  const row = (model: string, comparable: number, ...times: [string, number | null][]) =>
    times.map(([target, ms]) =>
      cell({
        model,
        comparable,
        target,
        ...(ms === null
          ? { shown: 0, usable: 0, ranked: 0, latency_p50_ms: null, status: 'failed' }
          : { latency_p50_ms: ms }),
      }),
    );
  const lines = matrixLines(
    [
      ...row('a', 1, ['cpu', 4], ['openvino', 2]),
      ...row('b', 2, ['cpu', 4], ['openvino', 4.001]),
      ...row('c', 3, ['cpu', 4]),
      ...row('d', 4, ['cpu', null]),
    ],
    shown,
  );
  assert.equal(
    matrixHeading(lines, 1),
    'At batch 1 openvino is fastest for 1 of 4 models. For 1 no difference is shown. ' +
      '1 has one ranked target only. 1 has none.',
  );
  assert.equal(matrixHeading(lines.slice(1, 2), 1), 'At batch 1, for 1 of 1 model no difference is shown.');
  assert.equal(matrixHeading([], 8), 'No time is ranked at batch 8');
});

interface Said {
  ratio: number;
  difference: string;
  cell: string;
}
interface Answers {
  cells: { best: string; others: Said[] }[];
  opportunities: { cell: string; better: string; factor: number }[];
}
const read = (name: string) => readFileSync(`${process.env.ASSAY_PAGES}/${name}`);

test('the best of each cell and what it is ahead of are those of C++', () => {
  const mixed = readDocument(new Uint8Array(read('mixed.bin')));
  const answers: Answers = JSON.parse(read('mixed.json').toString());
  const values = (get: (one: (typeof mixed.cells)[number]) => string | number | null) => [
    ...new Set(mixed.cells.map(get)),
  ];
  const lines: Line[] = [];
  for (const batch of values((one) => one.number('batch_size')))
    for (const tokens of values((one) => one.number('sequence_length')))
      for (const precision of values((one) => one.text('precision')))
        for (const machine of values((one) => one.text('machine')))
          lines.push(
            ...matrixLines(mixed.cells, {
              batch: batch as number,
              tokens: tokens as number,
              precision: precision as string,
              machine: machine as string,
            }),
          );
  const ranked = lines.filter((line) => line.best);
  const id = (one: (typeof mixed.cells)[number]) => one.text('task_key');
  assert.deepEqual(ranked.map((line) => id(line.best!)).sort(), answers.cells.map(({ best }) => best).sort());
  let claimed = 0;
  for (const wanted of answers.cells) {
    const line = ranked.find((one) => id(one.best!) === wanted.best)!;
    assert.deepEqual([...line.found.keys()].map(id).sort(), wanted.others.map((one) => one.cell).sort());
    for (const [one, found] of line.found) {
      const said = wanted.others.find((other) => other.cell === id(one))!;
      assert.equal(found.difference, said.difference);
      assert.ok(Math.abs(found.ratio - said.ratio) < 1e-9 * said.ratio);
      if (found.difference === 'slower') claimed++;
    }
    assert.equal(line.settled, wanted.others.length > 0 && wanted.others.every((one) => one.difference === 'slower'));
  }
  assert.ok(claimed > 10);
  assert.ok(answers.opportunities.length > 3);
  for (const one of answers.opportunities) {
    const line = ranked.find((other) => [...other.found.keys()].some((each) => id(each) === one.cell))!;
    assert.equal(id(line.best!), one.better);
    assert.ok(
      [...line.found].some(
        ([each, found]) =>
          id(each) === one.cell &&
          found.difference === 'slower' &&
          Math.abs(found.ratio - one.factor) < 1e-9 * one.factor,
      ),
    );
  }
  // Every cell of the document is in a row, and what tells rows of a model apart is different.
  assert.equal(new Set(lines.flatMap((line) => [...line.cells.values()].map(id))).size, mixed.cells.length);
});

test('rows of a model have different labels', () => {
  const mixed = readDocument(new Uint8Array(read('mixed.bin')));
  for (const batch of [1, 4])
    for (const machine of ['laboratory 1a2b3c', 'laboratory 9f8e7d']) {
      const lines = matrixLines(mixed.cells, { batch, tokens: 128, precision: 'float32', machine });
      assert.ok(lines.length > 5);
      assert.equal(new Set(lines.map((line) => `${line.model}\n${line.label}`)).size, lines.length);
      for (const line of lines)
        if (lines.filter((other) => other.model === line.model).length > 1) assert.notEqual(line.label, '');
    }
});
