// SPDX-License-Identifier: Apache-2.0
import type { Cell } from './document.ts';
import type { Timed } from './stats.ts';

/** What a comparison needs of a cell. */
export const timedOf = (cell: Cell): Timed => ({
  run: cell.text('run_id'),
  launches: cell.text('launch_p50_ms'),
  launchNumber: cell.number('launch_number'),
  p50: cell.number('latency_p50_ms'),
});
