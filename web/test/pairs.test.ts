// SPDX-License-Identifier: Apache-2.0
// What the compare page sets against each other, and says of it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { distinctNames } from '../src/cell_words.ts';
import { forest, meanName } from '../src/forest.ts';
import {
  type Choice,
  choiceText,
  claimWords,
  heading,
  notRankedWords,
  type Pairing,
  pairUp,
  pairWords,
  parseChoice,
  sideName,
} from '../src/pairs.ts';
import { readDocument } from '../src/read_document.ts';
import { parseRoute } from '../src/state.ts';
import { type Comparison, noClaimWords } from '../src/stats.ts';
import { cell } from './cells.ts';

const cpu: Choice = { target: 'cpu' };
const openvino: Choice = { target: 'openvino' };
const says = (cells: ReturnType<typeof cell>[], a: Choice, b: Choice) => heading(a, b, pairUp(cells, a, b));

test('a difference that the rounds show is claimed, and in the other direction the same', () => {
  const cells = [cell({ target: 'cpu', latency_p50_ms: 4 }), cell({ target: 'openvino', latency_p50_ms: 2 })];
  assert.match(says(cells, cpu, openvino), /^openvino is 2\.00× as fast as cpu \(95 %: .* to .*\), over 1 cell$/);
  assert.match(says(cells, openvino, cpu), /^cpu is 0\.50× as fast as openvino/);
});

test('a batch that only one side names stays equal within a pair', () => {
  const at = (target: string, batch: number, ms: number) =>
    cell({ target, key: `${target} ${batch}`, batch_size: batch, comparable: batch, latency_p50_ms: ms });
  const cells = [at('openvino', 1, 2), at('openvino', 4, 7), at('cpu', 1, 4), at('cpu', 4, 14)];
  for (const [a, b] of [
    [{ ...cpu, batch_size: '4' }, openvino],
    [cpu, { ...openvino, batch_size: '4' }],
  ] as [Choice, Choice][]) {
    const { rows, alone } = pairUp(cells, a, b);
    assert.deepEqual(alone, []);
    assert.deepEqual(
      rows.map((row) => [row.a.key, row.b.key]),
      [['cpu 4', 'openvino 4']],
    );
    assert.match(says(cells, a, b), /^openvino is 2\.00× as fast as cpu \(.*\), batch 4, over 1 cell$/);
  }
});

test('what only one side names is no difference: nothing is claimed', () => {
  const cells = [cell({ target: 'cpu', latency_p50_ms: 4 }), cell({ target: 'openvino', latency_p50_ms: 2 })];
  for (const [a, b] of [
    [cpu, {}],
    [{}, cpu],
    [cpu, cpu],
    [{}, {}],
    [cpu, { batch_size: '1' }],
  ] as [Choice, Choice][]) {
    const found = pairUp(cells, a, b);
    assert.deepEqual([found.rows, found.together], [[], null]);
    assert.match(heading(a, b, found), /^Choose /);
  }
  assert.equal(says(cells, cpu, {}), 'Choose the target of B');
  assert.equal(says(cells, {}, cpu), 'Choose the target of A');
});

test('two batches are compared for each item, on the same target', () => {
  const at = (target: string, batch: number, ms: number) =>
    cell({ target, key: `${target} ${batch}`, batch_size: batch, comparable: batch, latency_p50_ms: ms });
  const cells = [at('cpu', 1, 4), at('cpu', 4, 8), at('openvino', 4, 1)];
  const found = pairUp(cells, { batch_size: '1' }, { batch_size: '4' });
  assert.deepEqual(
    found.rows.map((row) => [row.a.key, row.b.key]),
    [['cpu 1', 'cpu 4']],
  );
  assert.match(
    heading({ batch_size: '1' }, { batch_size: '4' }, found),
    /^batch 4 is 2\.00× as fast as batch 1 \(.*\), over 1 cell, for each item$/,
  );
});

test('where target and batch differ at once, nothing is called faster', () => {
  const cells = [
    cell({ target: 'cpu', latency_p50_ms: 4 }),
    cell({ target: 'openvino', batch_size: 4, comparable: 2, latency_p50_ms: 1 }),
  ];
  const [a, b]: Choice[] = [
    { ...cpu, batch_size: '1' },
    { ...openvino, batch_size: '4' },
  ] as const;
  const found = pairUp(cells, a!, b!);
  assert.equal(found.rows.length, 1);
  assert.deepEqual(
    [found.rows[0]!.found.difference, found.rows[0]!.found.low, found.together!.difference],
    ['not_compared', null, 'not_compared'],
  );
  assert.equal(
    heading(a!, b!, found),
    'openvino, batch 4 and cpu, batch 1: not compared: they differ in more than one thing, over 1 cell, for each item',
  );
});

test('different runs give a ratio and no claim', () => {
  const cells = [
    cell({ run_id: 'r1', latency_p50_ms: 4 }),
    cell({ run_id: 'r2', latency_p50_ms: 2 }),
    cell({ run_id: 'r2', target: 'openvino', latency_p50_ms: 1 }),
  ];
  const found = pairUp(cells, { run_id: 'r1' }, { run_id: 'r2' });
  assert.deepEqual(
    found.rows.map((row) => [row.a.target, row.b.target]),
    [['cpu', 'cpu']],
  );
  assert.equal(
    heading({ run_id: 'r1' }, { run_id: 'r2' }, found),
    'run r2 and run r1: not compared: measured in different runs, over 1 cell',
  );
});

test('the mean is over the cells with common rounds; the others are counted', () => {
  const one = (model: string, target: string, ms: number, launches?: string) =>
    cell({
      model,
      target,
      key: `${model} ${target}`,
      comparable: model.length,
      latency_p50_ms: ms,
      ...(launches === undefined ? {} : { launch_p50_ms: launches }),
    });
  const cells = [
    one('bert', 'cpu', 4),
    one('bert', 'openvino', 2),
    one('resnet', 'cpu', 4, ''),
    one('resnet', 'openvino', 40, ''),
  ];
  const found = pairUp(cells, cpu, openvino);
  assert.deepEqual([found.rows.length, found.leftOut], [2, 1]);
  assert.match(heading(cpu, openvino, found), /^openvino is 2\.00× as fast as cpu .*, over 1 cell$/);
});

test('a target that computes wrong numbers for the model is not compared, and it says why', () => {
  const cells = [
    cell({ target: 'cpu' }),
    cell({ target: 'openvino', usable: 0 }),
    cell({ target: 'webgpu', usable: 0, ranked: 0, shown: 0, status: 'wrong', verification: 'wrong' }),
  ];
  const found = pairUp(cells, cpu, openvino);
  assert.deepEqual(found.rows, []);
  assert.equal(heading(cpu, openvino, found), 'cpu and openvino have no ranked cell in common');
  assert.deepEqual(
    found.alone.map(({ side, why }) => [side, why]),
    [['both', 'A: ranked; B: left out: its runtime computes wrong numbers for this model']],
  );
  assert.deepEqual(
    pairUp(cells, cpu, { target: 'webgpu' }).alone.map(({ side, why }) => [side, why]),
    [['A', 'A: ranked; B: wrong numbers']],
  );
});

test('what the other side has in place of a cell is said: failed, unranked, or nothing', () => {
  const other = (given: Parameters<typeof cell>[0]) =>
    pairUp([cell({ target: 'cpu' }), cell({ target: 'openvino', usable: 0, ranked: 0, ...given })], cpu, openvino)
      .alone[0]!.why;
  // What failed may not be known well enough to be comparable.
  assert.equal(
    other({ status: 'failed', verification: 'unverified', shown: 0, latency_p50_ms: null, comparable: 9, alike: 9 }),
    'A: ranked; B: failed',
  );
  assert.equal(other({ comparable: 9, alike: 9 }), 'A: ranked; B: nothing');
});

test('a pair that is not ranked is shown once, says why, and is in no mean', () => {
  const noisy = { usable: 0, ranked: 0, flags: 'noisy' };
  const one = (target: string, model: string, more = {}) =>
    cell({
      target,
      model,
      comparable: model.length,
      alike: model.length,
      latency_p50_ms: target === 'cpu' ? 4 : 2,
      ...more,
    });
  const cells = [
    one('cpu', 'bert', noisy),
    one('openvino', 'bert'),
    one('cpu', 'gpt-2'),
    one('openvino', 'gpt-2'),
    one('openvino', 'vit'),
  ];
  const found = pairUp(cells, cpu, openvino);
  assert.deepEqual([found.rows.length, found.leftOut], [1, 0]);
  assert.deepEqual(
    found.unranked.map((row) => [
      row.a.text('model'),
      row.found.ratio,
      row.found.low,
      noClaimWords(row.found),
      notRankedWords(row, 'cpu', 'openvino'),
    ]),
    [['bert', 0.5, null, 'not ranked', 'not ranked: cpu: too noisy: the interval of the median is too wide']],
  );
  assert.equal(notRankedWords(found.rows[0]!, 'cpu', 'openvino'), '');
  assert.equal(
    notRankedWords({ a: one('cpu', 'bert', noisy), b: one('openvino', 'bert', noisy) }, 'cpu', 'openvino'),
    'not ranked: both: too noisy: the interval of the median is too wide',
  );
  assert.deepEqual(
    found.alone.map(({ side, cell: alone, why }) => [side, alone.text('model'), why]),
    [['B', 'vit', 'A: nothing; B: ranked']],
  );
  assert.match(heading(cpu, openvino, found), /^openvino is 2\.00× as fast as cpu .*, over 1 cell$/);
  // Neither what is simulated, nor a target that computes wrong numbers for the model.
  assert.deepEqual(
    pairUp([one('cpu', 'bert'), one('openvino', 'bert', { ...noisy, flags: 'noisy,software' })], cpu, openvino)
      .unranked,
    [],
  );
  const wrong = one('openvino', 'bert', {
    batch_size: 4,
    comparable: 9,
    alike: 9,
    usable: 0,
    ranked: 0,
    shown: 0,
    status: 'wrong',
    verification: 'wrong',
  });
  assert.deepEqual(pairUp([one('cpu', 'bert'), one('openvino', 'bert', noisy), wrong], cpu, openvino).unranked, []);
});

test('the forest draws what is not ranked dashed, in a series of its own, with the reason', () => {
  const ranked: Comparison = {
    ratio: 0.5,
    low: 0.4,
    high: 0.6,
    difference: 'faster',
    evidence: 'rounds',
    rounds: 7,
    smallestDetectable: 0.03,
  };
  const row = (words: string, notRanked: string) => ({
    words,
    found: notRanked
      ? { ...ranked, low: null, high: null, difference: 'not_compared' as const, evidence: 'not_ranked' as const }
      : ranked,
    notRanked,
    ofMedians: null,
    hardwareA: 'cpu',
    hardwareB: 'openvino',
  });
  const chart = forest(
    [row('one', ''), row('two', ''), row('three', 'not ranked: B: too noisy')],
    ranked,
    { nameA: 'A', nameB: 'B', common: '', perItem: false },
    { cpu: '', openvino: '' },
  );
  const rows: unknown[][] = chart.option.dataset.source.slice(2);
  assert.deepEqual(
    rows.map((one) => [one[1], one[2], one[8], one[9]]),
    [
      [meanName, 'B is faster', 0, ''],
      ['one', 'B is faster', 0, ''],
      ['two', 'B is faster', 0, ''],
      ['three', 'not ranked', 16, 'not ranked: B: too noisy'],
    ],
  );
  assert.deepEqual(
    chart.option.legend.data.map((entry: { name: string }) => entry.name),
    ['B is faster', 'not ranked'],
  );
  assert.match(chart.notes.join(), /^Dashed outline: not ranked/);
});

test('a screen reader hears the range of what is ranked, and how much is not', () => {
  const found = (ratio: number): Comparison => ({
    ratio,
    low: ratio,
    high: ratio,
    difference: 'faster',
    evidence: 'rounds',
    rounds: 7,
    smallestDetectable: 0.03,
  });
  const row = (ratio: number, notRanked = '') => ({
    words: `${ratio}`,
    found: found(ratio),
    notRanked,
    ofMedians: null,
    hardwareA: 'cpu',
    hardwareB: 'openvino',
  });
  const summary = (...rows: ReturnType<typeof row>[]) =>
    forest(rows, null, { nameA: 'A', nameB: 'B', common: '', perItem: false }, { cpu: '', openvino: '' }).summary;
  const noisy = 'not ranked: B: too noisy';
  assert.equal(
    summary(row(2), row(0.5), row(0.3, noisy), row(0.4, noisy)),
    '2 cells, from 0.50× to 2.00×; 2 cells not ranked',
  );
  assert.equal(summary(row(0.5)), '1 cell, 0.50×');
  assert.equal(summary(row(0.3, noisy)), '1 cell not ranked');
});

test('the forest has a row for each pair, and of its own name', () => {
  const one = (target: string, run: string, ms: number, more = {}) =>
    cell({
      target,
      run_id: run,
      key: `${target} ${run}`,
      latency_p50_ms: ms,
      hardware: target,
      latency_p50_interval: 'launches',
      ...more,
    });
  const cells = [
    one('cpu', 'r1', 4),
    one('cpu', 'r2', 3),
    one('openvino', 'r1', 2),
    one('openvino', 'r2', 1, { latency_p50_interval: 'one_process' }),
    one('cpu', 'r1', 4, { threads: 2, comparable: 2, alike: 2 }),
    one('cpu', 'r2', 3, { threads: 2, comparable: 2, alike: 2 }),
  ];
  const [a, b]: Choice[] = [{ run_id: 'r1' }, { run_id: 'r2' }];
  const found = pairUp(cells, a!, b!);
  assert.equal(found.rows.length, 3);
  const of = new Map(found.rows.map((row) => [row.a, row]));
  const names = distinctNames(
    found.rows.map((row) => row.a),
    (each) => pairWords(of.get(each)!, found.contrast, found.rows),
  );
  assert.deepEqual([...names].sort(), [
    'bert, on cpu, batch 1, 128 tokens, 2 threads',
    'bert, on cpu, batch 1, 128 tokens, threads of the runtime',
    'bert, on openvino, batch 1, 128 tokens',
  ]);
  const words = {
    nameA: sideName(a!, found.contrast),
    nameB: sideName(b!, found.contrast),
    common: '',
    perItem: false,
  };
  const chart = forest(
    found.rows.map((row, i) => ({
      words: names[i]!,
      found: row.found,
      ofMedians: row.ofMedians,
      notRanked: '',
      hardwareA: row.a.text('hardware'),
      hardwareB: row.b.text('hardware'),
    })),
    found.together,
    words,
    { cpu: '#1849AB', openvino: '#B88210' },
  );
  const rows: unknown[][] = chart.option.dataset.source.slice(2);
  assert.deepEqual(
    rows.map((row) => row[1]),
    [meanName, ...names],
  );
  // Different runs: not compared, hollow, and not "no difference shown"; whiskers where both medians have an interval
  // over launches.
  assert.deepEqual([...new Set(rows.map((row) => row[2]))], ['not compared']);
  assert.ok(rows.every((row) => row[8] === 1 && row[9] === 'not compared: measured in different runs'));
  const whiskers = new Map(rows.map((row) => [row[1], [row[5], row[6]]]));
  assert.deepEqual(
    [meanName, 'bert, on openvino, batch 1, 128 tokens'].map((name) => whiskers.get(name)),
    [
      [null, null],
      [null, null],
    ],
  );
  const [low, high] = whiskers.get('bert, on cpu, batch 1, 128 tokens, 2 threads') as [number, number];
  assert.ok(
    Math.abs(low / ((3 * 0.99) / (4 * 1.01)) - 1) < 1e-9 && Math.abs(high / ((3 * 1.01) / (4 * 0.99)) - 1) < 1e-9,
  );
  assert.match(chart.subtitle, /whiskers: 95 % interval of one median over that of the other/);
  assert.match(
    chart.notes.join(' '),
    /^Hollow: nothing is claimed\. What else differed between the two measurements is not in the interval\./,
  );
  assert.deepEqual(
    chart.option.title.map((title: { text: string }) => title.text),
    [chart.title, chart.subtitle, ...chart.notes],
  );
  assert.match(chart.title, /run r2.*run r1/);
});

test('a series of the forest has the colour of its hardware, if it is one', () => {
  const found = (difference: Comparison['difference']): Comparison => ({
    ratio: 0.5,
    low: 0.4,
    high: 0.6,
    difference,
    evidence: 'rounds',
    rounds: 7,
    smallestDetectable: 0.03,
  });
  const words = { nameA: 'A', nameB: 'B', common: '', perItem: false };
  const colours = (pairs: [string, string, Comparison['difference']][]) =>
    Object.fromEntries(
      forest(
        pairs.map(([hardwareA, hardwareB, difference], i) => ({
          words: `pair ${i}`,
          found: found(difference),
          ofMedians: null,
          notRanked: '',
          hardwareA,
          hardwareB,
        })),
        null,
        words,
        { cpu: '', openvino: '' },
      ).option.legend.data.map((entry: { name: string; lineStyle: { color: { $colour: string } } }) => [
        entry.name,
        entry.lineStyle.color.$colour,
      ]),
    );
  assert.deepEqual(
    colours([
      ['cpu', 'openvino', 'faster'],
      ['cpu', 'openvino', 'slower'],
    ]),
    { 'B is faster': 'openvino', 'A is faster': 'cpu' },
  );
  assert.deepEqual(
    colours([
      ['cpu', 'openvino', 'faster'],
      ['cpu', 'cpu', 'faster'],
      ['npu', 'npu', 'slower'],
    ]),
    { 'B is faster': 'ink', 'A is faster': 'ink' },
  );
  assert.deepEqual(
    Object.keys(
      colours([
        ['cpu', 'cpu', 'not_shown'],
        ['cpu', 'cpu', 'not_compared'],
      ]),
    ),
    ['no difference shown', 'not compared'],
  );
});

test('damaged links are read as far as they go', () => {
  assert.deepEqual(parseChoice('target:100%25'), { target: '100%' });
  assert.deepEqual(parseChoice('target:100%'), { target: '100%' });
  assert.deepEqual(parseChoice('target:%E0%A4%A,batch_size:4'), { target: '%E0%A4%A', batch_size: '4' });
  for (const text of ['', 'any', ':', 'target', 'target:', '__proto__:x', 'toString:x', 'nothing:x', ',,,', '%'])
    assert.deepEqual(parseChoice(text), {}, text);
  assert.deepEqual(parseChoice(parseRoute('#/compare?a=target:100%25').query.a!), { target: '100%' });
  for (const value of ['a,b:c', '50%', '<b>"\'', '\u202eשלום', 'a&b=c+d'])
    assert.deepEqual(parseChoice(choiceText({ target: value, machine: value })), { target: value, machine: value });
});

interface Said {
  ratio: number;
  low: number | null;
  high: number | null;
  difference: string;
  words: string;
}
interface PairSaid extends Said {
  a: string;
  b: string;
}
interface Answers {
  pairs: { a: string; b: string; pairs: PairSaid[] }[];
  batches: PairSaid[];
  precisions: PairSaid[];
  speedups: (Said & { target: string; cells: number; left_out: number })[];
  comparable: [string, string][];
  usable: string[];
}
const read = (name: string) => readFileSync(`${process.env.ASSAY_PAGES}/${name}`);
const mixed = readDocument(new Uint8Array(read('mixed.bin')));
const answers: Answers = JSON.parse(read('mixed.json').toString());
const idOf = (one: (typeof mixed.cells)[number]) => one.text('task_key');

function same(found: Comparison, wanted: Said, what: string) {
  const near = (x: number | null, y: number | null) =>
    x === null || y === null
      ? assert.equal(x, y, what)
      : assert.ok(Math.abs(x - y) <= 1e-9 * Math.abs(y), `${what}: ${x} is not ${y}`);
  near(found.ratio, wanted.ratio);
  near(found.low, wanted.low);
  near(found.high, wanted.high);
  assert.equal(found.difference, wanted.difference, what);
  assert.equal(noClaimWords(found), wanted.words, what);
}

function samePairs(found: Pairing, wanted: PairSaid[], what: string) {
  const key = ([a, b]: string[]) => `${a} ${b}`;
  assert.deepEqual(
    found.rows.map((row) => key([idOf(row.a), idOf(row.b)])).sort(),
    wanted.map(({ a, b }) => key([a, b])).sort(),
    what,
  );
  for (const row of found.rows)
    same(
      row.found,
      wanted.find(({ a, b }) => a === idOf(row.a) && b === idOf(row.b))!,
      `${what}: ${idOf(row.a)} with ${idOf(row.b)}`,
    );
}

test('the cells that the page takes for comparable and usable are those of C++', () => {
  const wanted = new Set(answers.comparable.map(([a, b]) => `${a} ${b}`));
  assert.ok(wanted.size > 50 && mixed.cells.length > 200);
  const inFile = [...mixed.cells].sort((a, b) => a.index - b.index);
  for (const [i, a] of inFile.entries())
    for (const b of inFile.slice(i + 1))
      assert.equal(
        a.number('comparable') === b.number('comparable'),
        wanted.has(`${idOf(a)} ${idOf(b)}`),
        `${idOf(a)}, ${idOf(b)}`,
      );
  assert.deepEqual(inFile.filter((one) => one.number('usable') === 1).map(idOf), answers.usable);
  assert.ok(mixed.cells.some((one) => one.ranked && one.number('usable') === 0));
});

test('two targets: the pairs, what is said of them, and the mean are those of C++', () => {
  const seen: Record<string, number> = {};
  for (const { a, b, pairs } of answers.pairs) {
    const found = pairUp(mixed.cells, { target: a }, { target: b });
    samePairs(found, pairs, `${a} and ${b}`);
    for (const row of found.rows) seen[row.found.difference] = (seen[row.found.difference] ?? 0) + 1;
    // Nobody is in a pair and alone.
    for (const { cell: one } of found.alone) assert.ok(!found.rows.some((row) => row.a === one || row.b === one));
  }
  for (const difference of ['faster', 'slower', 'not_shown', 'not_compared'])
    assert.ok(seen[difference]! > 3, `${difference}: ${seen[difference]}`);
  assert.ok(answers.speedups.length > 0);
  for (const wanted of answers.speedups) {
    const found = pairUp(mixed.cells, { target: wanted.target }, { target: 'cpu' });
    same(found.together!, wanted, `${wanted.target} and cpu`);
    assert.equal(found.rows.length - found.leftOut, wanted.cells);
    assert.equal(found.leftOut, wanted.left_out);
  }
});

test('two batches and two precisions: the pairs and what is said of them are those of C++', () => {
  assert.ok(answers.batches.length > 20 && answers.precisions.length > 20);
  samePairs(pairUp(mixed.cells, { batch_size: '1' }, { batch_size: '4' }), answers.batches, 'batches');
  samePairs(pairUp(mixed.cells, { precision: 'float32' }, { precision: 'float16' }), answers.precisions, 'precisions');
});

test('two machines of one host name are two, and their times are never called different', () => {
  const machines = [...new Set(mixed.cells.map((one) => one.text('machine')))];
  assert.deepEqual(machines.sort(), ['laboratory 1a2b3c', 'laboratory 9f8e7d']);
  const found = pairUp(mixed.cells, { machine: machines[0]! }, { machine: machines[1]! });
  assert.ok(found.rows.some((row) => row.a.text('run_id') === row.b.text('run_id')));
  for (const row of found.rows) {
    assert.deepEqual(
      [row.found.difference, row.found.low, noClaimWords(row.found)],
      ['not_compared', null, 'not compared: measured on different machines'],
    );
    assert.notEqual(row.a.text('hardware_id'), row.b.text('hardware_id'));
    assert.equal(row.a.target, row.b.target);
  }
  assert.match(
    heading({ machine: machines[0]! }, { machine: machines[1]! }, found),
    /: not compared: measured on different machines, over \d+ cells?$/,
  );
  const targets = pairUp(mixed.cells, cpu, openvino);
  assert.ok(targets.rows.every((row) => row.a.text('hardware_id') === row.b.text('hardware_id')));
  assert.ok(targets.rows.some((row) => row.a.text('hardware_id') === '9f8e7d6c'));
  const names = targets.rows.map((row) => pairWords(row, targets.contrast, targets.rows));
  assert.ok(names.some((name) => name.endsWith('laboratory 9f8e7d')));
});

test('every row of the mixed data has a name of its own, and hostile names stay as they are', () => {
  const found = pairUp(mixed.cells, cpu, openvino);
  const of = new Map(found.rows.map((row) => [row.a, row]));
  const names = distinctNames(
    found.rows.map((row) => row.a),
    (each) => pairWords(of.get(each)!, found.contrast, found.rows),
  );
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.some((name) => name.startsWith('<b onload="x()">&amp;\'quoted\'</b></script><!--')));
  assert.ok(names.some((name) => name.startsWith('\u202eltr\u202c שלום')));
  for (const row of found.rows) assert.ok(claimWords(row.found, 'cpu', 'openvino').length > 0);
});
