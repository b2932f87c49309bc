// SPDX-License-Identifier: Apache-2.0
// The rows of charts that the page fills in: those of a cell and of a series. C++ makes the same rows for the same data
// (src/show/chart/chart_distribution.cpp, chart_samples.cpp, chart_history.cpp); web/test/charts.test.ts compares them.
import { STYLE } from '../chart/rows.js';
import { formatNumber } from '../chart/words.js';
import type { Cell, Distribution, HistoryPoint } from './document.ts';
import { isUnreal } from './words.ts';

/** panel, group, series, x, value, low, high, mark, style, text */
export type ChartRow = [
  number,
  string,
  string,
  number | null,
  number | null,
  number | null,
  number | null,
  number,
  number,
  string,
];

const { hollow, hatched, unranked } = STYLE;
/** Numbers of MARKS in web/chart/rows.js. */
const wrong = 1;
const failed = 2;
const noValue = 8;

/** Its value is shown but not ranked; simulated and software devices have a mark of their own. */
const isUnranked = (cell: Cell) => cell.shown && !cell.ranked && !isUnreal(cell);

export const percentiles = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

export function distributionRows(cell: Cell, distributions: Distribution[]): ChartRow[] {
  const rows: ChartRow[] = [];
  distributions.forEach((distribution, at) => {
    const last = distribution.quantiles.length - 1;
    for (const [q, ms] of distribution.quantiles.entries())
      rows.push([0, `launch ${distribution.launch}`, `0 ${at + 1}`, ms, q / last, null, null, 0, 0, '']);
  });
  for (const [name, share] of percentiles) {
    const value = cell.number(`latency_${name}_ms`);
    const [low, high] = [cell.number(`latency_${name}_low_ms`), cell.number(`latency_${name}_high_ms`)];
    if (value === null) continue;
    const few = cell.text(`latency_${name}_quality`).startsWith('few') || low === null || high === null;
    rows.push([
      0,
      name,
      'percentiles',
      value,
      share,
      low,
      high,
      0,
      (isUnranked(cell) ? unranked : few ? hollow : 0) | (isUnreal(cell) ? hatched : 0),
      `${name} ${formatNumber(value)}`,
    ]);
  }
  return rows;
}

export function overTimeRows(distributions: Distribution[]): ChartRow[] {
  const rows: ChartRow[] = [];
  distributions.forEach((distribution, panel) => {
    const width = distribution.windowSeconds / distribution.bins.length;
    if (distribution.firstSteadyBin > 0)
      rows.push([
        panel,
        '',
        'steady',
        null,
        null,
        distribution.firstSteadyBin * width,
        distribution.bins.length * width,
        0,
        0,
        'steady',
      ]);
    distribution.bins.forEach((bin, i) => {
      if (bin)
        rows.push([
          panel,
          `launch ${distribution.launch}`,
          'bins',
          (i + 0.5) * width,
          bin.median,
          bin.min,
          bin.max,
          0,
          0,
          '',
        ]);
    });
  });
  return rows;
}

/** `unreal`: of a simulated or software device. */
export function historyRows(points: HistoryPoint[], words: string, unreal: boolean): ChartRow[] {
  const rows: ChartRow[] = [];
  let version = points[0]?.version;
  for (const point of points) {
    if (point.shown && point.p50 !== null)
      rows.push([
        0,
        words,
        'points',
        point.time,
        point.p50,
        point.low,
        point.high,
        0,
        (!point.ranked && !unreal ? unranked : point.launches < 2 ? hollow : 0) | (unreal ? hatched : 0),
        '',
      ]);
    else
      rows.push([
        0,
        words,
        'points',
        point.time,
        null,
        null,
        null,
        point.verification === 'wrong' ? wrong : point.status === 'failed' ? failed : noValue,
        0,
        '',
      ]);
    if (point.version !== version) rows.push([0, '', 'versions', point.time, null, null, null, 0, 0, point.version]);
    version = point.version;
  }
  let before = '';
  for (const point of points) {
    if (point.disturbed !== '' && point.disturbed === before) rows.at(-1)![6] = point.time;
    else if (point.disturbed !== '')
      rows.push([0, '', 'incidents', null, null, point.time, point.time, 0, 0, point.disturbed]);
    before = point.disturbed;
  }
  return rows;
}
