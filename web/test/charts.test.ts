// SPDX-License-Identifier: Apache-2.0
// The rows that the page fills into charts are those of C++ (tests/browser/scripted_pages.cpp), and every chart of the document
// becomes an option that ECharts can have, at every width.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { distributionRows, historyRows, overTimeRows, type ChartRow } from '../src/chart_rows.ts';
import { fit, filled } from '../src/chart_layout.ts';
import type { PageChart } from '../src/document.ts';
import { readDocument } from '../src/read_document.ts';
import { resolve } from '../chart/runtime.js';

interface Made { name: string; of: string; rows: unknown[][]; title: { text: string }[] }

const read = (name: string) => readFileSync(`${process.env.ASSAY_PAGES}/${name}`);
const data = readDocument(new Uint8Array(read('document.bin')));
const made: Made[] = JSON.parse(read('charts.json').toString());

function sameRows(found: ChartRow[], wanted: unknown[][], what: string) {
  assert.equal(found.length, wanted.length, what);
  found.forEach((row, i) => row.forEach((value, column) => {
    const other = wanted[i]![column];
    // Most numbers of the document are in single precision.
    if (typeof value === 'number' && typeof other === 'number') assert.ok(Math.abs(value - other) <= 1e-6 * Math.abs(other), `${what}, row ${i}, column ${column}: ${value} is not ${other}`);
    else assert.equal(value, other, `${what}, row ${i}, column ${column}`);
  }));
}

test('the page fills in the rows that C++ would draw', () => {
  const seen = new Set<string>();
  for (const one of made) {
    const cell = data.byKey.get(one.of)!;
    const shapes = data.shapesOf(cell).filter((shape) => shape.kind === 0);
    const wanted = one.rows.slice(1);
    const what = `${one.name} of ${cell.text('model')} on ${cell.target}`;
    seen.add(one.name);
    if (one.name === 'latency_distribution') sameRows(distributionRows(cell, shapes), wanted, what);
    else if (one.name === 'samples_over_time') sameRows(overTimeRows(shapes), wanted, what);
    else {
      const points = data.history.filter((point) => data.series[point.series] === cell.text('series_key'));
      sameRows(historyRows(points, wanted[0]![1] as string), wanted, what);
    }
  }
  assert.deepEqual([...seen].sort(), ['history', 'latency_distribution', 'samples_over_time']);
});

test('the charts without rows are those of every target and number of launches', () => {
  for (const cell of data.cells) {
    assert.ok(data.charts[`history/${cell.target}`], cell.target);
    const n = data.shapesOf(cell).length;
    if (n > 0) assert.ok(data.charts[`latency_distribution/${cell.target}/${n}`], cell.target);
  }
});

test('a chart that is too wide for a phone stands in one column, with its names', () => {
  const chart = data.charts['hardware_comparison']!;
  assert.equal(chart.option.yAxis[1].axisLabel.show, false);
  const narrow = fit(chart, 340).option;
  assert.ok(narrow.grid[1].top > narrow.grid[0].top + narrow.grid[0].height);
  assert.equal(narrow.yAxis[1].axisLabel.show, true);
  assert.equal(fit(chart, 1000).option.yAxis[1].axisLabel.show, false);
  // Names above the first panel have their room.
  const heat = data.charts['architecture_performance_matrix']!;
  assert.ok(fit(heat, 1000).option.grid[0].top >= heat.option.xAxis[0].axisLabel.margin + 12);
});

const inside = (chart: PageChart, width: number, name: string) => {
  const fitted = fit(chart, width);
  const option = resolve(fitted.option, data.themes.light, (words: string) => words.length * 7);
  for (const grid of option.grid) {
    assert.ok(grid.width >= 100, `${name} at ${width}: a panel of ${grid.width}`);
    assert.ok(grid.left >= 0 && grid.left + grid.width <= fitted.width, `${name} at ${width}: ${grid.left} + ${grid.width}`);
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
  assert.ok(document.charts['hardware_comparison'] && document.charts['batch_size_scaling/bert/128/float32']);
});

test('a chart that is filled in has its words and titles, and the template keeps its own', () => {
  const [name, chart] = Object.entries(data.charts).find(([key]) => key.startsWith('samples_over_time/'))!;
  const before = JSON.stringify(chart);
  const cell = data.cells.find((one) => name === `samples_over_time/${one.target}/3` && data.shapesOf(one).length === 3)!;
  const full = filled(chart, overTimeRows(data.shapesOf(cell)), { title: 'Was it steady?' }, ['one', 'two', 'three']);
  assert.equal(full.title, 'Was it steady?');
  assert.equal(JSON.stringify(chart), before);
  const option = fit(full, 1000).option;
  assert.deepEqual(option.title.map((title: { text: string }) => title.text), ['one', 'two', 'three']);
});
