// SPDX-License-Identifier: Apache-2.0
// Where the time of a launch goes; the rows are those of src/show/chart/chart_phases.cpp.
import { formatNumber } from '../chart/words.js';
import type { ChartRow } from './chart_rows.ts';
import type { Cell } from './document.ts';

/**
 * Phases of one launch in their order, in seconds; null: not known. Of a cell with several launches the record has
 * medians of load, compile and first run, but sums of warm-up and window, which become means here.
 */
export function phasesOf(cell: Pick<Cell, 'number'>): [string, number | null][] {
  const launches = Math.max(1, cell.number('launches') ?? 1);
  const seconds = (name: string, unit: number) => {
    const value = cell.number(name);
    return value === null ? null : value * unit;
  };
  return [
    ['load the runtime', seconds('runtime_load_ms', 1e-3)],
    ['load the model', seconds('model_load_time', 1)],
    ['compile', seconds('compilation_time_ms', 1e-3)],
    ['first run', seconds('first_inference_ms', 1e-3)],
    ['warm-up', seconds('warmup_time_ms', 1e-3 / launches)],
    ['steady', seconds('window_ns', 1e-9 / launches)],
  ];
}

/** `of`: what the bar is of. The first panel has the phases until the first result, the second one all. */
export function phaseRows(cell: Pick<Cell, 'number'>, of: string): ChartRow[] {
  const all = phasesOf(cell);
  const panels: [[string, number | null][], number, string][] = [
    [all.slice(0, 4), 1000, 'ms'],
    [all, 1, 's'],
  ];
  return panels.flatMap(([phases, factor, unit], panel) => {
    const rows: ChartRow[] = [];
    let at = 0;
    for (const [name, seconds] of phases) {
      if (seconds === null || seconds <= 0) continue;
      rows.push([panel, of, name, at, seconds * factor, null, null, 0, 0, '']);
      at += seconds * factor;
    }
    return [
      ...rows,
      [panel, of, 'sum', at, null, null, at, 0, 0, `${formatNumber(at)}\u2009${unit}`] satisfies ChartRow,
    ];
  });
}
