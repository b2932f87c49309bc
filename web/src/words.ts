// SPDX-License-Identifier: Apache-2.0
// States of a cell: symbol, word, and what it means in one sentence.
import type { Cell } from './document.ts';
import { count, number, plainWords } from './format.ts';

export type State = 'verified' | 'unverified' | 'wrong' | 'failed' | 'unsupported' | 'unavailable' | 'skipped';

export const states: Record<State, { symbol: string; meaning: string }> = {
  verified: { symbol: '✓', meaning: 'It ran, and its outputs agree with those of the reference.' },
  unverified: { symbol: '?', meaning: 'It ran, but its outputs could not be judged; it is shown and never ranked.' },
  wrong: { symbol: '≠', meaning: 'It ran, but its outputs differ from those of the reference by more than the limit.' },
  failed: { symbol: '✕', meaning: 'It could not be run to its end.' },
  unsupported: { symbol: '–', meaning: 'The runtime cannot run this model, shape or precision.' },
  unavailable: { symbol: '∅', meaning: 'The hardware or the runtime is not on this machine.' },
  skipped: { symbol: '\u2026', meaning: 'assay did not run it: too large, no time, or not built.' },
};
export const stateOrder = Object.keys(states) as State[];

export function stateFrom(status: string, verification: string): State {
  if (verification === 'wrong') return 'wrong';
  if (status === 'completed') return verification === 'verified' ? 'verified' : 'unverified';
  return status in states ? (status as State) : 'failed';
}
export const stateOf = (cell: Cell): State => stateFrom(cell.text('status'), cell.text('verification'));

export const isUnreal = (cell: Cell) => /(^|,)(simulated|software)(,|$)/.test(cell.text('flags'));

/** Why a completed cell is not ranked; "" of a ranked one, and of one whose state says it. */
export function unrankedBecause(cell: Cell): string {
  if (cell.ranked || stateOf(cell) !== 'verified') return '';
  const flags = cell.text('flags').split(',');
  if (flags.includes('simulated')) return 'simulated: its time is not that of the device';
  if (flags.includes('software')) return 'emulated in software: its time is not that of the device';
  if (flags.includes('partial')) return 'interrupted: fewer samples than planned';
  if (flags.includes('unsteady')) return 'its times never became steady';
  if (flags.includes('noisy')) return 'too noisy: the interval of the median is too wide';
  return 'too few samples, or too wide an interval of the median';
}

/** The most frequent reason why verified cells are not ranked. */
export function whyUnranked(cells: Cell[]): string {
  const counts = new Map<string, number>();
  for (const cell of cells) {
    const why = unrankedBecause(cell);
    if (why) counts.set(why, (counts.get(why) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? '';
}

export const evidenceWords: Record<string, string> = {
  launches: 'over launches: each is a fresh process',
  one_process: 'within one process: what another process would give is not known',
};

/** Whether a percentile had enough samples, of "few_samples(n=200<368)". */
export function qualityWords(quality: string): string {
  const few = /^few_samples\(n=(\d+)<(\d+)(?:=(\d+)x([\d.e+]+))?/.exec(quality);
  if (few) {
    const independent = few[3]
      ? ` (${few[3]} independent ones; here about ${number(Number(few[4]))} samples count as one)`
      : '';
    return `too few: ${count(Number(few[1]))} of ${count(Number(few[2]))}${independent}`;
  }
  return quality === 'ok' ? 'enough' : plainWords(quality);
}

export const stopWords: Record<string, string> = {
  iterations: 'the requested number of runs',
  precision_reached: 'the interval was narrow enough',
  max_samples: 'the limit of samples',
  max_time: 'the limit of time',
};

export const courseWords: Record<string, string> = {
  flat: 'steady from the start',
  warmup: 'slower at first, then steady',
  slowdown: 'slower towards the end',
  unsteady: 'never steady',
};

export const nothingChanged =
  'No verdict changed, nothing is new or gone, and no time and no memory moved beyond the spread of earlier runs.';

export const notReadable =
  'This browser cannot open the page: it needs DecompressionStream (Chromium 80, Firefox 113, Safari 16.4, or newer).';
