// SPDX-License-Identifier: Apache-2.0
// The page of one chart, as `assay plot --format html` and `assay coverage --memory-scaling-chart` write it.
import assert from 'node:assert/strict';
import { cases } from './harness.mjs';

const cpu = { light: '#1849AB', dark: '#2A71FF' };
const shownRows = (page) => page.locator('main table tbody tr').count();

/** Moves the pointer to the first mark of this colour, and gives the words that appear. */
async function hover(page, colour) {
  const drawing = page.locator('.drawing').first();
  const box = await drawing.locator(`svg path[fill="${colour}"]`).first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  const words = drawing.locator('svg text', { hasText: /\d.* ms \(.* to .*\)/ }).first();
  await words.waitFor();
  return words.textContent();
}

cases['the page of a chart says the value under the pointer, as its table does'] = async (tab) => {
  const page = await tab.goto('chart');
  await tab.drawAll();
  assert.match(await tab.text('h1'), /openvino/);
  // The chart stands in the place of the picture, and nothing is said twice.
  assert.equal(await page.locator('picture').count(), 0);
  assert.equal(await page.locator('figure.chart').count(), 1);
  assert.equal(await page.locator('figcaption').count(), 0);
  const words = await hover(page, cpu.light);
  const [value, low, high] = words.match(/([\d.]+) ms \(([\d.]+) to ([\d.]+)\)/).slice(1).map(Number);
  assert.ok(low <= value && value <= high, words);
  const headings = await page.locator('main table thead th').allInnerTexts();
  const column = headings.findIndex((heading) => /^median/i.test(heading));
  const medians = (await page.locator(`main table tbody td:nth-child(${column + 1})`).allInnerTexts()).map(Number);
  assert.ok(medians.some((one) => Number(one.toPrecision(3)) === value), `${value} of ${medians.join(', ')}`);
  assert.deepEqual(await tab.accessibility(), []);
  assert.ok(await tab.tooWide() <= 0);
  await tab.screenshot('chart_page');
};

cases['the legend of the page of a chart hides a target, and its picture is saved'] = async (tab) => {
  const page = await tab.goto('chart');
  await tab.drawAll();
  const of = (colour) => page.locator(`.drawing svg [fill="${colour}"]`).count();
  assert.ok(await of('#B88210') > 0);
  await page.locator('.chart-legend button', { hasText: 'openvino' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.drawing svg [fill="#B88210"]').length === 0);
  assert.ok(await of(cpu.light) > 0);
  const { svg } = await tab.saved(/^Save hardware_comparison as /, /^hardware_comparison\./);
  assert.ok(svg.includes('laboratory'), 'a file has the words of the page');
};

cases['the page of a chart is dark where the reader chose that, and light on paper'] = async (tab) => {
  const page = await tab.goto('chart', '', { colorScheme: 'dark' });
  await tab.drawAll();
  const drawnIn = (colour) => page.waitForFunction((one) => document.querySelectorAll(`.drawing svg [fill="${one}"]`).length > 0, colour);
  await drawnIn(cpu.dark);
  await hover(page, cpu.dark);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(21, 24, 28)');
  assert.deepEqual(await tab.accessibility(['color-contrast']), []);
  await tab.screenshot('chart_page_dark');
  await page.emulateMedia({ media: 'print' });
  await drawnIn(cpu.light);
  assert.equal(await page.getByRole('button', { name: /as SVG/ }).isVisible(), false);
  await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
  await drawnIn(cpu.light);
};

cases['the page of a chart has its picture and its numbers without JavaScript'] = async (tab) => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await tab.goto('chart', '', { colorScheme, javaScriptEnabled: false });
    const picture = page.locator('figure picture img');
    assert.equal(await picture.count(), 1);
    const { width, height } = await picture.boundingBox();
    assert.ok(width > 600 && height > 200, `${width} × ${height}`);
    assert.ok(await shownRows(page) > 12);
    await page.screenshot({ path: tab.picture(`chart_page_static_${colorScheme}`) });
  }
};

cases['the page of a chart with several pictures, of strange names, on a phone'] = async (tab) => {
  const page = await tab.goto('chart_mixed', '', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  await tab.drawAll();
  const name = '<b onload="x()">&amp;\'quoted\'</b></script><!--';
  assert.ok((await page.locator('main').innerText()).includes(name));
  assert.equal(await page.locator('main b[onload], main script').count(), 0);
  assert.ok(await tab.tooWide() <= 0);
  await tab.screenshot('phone_chart_page');
  await tab.goto('chart_thousand');
  await tab.drawAll();
  const drawings = tab.page.locator('figure.chart .drawing svg');
  assert.ok(await drawings.count() > 1);
  assert.equal(await tab.page.locator('picture').count(), 0);
  assert.deepEqual(await tab.accessibility(), []);
  await tab.screenshot('chart_page_thousand');
};
