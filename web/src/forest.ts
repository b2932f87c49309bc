// SPDX-License-Identifier: Apache-2.0
// The chart of the compare page: a ratio with its interval for each pair of cells. It is the only chart that is described here
// and not in src/chart, since only the page chooses the pairs; the words of the description are the same.
import type { ChartRow } from './chart_rows.ts';
import type { PageChart } from './document.ts';
import { counted, ratio } from './format.ts';
import type { Comparison } from './stats.ts';

export interface ForestRow {
  words: string;
  found: Comparison;
  hardwareA: string;
  hardwareB: string;
}

const colour = (name: string) => ({ $colour: name });
const hollow = 1;
const mostRows = 80;

export function forest(pairs: ForestRow[], together: Comparison | null, nameA: string, nameB: string, tokens: Record<string, string>): PageChart {
  const known = (hardware: string) => (hardware in tokens ? hardware : 'ink-2');
  const shown = pairs.slice(0, mostRows);
  const sides = [
    { name: `${nameB} is faster`, colour: known(shown[0]?.hardwareB ?? ''), marker: 'diamond' },
    { name: `${nameA} is faster`, colour: known(shown[0]?.hardwareA ?? ''), marker: 'circle' },
    { name: 'no difference shown', colour: 'ink-3', marker: 'rect' },
  ];
  const sideOf = (found: Comparison) => sides[found.difference === 'faster' ? 0 : found.difference === 'slower' ? 1 : 2]!.name;
  const rows: ChartRow[] = [[0, '', 'equal', null, null, 1 / 1.01, 1.01, 0, 0, '']];
  const add = (words: string, found: Comparison) => rows.push([0, words, sideOf(found), null, found.ratio, found.low, found.high, 0, found.low === null ? hollow : 0,
    found.low === null ? 'no interval: one process each' : '']);
  if (together && pairs.length > 1) add('geometric mean', together);
  for (const pair of shown) add(pair.words, pair.found);
  const used = sides.filter((side) => rows.some((row) => row[2] === side.name));
  const left = 264;
  const height = Math.max(40, (rows.length - 1) * 22);
  const words = (size: number, name: string) => ({ color: colour(name), fontSize: size });
  return {
    title: `Time of ${nameB} over that of ${nameA}`,
    subtitle: 'ratio of the times, below 1: the second takes less time; whiskers: 95 % interval over rounds; grey band: ± 1 %',
    summary: `${counted(pairs.length, 'cell')}, from ${ratio(pairs[0]?.found.ratio)} to ${ratio(pairs.at(-1)?.found.ratio)}`,
    notes: pairs.length > shown.length ? [`The first ${shown.length} of ${pairs.length} cells; the table has all.`] : [],
    width: 1000,
    height: height + 120,
    option: {
      backgroundColor: colour('background'),
      title: [],
      dataset: { source: [['panel', 'group', 'series', 'x', 'value', 'low', 'high', 'mark', 'style', 'text'], ...rows] },
      grid: [{ left, top: 60, width: 1000 - left - 30, height, outerBoundsMode: 'none' }],
      legend: { data: used.map((side) => ({ name: side.name, icon: side.marker, itemStyle: { color: colour(side.colour), borderColor: colour(side.colour) }, lineStyle: { color: colour(side.colour), type: 'solid' } })),
        left: 16, top: 16, textStyle: words(12, 'ink') },
      xAxis: [{ type: 'value', gridIndex: 0, $range: { columns: ['value', 'low', 'high'], panels: [0], scale: 'log', include: [0.9, 1.12], zero: false },
        name: 'ratio of times, logarithmic', nameLocation: 'middle', nameGap: 26, nameTextStyle: words(12, 'ink-2'),
        axisLine: { show: true, onZero: false, lineStyle: { color: colour('ink-3') } }, axisTick: { show: true, lineStyle: { color: colour('ink-3') } },
        axisLabel: { ...words(11, 'ink-2'), hideOverlap: true }, splitLine: { show: true, lineStyle: { color: colour('grid') } } }],
      yAxis: [{ type: 'category', gridIndex: 0, inverse: true, $categories: { panel: 0 }, axisLine: { show: true, lineStyle: { color: colour('ink-3') } }, axisTick: { show: false },
        axisLabel: { ...words(12, 'ink'), interval: 0, formatter: { $fn: 'category', width: left - 14 } } }],
      series: [
        { type: 'custom', silent: true, xAxisIndex: 0, yAxisIndex: 0, z: 1, $rows: { panel: 0, series: 'equal' }, $by: 'category', encode: { x: 0, y: 1 }, renderItem: { $fn: 'region', colour: colour('grid'), ink2: colour('ink-2') } },
        { type: 'custom', silent: true, xAxisIndex: 0, yAxisIndex: 0, z: 2, encode: { x: 0, y: 1 }, renderItem: { $fn: 'rule', x: 1, colour: colour('ink-2') } },
        ...used.map((side) => ({ type: 'custom', name: side.name, xAxisIndex: 0, yAxisIndex: 0, z: 3, clip: false, $rows: { panel: 0, series: side.name }, $by: 'category', encode: { x: 0, y: 1 },
          renderItem: { $fn: 'dot', colour: colour(side.colour), ink: colour('ink'), ink2: colour('ink-2'), paper: colour('background'), marker: side.marker } })),
      ],
      tooltip: { trigger: 'item', renderMode: 'richText', formatter: { $fn: 'tooltip' } },
    },
  };
}
