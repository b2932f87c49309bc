// SPDX-License-Identifier: Apache-2.0
// The one order of the page, which no page and no table repeats: models by category and name, targets as C++ lists them
// (by hardware, its default engine first), then lengths, batches and precisions, the least first. What C++ ranks keeps
// its rank.
import type { Analysis, Cell, Target } from './document.ts';

type Compare<T> = (a: T, b: T) => number;

const byName: Compare<string> = new Intl.Collator('en', { numeric: true }).compare;

/** `listed` in their order, then the others by name. */
export function byWord(listed: readonly string[] = []): Compare<string> {
  const places = new Map(listed.map((word, i) => [word, i]));
  const place = (word: string) => places.get(word) ?? listed.length;
  return (a, b) => place(a) - place(b) || byName(a, b);
}

/** The distinct values: numbers by size, words as byWord(). */
export function distinct<T extends string | number>(values: Iterable<T>, listed: readonly string[] = []): T[] {
  const words = byWord(listed);
  return [...new Set(values)].sort((a, b) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : words(String(a), String(b)),
  );
}

/** By the first of them that tells two values apart. */
const byEach =
  <T>(...all: Compare<T>[]): Compare<T> =>
  (a, b) =>
    all.reduce((found, one) => found || one(a, b), 0);

interface InModel {
  category: string;
  family?: string;
  model: string;
  machine: string;
}
const byModel = byEach<InModel>(
  (a, b) => byName(a.category || (a.family ?? ''), b.category || (b.family ?? '')),
  (a, b) => byName(a.model, b.model),
  (a, b) => byName(a.machine, b.machine),
);

export const keysOf = (targets: readonly Target[]) => targets.map(({ key }) => key);

export function byCell(targets: readonly Target[]): Compare<Cell> {
  const target = byWord(keysOf(targets));
  const inModel = (cell: Cell): InModel => ({
    category: cell.text('category'),
    family: cell.text('family'),
    model: cell.text('model'),
    machine: cell.text('machine'),
  });
  const size =
    (name: string): Compare<Cell> =>
    (a, b) =>
      (a.number(name) ?? 0) - (b.number(name) ?? 0);
  return byEach<Cell>(
    (a, b) => byModel(inModel(a), inModel(b)),
    (a, b) => target(a.target, b.target),
    size('sequence_length'),
    size('output_tokens'),
    size('batch_size'),
    (a, b) => byName(a.text('precision'), b.text('precision')),
  );
}

/** The answers that are lists of models, architectures and targets. */
export function inOrder(analysis: Analysis, targets: readonly Target[]): Analysis {
  const target = byWord(keysOf(targets));
  return {
    ...analysis,
    models: [...analysis.models].sort(byModel),
    choices: [...analysis.choices].sort((a, b) =>
      byModel({ ...a, model: a.architecture }, { ...b, model: b.architecture }),
    ),
    efficiency: [...analysis.efficiency].sort(
      byEach(
        (a, b) => target(a.target, b.target),
        (a, b) => byName(a.machine, b.machine),
        (a, b) => byName(a.category, b.category),
      ),
    ),
  };
}
