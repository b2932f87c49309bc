// SPDX-License-Identifier: Apache-2.0
// What may be shown as a result. A cell whose numbers are wrong has times, too, but they are those of another
// computation: they stand in its record only.
import type { Cell, Field, HistoryPoint } from './document.ts';

/**
 * A number of the cell that was measured, or null if it is no result: shows_values() of src/show/chart, by the
 * document's column.
 */
export const resultOf = (cell: Cell, name: string): number | null => (cell.shown ? cell.number(name) : null);

const measuredUnits = new Set(['ms', 's', 'ns', 'items/s', 'tokens/s', 'MB', 'J']);
const wasMeasured = (field: Field) =>
  (measuredUnits.has(field.unit) && field.name !== 'model_size_mb') || field.name === 'launch_p50_ms';

/** The field of a cell as a table of results shows it. */
export const shownValue = (cell: Cell, field: Field) =>
  !cell.shown && wasMeasured(field) ? null : cell.value(field.name);

/** The median of one result of a series, or null if it is none. */
export const medianOf = (point: HistoryPoint): number | null => (point.shown ? point.p50 : null);

/** Where a series stands: its newest result, whatever its verdict, and the ones before it that have a time. */
export interface Standing {
  newest: HistoryPoint | undefined;
  now: number | null;
  before: HistoryPoint | undefined;
  first: HistoryPoint | undefined;
}

export function standingOf(points: HistoryPoint[]): Standing {
  const newest = points.at(-1);
  const earlier = points.slice(0, -1).filter((point) => medianOf(point) !== null);
  return { newest, now: newest ? medianOf(newest) : null, before: earlier.at(-1), first: earlier[0] };
}
