// SPDX-License-Identifier: Apache-2.0
// A chart has the layout of a picture that is a thousand pixels wide, with its title and notes inside. The page writes
// those itself and gives the panels the width that there is.
import type { Option } from '../chart/runtime.js';
import { type Measure, nameLines, wrapped } from '../chart/words.js';
import type { PageChart } from './document.ts';

type Box = { left: number; top: number; width: number; height: number };

const isPanelTitle = (title: Option) => title.$panel !== undefined;

export interface Fitted {
  option: Option;
  width: number;
  height: number;
}

const leastPanel = 250;
const leastBars = 130;
const leastPlot = 100;
const leastSentence = 760;
const mostNameLines = 4;
const nameLine = 14;

/** Names of categories that would be cut get more lines; the result is how much higher the panel must be for them. */
function intoLines(chart: PageChart, axis: Option, panelHeight: number, measure: Measure): number {
  const { formatter } = axis.axisLabel;
  const names = new Set(
    rowsOf(chart)
      .filter((row) => row.panel === axis.$categories.panel && row.group !== '')
      .map((row) => row.group),
  );
  const lines = Math.min(
    mostNameLines,
    Math.max(1, ...[...names].map((name) => nameLines(name, formatter.width, '12px', measure).length)),
  );
  if (lines === 1) return 0;
  axis.axisLabel = { ...axis.axisLabel, lineHeight: nameLine, formatter: { ...formatter, lines } };
  return Math.max(0, (lines * nameLine + 4) * names.size - panelHeight);
}

export function fit(chart: PageChart, width: number, measure: Measure): Fitted {
  const source = chart.option;
  const grids: Box[] = source.grid.map((grid: Box) => ({ ...grid }));
  const titles: Option[] = source.title ?? [];
  const panelTitles = titles.filter(isPanelTitle);
  const bottoms = grids.map((grid) => grid.top + grid.height);
  const notes = titles.find((title) => title.top > Math.max(...bottoms));
  const end = notes ? notes.top - 4 : chart.height - 10;
  const below = Math.max(34, end - Math.max(...bottoms));
  const tops = [...new Set(grids.map((grid) => grid.top))].sort((a, b) => a - b);
  const onTop: number[] = source.xAxis.flatMap((axis: Option) =>
    axis.position === 'top' && axis.axisLabel?.show !== false ? [(axis.axisLabel?.margin ?? 8) + 18] : [],
  );
  const above = Math.max(panelTitles.length > 0 ? 30 : 12, ...onTop);
  const rows = tops.map((top) =>
    grids
      .map((grid, index) => ({ grid, index }))
      .filter(({ grid }) => grid.top === top)
      .sort((a, b) => a.grid.left - b.grid.left),
  );
  const first = rows[0]!;
  const pitch = tops.length > 1 ? tops[1]! - tops[0]! : first[0]!.grid.height + below + above;
  const most = Math.max(...rows.map((row) => row.length));
  const step = most > 1 ? first[1]!.grid.left - first[0]!.grid.left : chart.width;
  const alike =
    grids.every((grid) => grid.width === grids[0]!.width && grid.height === grids[0]!.height) &&
    rows.every((row) => row.every(({ grid }, i) => Math.abs(grid.left - first[0]!.grid.left - i * step) < 1));
  const before = first[0]!.grid.left;
  let height: number;
  let drawn = width;
  let besideTitle = 10;
  const axes = { xAxis: source.xAxis, yAxis: source.yAxis.map((axis: Option) => ({ ...axis })) };
  let series: Option[] = source.series;
  const draws = (name: string) => series.some((one: Option) => one.renderItem?.$fn === name);
  // Names of categories get at most two fifths of a narrow picture; those of targets, between them and the panel, stay
  // whole.
  const beside = Math.max(...source.yAxis.map((axis: Option) => axis.axisLabel?.margin ?? 8)) - 8;
  const left = source.yAxis.some((axis: Option) => axis.type === 'category')
    ? Math.min(before, Math.max(90 + (beside && beside + 20), width * 0.4))
    : before;
  for (const axis of axes.yAxis)
    if (axis.axisLabel?.formatter?.$fn === 'category' && left < before)
      axis.axisLabel = {
        ...axis.axisLabel,
        formatter: {
          ...axis.axisLabel.formatter,
          width: Math.max(60, axis.axisLabel.formatter.width - (before - left)),
        },
      };
  if (most > 1 && alike) {
    const after = Math.max(draws('bar') ? 56 : 14, step - before - first[0]!.grid.width);
    const columns = Math.max(1, Math.min(most, Math.floor(width / Math.max(leastPanel, left + after + leastBars))));
    drawn = Math.max(width, left + after + leastPlot);
    if (draws('line_end')) besideTitle = after;
    const column = drawn / columns;
    // Panels that shared the names of the first one get their own when they stand below it.
    if (columns < most) {
      for (const axis of axes.yAxis)
        if (axis.axisLabel?.show === false) axis.axisLabel = { ...axis.axisLabel, show: true };
      const named = series.find((one: Option) => one.renderItem?.named)?.renderItem.named;
      if (named)
        series = series.map((one: Option) =>
          one.renderItem?.$fn === 'bar' ? { ...one, renderItem: { ...one.renderItem, named } } : one,
        );
    }
    grids.forEach((grid, i) => {
      Object.assign(grid, {
        left: (i % columns) * column + left,
        top: above + Math.floor(i / columns) * pitch,
        width: column - left - after,
      });
    });
    height = above + (Math.ceil(grids.length / columns) - 1) * pitch + first[0]!.grid.height + below;
  } else {
    const after = Math.max(12, chart.width - Math.max(...first.map(({ grid }) => grid.left + grid.width)));
    let higher = 0;
    for (const axis of axes.yAxis)
      if (axis.axisLabel?.formatter?.$fn === 'category' && left < before && rows.length === 1)
        higher = Math.max(higher, intoLines(chart, axis, first[0]!.grid.height, measure));
    const right = draws('line_end') ? after : Math.min(after, Math.max(56, width * 0.2));
    const panels = first.reduce((sum, { grid }) => sum + grid.width, 0);
    const gaps = chart.width - panels - before - after;
    const columns = draws('heat') ? new Set(rowsOf(chart).map((row) => row.series)).size : first.length;
    drawn = Math.max(width, draws('sentence') ? leastSentence : left + right + gaps + leastBars * columns);
    const scale = (drawn - left - right - gaps) / panels;
    for (const row of rows) {
      let at = left;
      row.forEach(({ grid }, i) => {
        const next = row[i + 1]?.grid;
        const gap = next ? next.left - grid.left - grid.width : 0;
        grid.left = at;
        grid.width *= scale;
        at += grid.width + gap;
      });
    }
    const shift = tops[0]! - above;
    for (const grid of grids) Object.assign(grid, { top: grid.top - shift, height: grid.height + higher });
    height = end - shift + higher;
  }
  const moved = panelTitles.map((title) => {
    const grid = grids[title.$panel]!;
    return {
      ...title,
      left: grid.left,
      top: grid.top - source.grid[title.$panel].top + title.top,
      textStyle: { ...title.textStyle, width: grid.width + besideTitle, overflow: 'truncate' },
    };
  });
  return {
    option: {
      ...source,
      ...axes,
      series,
      title: moved,
      grid: source.grid.map((grid: Box, i: number) => ({ ...grid, ...grids[i] })),
      legend: source.legend && { ...source.legend, show: false },
    },
    width: drawn,
    height: Math.ceil(height),
  };
}

/** The chart with other rows, words and titles of panels. */
export function filled(
  chart: PageChart,
  rows: unknown[],
  words: Partial<Pick<PageChart, 'title' | 'subtitle' | 'summary' | 'notes'>>,
  panels: string[] = [],
): PageChart {
  const { option } = chart;
  const title = option.title.map((one: Option) =>
    isPanelTitle(one) ? { ...one, text: panels[one.$panel] ?? one.text } : one,
  );
  return {
    ...chart,
    ...words,
    filled: true,
    option: { ...option, title, dataset: { source: [option.dataset.source[0], ...rows] } },
  };
}

const lineCount = (text: string) => text.split('\n').length;

/**
 * The chart as a file: with its words in the picture, in the places where src/show/chart/picture.cpp has them. A
 * template has those of the cell that it was made of; panels move up or down as the lines need it.
 */
export function withWords(chart: PageChart, measure: Measure): PageChart {
  if (!chart.filled) return chart;
  const { option } = chart;
  const [margin, top, titleLine, subtitleLine, noteLine] = [16, 12, 21, 16, 15];
  const bottom = Math.max(...option.grid.map((grid: Box) => grid.top + grid.height));
  const panels = option.title.filter(isPanelTitle);
  const others = option.title.filter((one: Option) => !panels.includes(one));
  const below = others.filter((one: Option) => one.top > bottom);
  const [title, subtitle] = others.filter((one: Option) => one.top < bottom);
  const before = top + titleLine * lineCount(title.text) + 2 + (subtitle ? subtitleLine * lineCount(subtitle.text) : 0);
  const inside = chart.width - 2 * margin;
  const lines = (text: string, font: string) => wrapped(text, inside, font, measure).join('\n');
  const headTitle = lines(chart.title, 'bold 16px');
  const headSubtitle = chart.subtitle && lines(chart.subtitle, '12px');
  const subtitleTop = top + titleLine * lineCount(headTitle) + 2;
  const shift = subtitleTop + (headSubtitle ? subtitleLine * lineCount(headSubtitle) : 0) - before;
  const end = (below[0] ? below[0].top - 4 : chart.height - 10) + shift;
  const notes = chart.notes.map((note) => lines(note, '11px')).join('\n');
  const moved = (one: Option) => ({ ...one, top: one.top + shift });
  const small = (text: string, at: number, size: number, lineHeight: number) => ({
    text,
    left: margin,
    top: at,
    padding: 0,
    textStyle: { fontSize: size, fontWeight: 'normal', lineHeight, color: { $colour: 'ink-2' } },
  });
  return {
    ...chart,
    height: Math.ceil(end + (notes ? 6 + noteLine * lineCount(notes) : 0) + 10),
    option: {
      ...option,
      title: [
        { ...title, text: headTitle },
        ...(headSubtitle ? [small(headSubtitle, subtitleTop, 12, subtitleLine)] : []),
        ...panels.map(moved),
        ...(notes ? [small(notes, end + 4, 11, noteLine)] : []),
      ],
      grid: option.grid.map(moved),
      ...(option.legend ? { legend: moved(option.legend) } : {}),
    },
  };
}

export interface PlainRow {
  panel: number;
  group: string;
  series: string;
  x: number | null;
  value: number | null;
  low: number | null;
  high: number | null;
  text: string;
}

const plainRow = (row: Option[]): PlainRow => ({
  panel: row[0],
  group: row[1],
  series: row[2],
  x: row[3],
  value: row[4],
  low: row[5],
  high: row[6],
  text: row[9],
});

export const rowsOf = (chart: PageChart): PlainRow[] => chart.option.dataset.source.slice(1).map(plainRow);

/** The row that an element of a series shows. */
export function rowAt(chart: PageChart, series: number, index: number): PlainRow | undefined {
  const wanted = chart.option.series[series]?.$rows;
  if (!wanted) return undefined;
  const row = chart.option.dataset.source
    .slice(1)
    .filter((one: Option[]) => one[0] === wanted.panel && (wanted.series === undefined || one[2] === wanted.series))[
    index
  ];
  return row && plainRow(row);
}
