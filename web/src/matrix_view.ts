// SPDX-License-Identifier: Apache-2.0
// Which rows of the matrix are seen, which groups are folded, and what is copied of it. What a person chose is in the
// link.
import type { Target, Value } from './document.ts';
import { plainWords, ratio, withUnit } from './format.ts';
import type { Line } from './matrix_lines.ts';
import type { Column } from './rows.ts';
import { isOfWrongTarget, isUsable } from './timed.ts';
import { stateOf } from './words.ts';

/** From so many rows on, groups are folded until a person unfolds them. */
export const manyRows = 40;

export interface Filter {
  search: string;
  category: string;
  model: string;
}

export const filterOf = (query: Record<string, string>): Filter => ({
  search: query.q ?? '',
  category: query.category ?? '',
  model: query.model ?? '',
});
export const isFiltered = ({ search, category, model }: Filter) => search !== '' || category !== '' || model !== '';

/**
 * Every word of the search is in the model, its id, its category, what tells the row from others, or the name of a
 * target that it has.
 */
function isFound(line: Line, search: string): boolean {
  const ids = [...line.cells.values()].map((cell) => `${cell.text('model_id')} ${cell.text('architecture')}`);
  const text = [line.model, line.label, line.category, plainWords(line.category), ...line.cells.keys(), ...ids]
    .join(' ')
    .toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export const matching = (lines: Line[], { search, category, model }: Filter) =>
  lines.filter(
    (line) =>
      (category === '' || line.category === category) &&
      (model === '' || line.model === model) &&
      isFound(line, search),
  );

const noGroup = 'none';
const nameOf = (category: string) => encodeURIComponent(category || 'other');

/** The categories whose rows are not seen; `fold` of the link names them. */
export function foldedGroups(
  fold: string | undefined,
  categories: string[],
  rows: number,
  filtered: boolean,
): Set<string> {
  if (categories.length < 2) return new Set();
  if (fold === undefined) return new Set(rows > manyRows && !filtered ? categories : []);
  const named = fold.split(',');
  return new Set(categories.filter((category) => named.includes(nameOf(category))));
}

/** What the link says of that. */
export const foldText = (folded: ReadonlySet<string>) => [...folded].map(nameOf).join(',') || noGroup;

/** For how many of the rows a target is shown to be the fastest. */
export const winsOf = (lines: Line[], target: string) =>
  lines.filter((line) => line.settled && line.best!.target === target).length;

/**
 * The place of a target in a row, as it is seen: "4.00 ms" of the best, "1.27×" of others, "(1.4×)" if it is not
 * ranked, "wrong"; "" if there is nothing.
 */
export function placeWords(line: Line, target: string): string {
  const cell = line.cells.get(target);
  if (!cell) return line.elsewhere.has(target) ? 'not comparable with this row' : '';
  const p50 = medianIn(line, target);
  if (p50 === null) return stateOf(cell);
  const best = line.best?.number('latency_p50_ms') ?? null;
  if (cell === line.best) return withUnit(p50, 'ms');
  const times = best === null ? withUnit(p50, 'ms') : ratio(p50 / best);
  if (isUsable(cell)) return times;
  return `${isOfWrongTarget(cell) ? 'computes wrong numbers for this model: ' : ''}(${times})`;
}

/** In ms, if it is verified. */
function medianIn(line: Line, target: string): number | null {
  const cell = line.cells.get(target);
  return cell?.shown && stateOf(cell) === 'verified' ? cell.number('latency_p50_ms') : null;
}

const rowColumns: Column<Line>[] = [
  { id: 'category', title: 'Category', value: (line) => line.category },
  { id: 'model', title: 'Model', value: (line) => line.model },
  { id: 'row', title: 'Row', value: (line) => line.label },
];

/** What is copied: as it is seen; for a spreadsheet the medians, too. */
export function matrixColumns(targets: readonly Target[]): { seen: Column<Line>[]; csv: Column<Line>[] } {
  const seen = [
    ...rowColumns,
    ...targets.map(({ key }): Column<Line> => ({ id: key, title: key, value: (line): Value => placeWords(line, key) })),
  ];
  return {
    seen,
    csv: [
      ...seen,
      ...targets.map(
        ({ key }): Column<Line> => ({
          id: `${key} median ms`,
          title: key,
          unit: 'ms',
          numeric: true,
          value: (line) => medianIn(line, key),
        }),
      ),
    ],
  };
}
