// SPDX-License-Identifier: Apache-2.0
// The rows of the matrix: the cells of a model that C++ would compare with each other (`comparable` in the document),
// one for each target. What did not run stands where it would have been.
import { differences } from './cell_words.ts';
import type { Cell } from './document.ts';
import { counted } from './format.ts';
import { byWord, distinct } from './order.ts';
import { type Comparison, compareTogether } from './stats.ts';
import { comparableTo, hasTime, isUsable, timedOf } from './timed.ts';

export interface Line {
  model: string;
  /** What tells it from the other rows of its model: "computed in bfloat16"; "" if it is the only one. */
  label: string;
  category: string;
  /** By target. */
  cells: Map<string, Cell>;
  /** By target: cells that are in another row of the model, since they are not comparable. */
  elsewhere: Map<string, Cell>;
  /** Those of `cells` that are compared, the least median first. */
  ranked: Cell[];
  best: Cell | null;
  /** Each of the others with the best: how many times as long it takes. */
  found: Map<Cell, Comparison>;
  /** Every other is shown to be slower. */
  settled: boolean;
}

export interface Shown {
  batch: number;
  /** null: the shortest of each model. */
  tokens: number | null;
  precision: string;
  machine: string;
}

const p50 = (cell: Cell) => cell.number('latency_p50_ms')!;

function chosenCells(cells: Cell[], shown: Shown): Cell[] {
  const chosen = cells.filter(
    (cell) =>
      cell.number('batch_size') === shown.batch &&
      cell.text('precision') === shown.precision &&
      cell.text('machine') === shown.machine,
  );
  const shortest = new Map<string, number>();
  for (const cell of chosen) {
    const length = cell.number('sequence_length');
    if (length !== null) shortest.set(cell.text('model'), Math.min(length, shortest.get(cell.text('model')) ?? length));
  }
  return chosen.filter((cell) => {
    const length = cell.number('sequence_length');
    return length === null || length === (shown.tokens ?? shortest.get(cell.text('model')));
  });
}

export function matrixLines(cells: Cell[], shown: Shown): Line[] {
  const chosen = chosenCells(cells, shown);
  const lines = new Map<string, Line>();
  const lineOf = (key: string, cell: Cell) => {
    let line = lines.get(key);
    if (!line) {
      line = {
        model: cell.text('model'),
        label: '',
        category: cell.text('category') || cell.text('family'),
        cells: new Map(),
        elsewhere: new Map(),
        ranked: [],
        best: null,
        found: new Map(),
        settled: false,
      };
      lines.set(key, line);
    }
    return line;
  };
  for (const cell of chosen.filter(hasTime)) {
    const line = lineOf(`comparable ${comparableTo(cell)}`, cell);
    const before = line.cells.get(cell.target);
    // As representatives() of src/history/analyse: the first that is ranked.
    if (!before || (isUsable(cell) && !isUsable(before)) || (cell.ranked && !before.ranked))
      line.cells.set(cell.target, cell);
  }
  const measured = [...lines.values()];
  for (const cell of chosen.filter((one) => !hasTime(one))) {
    const own = lines.get(`comparable ${comparableTo(cell)}`);
    // What did not run is not known well enough to be comparable: the shape says where it belongs.
    const near = own
      ? [own]
      : measured.filter(
          (line) =>
            line.model === cell.text('model') && [...line.cells.values()].some((other) => other.shape === cell.shape),
        );
    const free = near.filter((line) => !line.cells.has(cell.target));
    for (let i = 0; free.length === 0; i++) {
      const line = lineOf(`shape ${i} ${cell.text('model')}\n${cell.shape}`, cell);
      if (!line.cells.has(cell.target)) free.push(line);
    }
    for (const line of free) line.cells.set(cell.target, cell);
  }
  for (const line of lines.values()) rank(line);
  const byModel = new Map<string, Line[]>();
  for (const line of lines.values()) byModel.set(line.model, [...(byModel.get(line.model) ?? []), line]);
  for (const group of byModel.values()) tellApart(group);
  // Models in the order of `cells`, also where a model did not run and so has its row last.
  const places = new Map([...new Set(cells.map((cell) => cell.text('model')))].map((model, i) => [model, i]));
  const labels = byWord();
  return [...lines.values()].sort((a, b) => places.get(a.model)! - places.get(b.model)! || labels(a.label, b.label));
}

function rank(line: Line) {
  line.ranked = [...line.cells.values()].filter(isUsable).sort((a, b) => p50(a) - p50(b));
  line.best = line.ranked[0] ?? null;
  const others = line.ranked.slice(1);
  for (const cell of others)
    line.found.set(
      cell,
      compareTogether([{ baseline: timedOf(line.best!), candidate: timedOf(cell) }], line.ranked.length),
    );
  line.settled = others.length > 0 && others.every((cell) => line.found.get(cell)!.difference === 'slower');
}

function tellApart(lines: Line[]) {
  if (lines.length < 2) return;
  const first = (line: Line) => [...line.cells.values()].find(hasTime) ?? [...line.cells.values()][0]!;
  const words = differences(lines.map(first));
  const used = new Set<string>();
  for (const line of lines) {
    const full = words(first(line)) || (hasTime(first(line)) ? 'not comparable' : 'did not run');
    for (let i = 1; line.label === '' || used.has(line.label); i++) line.label = i === 1 ? full : `${full} (${i})`;
    used.add(line.label);
    for (const other of lines)
      for (const [target, cell] of other.cells)
        if (!line.cells.has(target) && hasTime(cell)) line.elsewhere.set(target, cell);
  }
}

/** "At batch 1 openvino is fastest for 5 of 12 models. For 4 no difference is shown." */
export function matrixHeading(lines: Line[], batch: number): string {
  const wins = new Map<string, number>();
  for (const line of lines) if (line.settled) wins.set(line.best!.target, (wins.get(line.best!.target) ?? 0) + 1);
  const shown = [...wins].sort((a, b) => b[1] - a[1]);
  const count = (is: (line: Line) => boolean) => lines.filter(is).length;
  const [unsettled, single, none] = [
    count((line) => line.ranked.length > 1 && !line.settled),
    count((line) => line.ranked.length === 1),
    count((line) => line.ranked.length === 0),
  ];
  if (none === lines.length) return `No time is ranked at batch ${batch}`;
  // A model with two rows is in two of them.
  const all = counted(
    lines.length,
    distinct(lines.map((line) => line.model)).length === lines.length ? 'model' : 'row',
  );
  const sentences: string[] = [];
  if (shown.length > 0) {
    const fastest = shown.map(([target, n], i) => `${target} is fastest for ${n}${i === 0 ? ` of ${all}` : ''}`);
    sentences.push(`At batch ${batch} ${fastest.join(', ')}.`);
  }
  if (unsettled > 0)
    sentences.push(
      shown.length > 0
        ? `For ${unsettled} no difference is shown.`
        : `At batch ${batch}, for ${unsettled} of ${all} no difference is shown.`,
    );
  const began = sentences.length > 0;
  if (single > 0)
    sentences.push(
      began
        ? `${single} ${single === 1 ? 'has' : 'have'} one ranked target only.`
        : `At batch ${batch}, ${single} of ${all} ${single === 1 ? 'has' : 'have'} one ranked target only.`,
    );
  if (none > 0) sentences.push(`${none} ${none === 1 ? 'has' : 'have'} none.`);
  return sentences.join(' ');
}
