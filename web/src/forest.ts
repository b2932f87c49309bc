// SPDX-License-Identifier: Apache-2.0
// The chart of the compare page: a ratio with its interval for each pair of cells. It is the only chart that is
// described here and not in src/show/chart, since only the page chooses the pairs; the words of the description are the
// same, and the functions are those of the chart `comparison` (docs/decisions/0007-one-chart-description.md;
// web/test/forest.test.ts compares both).
import { STYLE } from '../chart/rows.js';
import { legendNotes } from './chart_notes.ts';
import type { ChartRow } from './chart_rows.ts';
import type { PageChart } from './document.ts';
import { counted, ratio } from './format.ts';
import { type Comparison, noClaimWords } from './stats.ts';

export interface ForestRow {
  /** Of no other row. */
  words: string;
  found: Comparison;
  /** Whiskers where `found` has no interval: Row of pairs.ts. */
  ofMedians: { low: number; high: number } | null;
  /** "" of a ranked pair. */
  notRanked: string;
  hardwareA: string;
  hardwareB: string;
}

export const meanName = 'geometric mean';

const mediansNote = (overRounds: boolean) => {
  const whiskers = overRounds ? ', with whiskers that are the 95 % interval of one median over that of the other' : '';
  const limit = 'What else differed between the two measurements is not in the interval.';
  return `Hollow${whiskers}: nothing is claimed. ${limit}`;
};

const colour = (name: string) => ({ $colour: name });
const mostRows = 80;

export interface ForestWords {
  nameA: string;
  nameB: string;
  /** ", batch 4, float16": what all pairs have. */
  common: string;
  perItem: boolean;
}

/** What a screen reader says. Nothing is said of ratios that are not ranked. */
function summaryOf(ranked: ForestRow[], unranked: number) {
  const ratios = ranked.map((pair) => pair.found.ratio);
  const range =
    ratios.length === 1 ? ratio(ratios[0]) : `from ${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))}`;
  const words = ratios.length === 0 ? [] : [`${counted(ratios.length, 'cell')}, ${range}`];
  return [...words, ...(unranked > 0 ? [`${counted(unranked, 'cell')} not ranked`] : [])].join('; ');
}

/** `tokens`: the names of colours. */
export function forest(
  pairs: ForestRow[],
  together: Comparison | null,
  { nameA, nameB, common, perItem }: ForestWords,
  tokens: Record<string, string>,
): PageChart {
  const shown = pairs.slice(0, mostRows);
  const ranked = pairs.filter((pair) => !pair.notRanked);
  // The hardware's colour, if it is the same in all pairs of the series.
  const colourOf = (rows: ForestRow[], hardware: (row: ForestRow) => string) => {
    const names = new Set(rows.map(hardware));
    const name = names.size === 1 ? [...names][0]! : '';
    return name in tokens ? name : 'ink';
  };
  const of = (difference: Comparison['difference']) =>
    shown.filter(({ found, notRanked }) => !notRanked && found.difference === difference);
  const sides: Record<
    Comparison['difference'] | 'not_ranked',
    { name: string; colour: string; marker: string; fill?: string }
  > = {
    faster: { name: `${nameB} is faster`, colour: colourOf(of('faster'), (row) => row.hardwareB), marker: 'diamond' },
    slower: { name: `${nameA} is faster`, colour: colourOf(of('slower'), (row) => row.hardwareA), marker: 'circle' },
    not_shown: { name: 'no difference shown', colour: 'ink-3', marker: 'rect' },
    not_compared: { name: 'not compared', colour: 'ink-3', marker: 'triangle', fill: 'background' },
    not_ranked: { name: 'not ranked', colour: 'ink-2', marker: 'pin', fill: 'background' },
  };
  const rows: ChartRow[] = [[0, '', 'equal', null, null, 0.99, 1.01, 0, 0, '']];
  const add = (
    words: string,
    found: Comparison,
    { notRanked, ofMedians }: Pick<ForestRow, 'notRanked' | 'ofMedians'>,
  ) =>
    rows.push([
      0,
      words,
      sides[notRanked ? 'not_ranked' : found.difference].name,
      null,
      found.ratio,
      found.low ?? ofMedians?.low ?? null,
      found.high ?? ofMedians?.high ?? null,
      0,
      notRanked ? STYLE.unranked : found.low === null ? STYLE.hollow : 0,
      notRanked || noClaimWords(found),
    ]);
  if (together && ranked.length > 1) add(meanName, together, { notRanked: '', ofMedians: null });
  for (const pair of shown) add(pair.words, pair.found, pair);
  const used = Object.values(sides).filter((side) => rows.some((row) => row[2] === side.name));
  const left = Math.min(400, Math.max(160, 24 + 6.7 * Math.max(...shown.map((pair) => pair.words.length))));
  const top = 96;
  const height = Math.max(40, (rows.length - 1) * 22);
  const words = (size: number, name: string) => ({ color: colour(name), fontSize: size });
  const title = `Time of ${nameB} over that of ${nameA}${common}`;
  const overRounds = pairs.some(({ found }) => found.low !== null);
  const overMedians = shown.some((pair) => pair.ofMedians);
  const whiskers =
    overRounds || !overMedians ? '95 % interval over rounds' : '95 % interval of one median over that of the other';
  const what = perItem ? 'ratio of the times of one item' : 'ratio of the times';
  const subtitle = `${what}, below 1: ${nameB} takes less time; whiskers: ${whiskers}; grey band: ± 1 %`;
  const notes = [
    ...(overMedians ? [mediansNote(overRounds)] : []),
    ...(pairs.length > shown.length ? [`The first ${shown.length} of ${pairs.length} cells; the table has all.`] : []),
    ...legendNotes(rows, ''),
  ];
  const cut = { width: 1000 - 32, overflow: 'truncate' };
  return {
    title,
    subtitle,
    summary: summaryOf(ranked, pairs.length - ranked.length),
    notes,
    width: 1000,
    height: top + height + 52 + 18 * notes.length,
    option: {
      backgroundColor: colour('background'),
      // For files: the page has these words itself.
      title: [
        { text: title, left: 16, top: 10, textStyle: { ...words(16, 'ink'), ...cut } },
        { text: subtitle, left: 16, top: 34, textStyle: { ...words(12, 'ink-2'), fontWeight: 'normal', ...cut } },
        ...notes.map((note, i) => ({
          text: note,
          left: 16,
          top: top + height + 46 + 18 * i,
          textStyle: { ...words(11, 'ink-2'), fontWeight: 'normal', ...cut },
        })),
      ],
      dataset: {
        source: [['panel', 'group', 'series', 'x', 'value', 'low', 'high', 'mark', 'style', 'text'], ...rows],
      },
      grid: [{ left, top, width: 1000 - left - 30, height, outerBoundsMode: 'none' }],
      legend: {
        data: used.map((side) => ({
          name: side.name,
          icon: side.marker,
          itemStyle: { color: colour(side.fill ?? side.colour), borderColor: colour(side.colour) },
          lineStyle: { color: colour(side.colour), type: 'solid' },
        })),
        left: 16,
        top: 58,
        textStyle: words(12, 'ink'),
      },
      xAxis: [
        {
          type: 'value',
          gridIndex: 0,
          $range: { columns: ['value', 'low', 'high'], panels: [0], scale: 'log', include: [0.9, 1.12], zero: false },
          name: 'ratio of times, logarithmic',
          nameLocation: 'middle',
          nameGap: 26,
          nameTextStyle: words(12, 'ink-2'),
          axisLine: { show: true, onZero: false, lineStyle: { color: colour('ink-3') } },
          axisTick: { show: true, lineStyle: { color: colour('ink-3') } },
          axisLabel: { ...words(11, 'ink-2'), hideOverlap: true },
          splitLine: { show: true, lineStyle: { color: colour('grid') } },
        },
      ],
      yAxis: [
        {
          type: 'category',
          gridIndex: 0,
          inverse: true,
          $categories: { panel: 0 },
          axisLine: { show: true, lineStyle: { color: colour('ink-3') } },
          axisTick: { show: false },
          axisLabel: { ...words(12, 'ink'), interval: 0, formatter: { $fn: 'category', width: left - 14 } },
        },
      ],
      series: [
        {
          type: 'custom',
          silent: true,
          xAxisIndex: 0,
          yAxisIndex: 0,
          z: 1,
          $rows: { panel: 0, series: 'equal' },
          $by: 'category',
          encode: { x: 0, y: 1 },
          renderItem: { $fn: 'region', colour: colour('grid'), ink2: colour('ink-2') },
        },
        {
          type: 'custom',
          silent: true,
          xAxisIndex: 0,
          yAxisIndex: 0,
          z: 2,
          encode: { x: 0, y: 1 },
          renderItem: { $fn: 'rule', x: 1, colour: colour('ink-2') },
        },
        ...used.map((side) => ({
          type: 'custom',
          name: side.name,
          xAxisIndex: 0,
          yAxisIndex: 0,
          z: 3,
          clip: false,
          $rows: { panel: 0, series: side.name },
          $by: 'category',
          encode: { x: 0, y: 1 },
          renderItem: {
            $fn: 'dot',
            colour: colour(side.colour),
            ink: colour('ink'),
            ink2: colour('ink-2'),
            paper: colour('background'),
            marker: side.marker,
          },
        })),
      ],
      tooltip: { trigger: 'item', renderMode: 'richText', formatter: { $fn: 'tooltip' } },
    },
  };
}
