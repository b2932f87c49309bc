// SPDX-License-Identifier: Apache-2.0
// The rows that the page fills into charts are those of C++ (tests/browser/scripted_pages.cpp), and every chart of the
// document becomes an option that ECharts can have, at every width.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { type Option, resolve } from '../chart/runtime.js';
import { formatNumber } from '../chart/words.js';
import { distributionChart, historyChart, overTimeChart, phasesChart } from '../src/cell_charts.ts';
import { filled, fit, withWords } from '../src/chart_layout.ts';
import { type ChartRow, overTimeRows } from '../src/chart_rows.ts';
import type { PageChart } from '../src/document.ts';
import { readDocument } from '../src/read_document.ts';

interface Made {
  name: string;
  of: string;
  rows: unknown[][];
  table: Record<string, unknown>[];
  title: string;
  subtitle: string;
  notes: string[];
}

const measure = (words: string, font: string) => words.length * (font.startsWith('bold') ? 9 : 7);
const read = (name: string) => readFileSync(`${process.env.ASSAY_PAGES}/${name}`);
const data = readDocument(new Uint8Array(read('document.bin')));
const made: Made[] = JSON.parse(read('charts.json').toString());

function sameRows(found: ChartRow[], wanted: unknown[][], what: string) {
  assert.equal(found.length, wanted.length, what);
  for (const [i, row] of found.entries())
    for (const [column, value] of row.entries()) {
      const other = wanted[i]![column];
      // Most numbers of the document are in single precision.
      if (typeof value === 'number' && typeof other === 'number')
        assert.ok(
          Math.abs(value - other) <= 1e-6 * Math.abs(other),
          `${what}, row ${i}, column ${column}: ${value} is not ${other}`,
        );
      else assert.equal(value, other, `${what}, row ${i}, column ${column}`);
    }
}

test('the page fills in the rows that C++ would draw', () => {
  const seen = new Set<string>();
  for (const one of made) {
    const cell = data.byKey.get(one.of)!;
    const distributions = data.distributionsOf(cell).filter((one) => one.kind === 0);
    const wanted = one.rows.slice(1);
    const what = `${one.name} of ${cell.text('model')} on ${cell.target}`;
    seen.add(one.name);
    const points = data.history.filter((point) => data.series[point.series] === cell.text('series_key'));
    const chart =
      one.name === 'latency_distribution'
        ? distributionChart(data, cell, distributions)
        : one.name === 'samples_over_time'
          ? overTimeChart(data, cell, distributions)
          : one.name === 'phases'
            ? phasesChart(data, cell)
            : historyChart(data, cell, points);
    assert.ok(chart, what);
    sameRows(chart.option.dataset.source.slice(1), wanted, what);
    assert.deepEqual([chart.title, chart.subtitle, chart.notes], [one.title, one.subtitle, one.notes], what);
    if (chart.table)
      sameRows(
        chart.table.rows as never,
        one.table.map((row) => ['launch', 'time_s', 'median_ms', 'least_ms', 'most_ms'].map((key) => row[key])),
        `table of ${what}`,
      );
  }
  assert.deepEqual([...seen].sort(), ['history', 'latency_distribution', 'phases', 'samples_over_time']);
});

test('the axis of a distribution ends near its times, and each percentile has its name', () => {
  for (const cell of data.cells.filter((one) => one.shown && data.distributionsOf(one).length > 0)) {
    const chart = distributionChart(data, cell, data.distributionsOf(cell))!;
    const rows = chart.option.dataset.source.slice(1) as ChartRow[];
    const times = rows.flatMap((row) => [row[3], row[5], row[6]]).filter((time) => time !== null);
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const axis = resolve(chart.option, data.themes.light, measure).xAxis[0];
    assert.ok(axis.min < least && axis.max > most, cell.target);
    // 4 % of the axis on each side; a span of less than a factor of 1.2 is not blown up.
    const span = Math.max(most / least, 1.2);
    assert.ok(axis.max / axis.min < span ** 1.09, `${least} to ${most} ms in an axis from ${axis.min} to ${axis.max}`);
    assert.ok(
      axis.axisLabel.customValues.length >= 2 &&
        axis.axisLabel.customValues.every((tick: number) => tick >= axis.min && tick <= axis.max),
    );
    const named = rows.filter((row) => row[2] === 'percentiles').map((row) => row[9].split(' ')[0]);
    assert.deepEqual(
      named,
      ['p50', 'p90', 'p95', 'p99'].filter((name) => cell.number(`latency_${name}_ms`) !== null),
    );
  }
});

test('the charts without rows are those of every target and number of launches', () => {
  for (const cell of data.cells) {
    assert.ok(data.charts[`history/${cell.target}`] && data.charts[`phases/${cell.target}`], cell.target);
    const n = data.distributionsOf(cell).length;
    if (n > 0) assert.ok(data.charts[`latency_distribution/${cell.target}/${n}`], cell.target);
  }
});

test('a chart that is too wide for a phone stands in one column, with its names', () => {
  const chart = data.charts.hardware_comparison!;
  assert.equal(chart.option.yAxis[1].axisLabel.show, false);
  const narrow = fit(chart, 340, measure).option;
  assert.ok(narrow.grid[1].top > narrow.grid[0].top + narrow.grid[0].height);
  assert.equal(narrow.yAxis[1].axisLabel.show, true);
  assert.equal(fit(chart, 1000, measure).option.yAxis[1].axisLabel.show, false);
  // Names above the first panel have their room.
  const heat = data.charts.architecture_performance_matrix!;
  assert.ok(fit(heat, 1000, measure).option.grid[0].top >= heat.option.xAxis[0].axisLabel.margin + 12);
});

const inside = (chart: PageChart, width: number, name: string) => {
  const fitted = fit(chart, width, measure);
  const option = resolve(fitted.option, data.themes.light, measure);
  for (const grid of option.grid) {
    assert.ok(grid.width >= 100, `${name} at ${width}: a panel of ${grid.width}`);
    assert.ok(
      grid.left >= 0 && grid.left + grid.width <= fitted.width,
      `${name} at ${width}: ${grid.left} + ${grid.width}`,
    );
    assert.ok(grid.top >= 0 && grid.top + grid.height < fitted.height, `${name} at ${width}`);
  }
  assert.equal(option.series.length, chart.option.series.length);
  for (const panel of option.title) assert.ok(panel.top >= 0, `${name} at ${width}: a title at ${panel.top}`);
  return fitted;
};

test('charts fit into wide and narrow pages', () => {
  for (const [name, chart] of Object.entries(data.charts))
    for (const width of [340, 700, 1000, 1180]) {
      const fitted = inside(chart, width, name);
      if (width >= 1000) assert.equal(fitted.width, width, name);
    }
});

test('a thousand cells with their charts and samples are less than three megabytes', () => {
  const html = read('thousand.html').toString();
  assert.ok(html.length < 3_000_000, String(html.length));
  const packed = /id="assay-document">([^<]*)</.exec(html)![1]!;
  const document = readDocument(new Uint8Array(inflateSync(Buffer.from(packed, 'base64'))));
  assert.equal(document.cells.length, 1008);
  assert.equal(document.detail, '33 quantiles and 25 bins of each launch');
  assert.ok(document.charts.hardware_comparison && document.charts['batch_size_scaling/bert/128/float32']);
});

test('a chart that is filled in has its words and titles, and the template keeps its own', () => {
  const [name, chart] = Object.entries(data.charts).find(([key]) => key.startsWith('samples_over_time/'))!;
  const before = JSON.stringify(chart);
  const cell = data.cells.find(
    (one) => name === `samples_over_time/${one.target}/3` && data.distributionsOf(one).length === 3,
  )!;
  const full = filled(chart, overTimeRows(data.distributionsOf(cell)), { title: 'Was it steady?' }, [
    'one',
    'two',
    'three',
  ]);
  assert.equal(full.title, 'Was it steady?');
  assert.equal(JSON.stringify(chart), before);
  const option = fit(full, 1000, measure).option;
  assert.deepEqual(
    option.title.map((title: { text: string }) => title.text),
    ['one', 'two', 'three'],
  );
});

/** What is said of a row under the pointer. */
function tooltips(chart: PageChart): string[] {
  const option = resolve(chart.option, data.themes.light, measure);
  return chart.option.series.flatMap((series: Option, seriesIndex: number) => {
    if (series.silent || !series.$rows) return [];
    return option.series[seriesIndex].data.map(
      (_: unknown, dataIndex: number) => option.tooltip.formatter({ seriesIndex, dataIndex }) as string,
    );
  });
}

test('a tooltip of a percentile says its time, with the interval, and the share', () => {
  const cell = data.cells.find((one) => one.ranked && data.distributionsOf(one).length === 3)!;
  const chart = distributionChart(data, cell, data.distributionsOf(cell))!;
  const words = tooltips(chart).filter((one) => one.startsWith('p50'))[0]!;
  const [low, high] = ['low', 'high'].map((end) => formatNumber(cell.number(`latency_p50_${end}_ms`)));
  assert.equal(
    words,
    `p50\n${formatNumber(cell.number('latency_p50_ms'))} ms (${low} to ${high})\n50\u2009% of the samples took at most this time`,
  );
  assert.match(
    tooltips(chart).find((one) => one.startsWith('p95'))!,
    /^p95\n[\d.]+ ms \([\d.]+ to [\d.]+\)\n95\u2009%/,
  );
});

test('a tooltip says the unit, and the batch of what is drawn against it', () => {
  const scaling = tooltips(data.charts['batch_size_scaling/bert/128/float32']!);
  assert.ok(
    scaling.some((words) => /^bert, openvino\nbatch 4\n[\d.]+ ms \([\d.]+ to [\d.]+\)$/.test(words)),
    scaling.join('\n'),
  );
  assert.ok(scaling.some((words) => /^bert, cpu\nbatch 8\n[\d.]+ items\/s/.test(words)));
  assert.ok(scaling.some((words) => /^bert, cpu\nbatch 8\n[\d.]+ MB/.test(words)));
  const bars = tooltips(data.charts.hardware_comparison!);
  assert.ok(bars.some((words) => /^bert, cpu\n[\d.]+ ms \([\d.]+ to [\d.]+\)$/.test(words)));
  assert.ok(bars.some((words) => /^bert, cpu\n[\d.]+ items\/s/.test(words)));
  assert.ok(tooltips(data.charts.relative_speedup!).some((words) => /^all models, openvino\n[\d.]+× \(/.test(words)));
  const cell = data.cells.find((one) => one.ranked)!;
  const points = data.history.filter((point) => data.series[point.series] === cell.text('series_key'));
  assert.match(
    tooltips(historyChart(data, cell, points)!).at(-1)!,
    /^.+ on .+, batch \d+.*\n03-02 10:00\n[\d.]+ ms \(/,
  );
});

test('a file of a filled chart has the words of its cell, and its panels make room for them', () => {
  const cell = data.cells.find((one) => one.ranked && data.distributionsOf(one).length === 3)!;
  const chart = overTimeChart(data, cell, data.distributionsOf(cell))!;
  const file = withWords({ ...chart, title: `${chart.title} ${'long '.repeat(40)}`, notes: ['a note'] }, measure);
  const words: { text: string; top: number; left: number; textStyle: { lineHeight?: number } }[] = file.option.title;
  assert.equal(words[0]!.text.replace(/\n/g, ' '), `${chart.title} ${'long '.repeat(40)}`);
  assert.ok(words[0]!.text.split('\n').length > 1);
  assert.equal(words[1]!.text.replace(/\n/g, ' '), chart.subtitle);
  assert.equal(words.at(-1)!.text, 'a note');
  const ends = words.slice(0, 2).map((one) => one.top + one.textStyle.lineHeight! * one.text.split('\n').length);
  assert.ok(ends[0]! <= words[1]!.top && ends[1]! <= file.option.grid[0].top - 20);
  assert.equal(
    words.filter(
      (one) =>
        /^launch \d/.test(one.text) &&
        file.option.grid.some(
          (grid: { left: number; top: number }) => grid.left === one.left && grid.top - 20 === one.top,
        ),
    ).length,
    3,
  );
  assert.ok(words.at(-1)!.top + 15 <= file.height);
  // What C++ has filled in is left as it is.
  const whole = data.charts.hardware_comparison!;
  assert.equal(withWords(whole, measure), whole);
});

test('the version of the newest run stands within the picture', () => {
  const cell = data.cells.find((one) => one.ranked)!;
  const points = data.history.filter((point) => data.series[point.series] === cell.text('series_key'));
  const version = 'onnxruntime 1.31.1, assay 0.1.0';
  const chart = historyChart(
    data,
    cell,
    points.map((point, i) => ({ ...point, version: i === points.length - 1 ? version : 'before' })),
  )!;
  const option = resolve(chart.option, data.themes.light, measure);
  const at = chart.option.series.findIndex((series: Option) => series.renderItem?.$fn === 'event');
  const [box] = option.grid;
  const drawnAt = (x: number) =>
    option.series[at].renderItem(
      { dataIndex: 0, coordSys: { x: box.left, y: box.top, width: box.width, height: box.height } },
      { coord: () => [x, 0] },
    ).children[1].style;
  const right = box.left + box.width;
  assert.ok(drawnAt(right).x + version.length * 7 <= right);
  assert.equal(drawnAt(box.left + 10).x, box.left + 14);
});
