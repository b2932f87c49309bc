// SPDX-License-Identifier: Apache-2.0
import type { Cell } from './document.ts';
import type { Timed } from './stats.ts';

/** What a comparison needs of a cell. `perItem`: of the time of one item, as per_item() of src/history/analyse. */
export const timedOf = (cell: Cell, perItem = false): Timed => ({
  run: cell.text('run_id'),
  launches: cell.text('launch_p50_ms'),
  launchNumber: cell.number('launch_number'),
  p50: cell.number('latency_p50_ms'),
  items: perItem ? (cell.number('batch_size') ?? 1) * (cell.number('streams') ?? 1) : 1,
});

/** It has a median that may be shown. */
export const hasTime = (cell: Cell) => cell.shown && (cell.number('latency_p50_ms') ?? 0) > 0;
/** Ranked, with a median, and of a target that computes wrong numbers for the model at no shape: what C++ compares. */
export const isUsable = (cell: Cell) => cell.number('usable') === 1;
/** It would be ranked, but its target computes wrong numbers for the model at another shape. */
export const isOfWrongTarget = (cell: Cell) =>
  cell.ranked && !isUsable(cell) && (cell.number('latency_p50_ms') ?? 0) > 0;
/** Equal for the cells that C++ would compare (comparable() of src/history/analyse). */
export const comparableTo = (cell: Cell) => cell.number('comparable') ?? -1;
