// SPDX-License-Identifier: Apache-2.0
// What the rows of a chart need explained: legend_notes() of src/show/chart/marks.cpp, for rows that the page fills in.
import { STYLE } from '../chart/rows.js';
import type { ChartRow } from './chart_rows.ts';

const unverifiedText = '?';
const meanings = [
  '',
  '≠ wrong numbers',
  '✕ failed',
  '– unsupported by the runtime',
  '∅ not available on this machine',
  '… skipped',
  '? not verified, so not ranked',
  '∅ no common cell',
  '· not measured',
];

/** `hollow`: what that means; '': it is explained elsewhere. */
export function legendNotes(rows: ChartRow[], hollow: string): string[] {
  const shown = rows.filter((row) => row[4] !== null);
  const any = (bit: number) => shown.some((row) => (row[8] & bit) !== 0);
  const marks = new Map<number, number>();
  for (const row of rows) if (row[7] !== 0) marks.set(row[7], (marks.get(row[7]) ?? 0) + 1);
  const notes: string[] = [];
  if (any(STYLE.unranked))
    notes.push(
      'Dashed outline: not ranked, because it is too disturbed or too uncertain, was cut short, or is not verified; ' +
        'nothing is claimed of it.',
    );
  if (shown.some((row) => row[9] === unverifiedText)) notes.push('?: no reference has verified the numbers.');
  if (any(STYLE.hollow) && hollow) notes.push(hollow);
  if (any(STYLE.hatched))
    notes.push(
      "Hatched or crossed: a simulated or software device; its times are not the device's, and it is never ranked.",
    );
  const line = [...marks]
    .sort((a, b) => a[0] - b[0])
    .map(([mark, n]) => `${meanings[mark]} (${n})`)
    .join(', ');
  if (line) notes.push(`No value: ${line}.`);
  return notes;
}
