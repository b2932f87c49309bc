// SPDX-License-Identifier: Apache-2.0
// The forest of the compare page keeps to the rules of the chart `comparison` of src/show/chart, which
// tests/browser/scripted_pages.cpp writes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Option } from '../chart/runtime.js';
import { forest } from '../src/forest.ts';
import type { Comparison } from '../src/stats.ts';

const option = JSON.parse(readFileSync(`${process.env.ASSAY_PAGES}/comparison.json`, 'utf8'));
const found: Comparison = {
  ratio: 0.5,
  low: 0.49,
  high: 0.51,
  difference: 'faster',
  evidence: 'rounds',
  rounds: 6,
  smallestDetectable: null,
};
const made = forest(
  [{ words: 'bert', found, notRanked: '', ofMedians: null, hardwareA: 'cpu', hardwareB: 'openvino' }],
  null,
  { nameA: 'cpu', nameB: 'openvino', common: '', perItem: false },
  { cpu: '#1849AB', openvino: '#B88210' },
).option;

const drawnBy = (of: Option, name: string) => of.series.find((one: Option) => one.renderItem?.$fn === name);

test('the forest is drawn by the functions of the chart comparison', () => {
  for (const name of made.series.map((one: Option) => one.renderItem.$fn)) {
    const [own, other] = [drawnBy(made, name), drawnBy(option, name)];
    assert.ok(other, name);
    for (const argument of Object.keys(own.renderItem)) assert.ok(argument in other.renderItem, `${name}: ${argument}`);
    assert.equal(own.$by, other.$by, name);
  }
  assert.equal(drawnBy(made, 'rule').renderItem.x, drawnBy(option, 'rule').renderItem.x);
  assert.deepEqual(drawnBy(made, 'rule').renderItem.colour, drawnBy(option, 'rule').renderItem.colour);
  assert.deepEqual(drawnBy(made, 'region').renderItem.colour, drawnBy(option, 'region').renderItem.colour);
});

test('the grey band and the axis of the forest are those of the chart comparison', () => {
  const bandOf = (of: Option, series: string) =>
    of.dataset.source.find((row: unknown[]) => row[2] === series).slice(5, 7);
  assert.deepEqual(bandOf(made, 'equal'), bandOf(option, 'band'));
  assert.deepEqual(made.dataset.source[0], option.dataset.source[0]);
  assert.equal(made.xAxis[0].$range.scale, option.xAxis[0].$range.scale);
  assert.deepEqual(made.tooltip, option.tooltip);
});
