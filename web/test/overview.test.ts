// SPDX-License-Identifier: Apache-2.0
// What the overview says in its heading and of what did not run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { distinctKeys } from '../src/distinct_keys.ts';
import type { AssayDocument, Best, ModelLine, States } from '../src/document.ts';
import { leftOutWords, missingWords } from '../src/missing.ts';
import { headline, higherUnranked, modelCount, notVerified } from '../src/overview_words.ts';
import { cell } from './cells.ts';

const none: States = { verified: 0, unverified: 0, wrong: 0, failed: 0, unsupported: 0, unavailable: 0, skipped: 0 };
const targets = ['openvino', 'cpu'];
/** Of cells that the document leaves out. */
const best = (target: number, claimed: boolean, runner_up: number | null = 1): Best => ({
  cell: null,
  target: targets[target]!,
  p50_ms: 4,
  throughput_ips: 250,
  shape: 'batch 1',
  runner_up: null,
  runner_up_target: runner_up === null ? '' : targets[runner_up]!,
  claimed,
  ratio: 2,
  low: null,
  high: null,
  words: '',
  of: 2,
});
const line = (model: string, machine: string, latency: Best | null, states: Partial<States> = { verified: 2 }) =>
  ({ model, machine, latency, states: { ...none, ...states } }) as ModelLine;
const words = (models: ModelLine[]) => headline({ analysis: { models } as AssayDocument['analysis'] });

test('the heading counts models of one machine', () => {
  assert.equal(words([]), 'Nothing was measured yet.');
  assert.equal(
    words([
      line('bert', '', best(0, true)),
      line('t5', '', best(0, false)),
      line('vit', '', best(1, false, null)),
      line('gpt2', '', null),
      line('clip', '', null, { failed: 1 }),
    ]),
    'For the lowest latency use openvino for 1 of 5 models. For 1 no difference is shown. ' +
      '1 model has one ranked target only. 1 model is verified, but no time of it is ranked. ' +
      '1 model has no verified result.',
  );
});

test('a model on two machines is not two models', () => {
  const models = [
    line('bert', 'desk', best(0, true)),
    line('t5', 'desk', best(0, true)),
    line('bert', 'laptop', best(1, true, 0)),
    line('t5', 'laptop', best(0, false)),
  ];
  assert.equal(modelCount(models), 2);
  assert.equal(
    words(models),
    'On desk: For the lowest latency use openvino for 2 of 2 models. ' +
      'On laptop: For the lowest latency use cpu for 1 of 2 models. For 1 no difference is shown.',
  );
  const many = ['a', 'b', 'c', 'd'].map((machine) => line('bert', machine, best(0, true)));
  assert.equal(
    words(many),
    '1 model on 4 machines, which are 4 cases. For the lowest latency use openvino for 4 of 4 cases.',
  );
});

test('a throughput above the best is told only of a verified cell that is not ranked', () => {
  const at = (batch: number, throughput_ips: number, more = {}) => cell({ batch_size: batch, throughput_ips, ...more });
  const unranked = { ranked: 0, usable: 0, flags: 'noisy' };
  const of = { ...line('bert', '', null), throughput: best(0, true) }; // 250 items/s
  const higher = (...cells: ReturnType<typeof cell>[]) => higherUnranked(cells, of)?.number('throughput_ips');
  assert.equal(higher(at(1, 250), at(4, 260, unranked), at(8, 300, unranked), at(2, 240, unranked)), 300);
  for (const more of [
    {},
    { model: 'vit', ...unranked },
    { machine: 'laptop', ...unranked },
    { ...unranked, flags: 'software' },
    { ...unranked, shown: 0, status: 'wrong', verification: 'wrong' },
  ])
    assert.equal(higher(at(8, 300, more)), undefined);
  assert.equal(higherUnranked([at(8, 300, unranked)], { ...of, throughput: null }), undefined);
});

test('every cell was verified only if every cell was', () => {
  assert.equal(notVerified({ ...none, verified: 3 }), '');
  assert.equal(notVerified({ ...none, unverified: 6 }), '6 cells unverified');
  assert.equal(
    notVerified({ ...none, verified: 3, wrong: 1, unverified: 2, skipped: 1 }),
    '1 cell wrong, 2 cells unverified, 1 cell skipped',
  );
});

test('rows that lead to the same page have different keys', () => {
  assert.deepEqual(distinctKeys(['#/a', '#/b', '#/a', '#/a']), ['#/a', '#/b', '#/a 2', '#/a 3']);
});

test('what is missing names the command, also when it was left out for size', () => {
  const missingCharts = {
    generation: {
      title: 'How long?',
      missing: 'no generation was measured: `assay run --models-set small` measures it',
    },
  };
  assert.equal(
    missingWords({ missingCharts, chartsLeftOut: 0 }, 'generation'),
    'No generation was measured: `assay run --models-set small` measures it.',
  );
  assert.equal(missingWords({ missingCharts, chartsLeftOut: 0 }, 'history'), '');
  assert.equal(leftOutWords({ missingCharts, chartsLeftOut: 0 }), '');
  assert.match(leftOutWords({ missingCharts, chartsLeftOut: 3 }), /^3 charts are not in this file.*`assay serve`/);
});
