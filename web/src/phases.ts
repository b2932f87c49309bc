// SPDX-License-Identifier: Apache-2.0
// Where the time of a launch goes.
import type { Cell } from './document.ts';

/**
 * Phases of one launch in their order, in seconds; null: not known. Of a cell with several launches the record has medians of load,
 * compile and first run, but sums of warm-up and window, which become means here.
 */
export function phasesOf(cell: Pick<Cell, 'number'>): [string, number | null][] {
  const launches = Math.max(1, cell.number('launches') ?? 1);
  const seconds = (name: string, unit: number) => { const value = cell.number(name); return value === null ? null : value * unit; };
  return [
    ['open the runtime', seconds('runtime_load_ms', 1e-3)], ['load the model', seconds('model_load_time', 1)], ['compile', seconds('compilation_time_ms', 1e-3)],
    ['first run', seconds('first_inference_ms', 1e-3)], ['warm-up', seconds('warmup_time_ms', 1e-3 / launches)], ['steady window', seconds('window_ns', 1e-9 / launches)],
  ];
}
