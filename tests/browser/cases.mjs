// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { cases, everyPage, suitePage } from './harness.mjs';

const numberOf = (text) => Number(text.replace(/[^\d.]/g, ''));
const darkPages = ['#/', '#/matrix', '#/compare', '#/charts', '#/cell/1000'];
const rowsShown = (page) => page.locator('main table[role=grid] tbody tr').count();

cases['every page opens without a complaint'] = async (tab) => {
  await tab.goto('normal');
  for (const route of everyPage) {
    await tab.to(route);
    await tab.screenshot(`light_${route.replace(/\W+/g, '_')}`);
    assert.notEqual(await tab.heading(), '', route);
    assert.ok(await tab.tooWide() <= 0, `${route} is ${await tab.tooWide()} px too wide`);
  }
};

cases['a database without results is a page'] = async (tab) => {
  await tab.goto('empty');
  assert.match(await tab.heading(), /Nothing was measured yet/);
  await tab.goto('one', '#/cell/1000');
  await tab.drawAll();
  assert.equal(await tab.page.locator('.drawing svg').count(), 3);
};

cases['filter and sort, and the link has both'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells');
  const all = await rowsShown(page);
  await page.locator('main').getByLabel(/^Target/).selectOption('cpu');
  await page.waitForFunction(() => location.hash.includes('f.target=cpu'));
  assert.ok(await rowsShown(page) < all);
  const keys = await page.locator('tbody tr .target-key').allInnerTexts();
  assert.deepEqual([...new Set(keys)], ['cpu']);
  await page.getByRole('columnheader', { name: /^Median/ }).getByRole('button').click();
  await page.waitForFunction(() => location.hash.includes('sort=latency_p50_ms'));
  const medians = async () => (await tab.page.locator('td[data-title^="Median"]').allInnerTexts()).map((text) => numberOf(text.split('±')[0])).filter((value) => value > 0);
  const rising = await medians();
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
  await page.getByRole('columnheader', { name: /^Median/ }).getByRole('button').click();
  await page.waitForFunction(() => location.hash.includes('sort=-latency_p50_ms'));
  const falling = await medians();
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  const link = page.url().split('#')[1];
  await tab.goto('normal', `#${link}`);
  assert.deepEqual(await medians(), falling);
  await tab.page.getByLabel('Search in this table').fill('bert');
  await tab.page.waitForFunction(() => location.hash.includes('q=bert'));
  assert.ok((await tab.page.locator('tbody tr td:first-child').allInnerTexts()).every((text) => text.includes('bert')));
};

cases['models and targets have one order on all pages'] = async (tab) => {
  const page = await tab.goto('normal', '#/matrix');
  const words = async (where) => [...new Set((await page.locator(where).allInnerTexts()).map((text) => text.split('\n')[0].trim()))];
  const models = await words('.matrix tbody tr:not(.group) th bdi');
  const targets = await words('.matrix thead .target-key');
  assert.deepEqual(targets, ['cpu', 'cuda', 'openvino', 'webgpu@onnxruntime']);
  assert.ok(models.length > 1);
  await tab.to('#/');
  assert.deepEqual(await words('section[aria-labelledby=models] .model-name'), models);
  const choices = async (label) => (await page.locator('label.field', { has: page.locator('span', { hasText: new RegExp(`^${label}$`) }) }).locator('option').allInnerTexts()).slice(1);
  await tab.to('#/cells');
  assert.deepEqual(await choices('Target'), targets);
  assert.deepEqual(await choices('Model'), models);
  const listed = await words('td[data-title=Model]');
  assert.ok(listed.length > 1);
  assert.deepEqual(listed, models.slice(0, listed.length));
  await page.getByRole('columnheader', { name: /^Target/ }).getByRole('button').click();
  await page.waitForFunction(() => location.hash.includes('sort=target'));
  const sorted = await words('td[data-title=Target] .target-key');
  assert.ok(sorted.length > 0);
  assert.deepEqual(sorted, targets.slice(0, sorted.length));
  await tab.to('#/compare');
  assert.deepEqual((await page.getByRole('group', { name: 'A' }).getByLabel('Target').locator('option').allInnerTexts()).slice(1), targets);
  await tab.to(`#/model/${models[0]}`);
  assert.deepEqual(await words('td[data-title=Target] .target-key'), targets);
  await tab.to('#/history');
  assert.deepEqual(await choices('Model'), models);
};

cases['a median and a throughput say of which shape they are'] = async (tab) => {
  const page = await tab.goto('normal');
  const row = page.locator('section[aria-labelledby=models] tbody tr', { hasText: /^bert/ }).first();
  assert.match(await row.locator('td[data-title="Median (ms)"]').innerText(), /batch 1, 128 tokens/);
  assert.match(await row.locator('td[data-title="Most items/s"]').innerText(), /batch 8, 128 tokens/);
};

cases['from the overview over a model to a cell and back'] = async (tab) => {
  const page = await tab.goto('normal');
  await page.getByRole('link', { name: /^bert/ }).first().click();
  await page.waitForFunction(() => location.hash === '#/model/bert');
  assert.match(await tab.heading(), /^bert: /);
  await page.locator('main table[role=grid] tbody tr a').first().click();
  await page.waitForFunction(() => location.hash === '#/cell/1000');
  assert.match(await tab.heading(), /ms median/);
  const tables = page.locator('table.with-marks');
  assert.deepEqual(await page.locator('figure:has(table.with-marks) figcaption').allInnerTexts(), ['Do the launches agree?', 'Memory', 'Error against its limit']);
  assert.equal(await tables.locator('tbody svg.marks').count(), await tables.locator('tbody tr').count());
  await page.goBack();
  await page.waitForFunction(() => location.hash === '#/model/bert');
  assert.match(await tab.heading(), /^bert: /);
};

cases['a point of a chart says its value and leads to its cell'] = async (tab) => {
  const page = await tab.goto('normal', '#/model/bert');
  await tab.drawAll();
  const drawing = page.locator('.drawing').first();
  await drawing.scrollIntoViewIfNeeded();
  // The first marker of the first panel: the smallest batch.
  const marker = drawing.locator('svg path[fill="#1849AB"], svg circle[fill="#1849AB"]').first();
  const box = await marker.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  await drawing.locator('svg text', { hasText: /\d.* \(.* to .*\)/ }).first().waitFor();
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => /^#\/cell\/\d+$/.test(location.hash));
  assert.match(await page.locator('.crumbs').innerText(), /bert \/ cpu/);
};

cases['a legend hides a line, and the theme draws charts anew'] = async (tab) => {
  const page = await tab.goto('normal', '#/model/bert');
  await tab.drawAll();
  const of = (colour) => page.locator(`.drawing svg [stroke="${colour}"]`).count();
  assert.ok(await of('#B88210') > 0);
  await page.locator('.chart-legend button', { hasText: 'openvino' }).first().click();
  await page.waitForFunction(() => document.querySelectorAll('.drawing svg [stroke="#B88210"]').length === 0);
  assert.ok(await of('#1849AB') > 0);
  await page.keyboard.press('t');
  await page.waitForFunction(() => document.querySelectorAll('.drawing svg [stroke="#2A71FF"]').length > 0);
  assert.equal(await of('#1849AB'), 0);
};

cases['charts are saved as SVG and PNG'] = async (tab) => {
  const page = await tab.goto('normal', '#/cell/1000');
  for (const chart of ['over_time', 'distribution', 'phases']) await tab.saved(new RegExp(`${chart} as `), new RegExp(`^bert_cpu_batch_1_seq_128_${chart}\\.`));
  await tab.to('#/compare?a=target%3Acpu&b=target%3Aopenvino');
  // As all charts, also before it is near enough to be drawn.
  const { svg } = await tab.saved(/comparison as /, /^comparison\./);
  for (const words of ['Time of openvino over that of cpu', 'whiskers: 95 % interval over rounds', 'geometric mean']) assert.ok(svg.includes(words), words);
  assert.equal(await page.locator('figure.chart').count(), await page.getByRole('button', { name: /^Save .* as SVG$/ }).count());
};

cases['two selections are compared'] = async (tab) => {
  const page = await tab.goto('normal', '#/compare?a=target%3Acpu&b=target%3Aopenvino');
  await tab.drawAll();
  const before = await tab.heading();
  assert.equal(before, 'openvino is 1.27× as fast as cpu (95 %: 1.26 to 1.27), over 31 cells');
  const cells = await rowsShown(page);
  assert.ok(cells > 5);
  assert.ok(await page.locator('.drawing svg path').count() > cells);
  await page.getByRole('button', { name: 'Swap A and B' }).click();
  await page.waitForFunction((old) => document.querySelector('main h1').textContent !== old, before);
  assert.match(await tab.heading(), /^cpu is 0\.79× as fast as openvino \(95 %: .+ to .+\), over 31 cells$/);
  await page.getByRole('group', { name: 'B' }).getByLabel('Target').selectOption('webgpu@onnxruntime');
  await page.waitForFunction(() => /no ranked cell in common/.test(document.querySelector('main h1').textContent));
};

cases['a value is that of the database'] = async (tab) => {
  const suite = await suitePage();
  const answer = JSON.parse(suite.rows);
  const rows = Array.isArray(answer) ? answer : answer.rows.map((row) => (Array.isArray(row) ? Object.fromEntries(answer.columns.map((column, i) => [column.name ?? column, row[i]])) : row));
  assert.equal(rows.length, 4);
  await tab.goto(suite.page);
  for (const row of rows) {
    await tab.to(`#/cell/${row.result_id}`);
    const shown = await tab.page.locator('[data-field=latency_p50_ms]').innerText();
    assert.equal(numberOf(shown), Number(row.latency_p50_ms.toPrecision(4)), `cell ${row.result_id}: ${shown}`);
    await tab.page.getByText(/^All \d+ fields/).click();
    const exact = await tab.page.locator('details tr', { has: tab.page.locator('code', { hasText: /^latency_p50_ms$/ }) }).locator('td').first().innerText();
    assert.equal(Number(exact), row.latency_p50_ms);
  }
};

cases['where no difference is shown, both targets are named, and no change is claimed'] = async (tab) => {
  const page = await tab.goto('normal', '#/advice');
  const rows = page.locator('main table[role=grid]').first().locator('tbody tr');
  const open = rows.filter({ hasText: 'no difference shown' });
  assert.ok(await open.count() > 0 && await open.count() < await rows.count());
  for (const row of await open.all()) assert.equal(await row.locator('.use .target').count(), 2);
  await tab.to('#/history');
  assert.equal(await tab.heading(), 'Nothing changed since the run before');
};

cases['only the keyboard'] = async (tab) => {
  const page = await tab.goto('normal');
  await page.keyboard.press('/');
  await page.keyboard.type('bert openvino batch 4');
  await page.locator('#hits li').first().waitFor();
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.startsWith('#/cell/'));
  const cell = await page.evaluate(() => location.hash);
  await page.keyboard.press(']');
  await page.waitForFunction((old) => location.hash !== old, cell);
  await page.keyboard.press('[');
  await page.waitForFunction((old) => location.hash === old, cell);
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await page.waitForFunction(() => location.hash === '#/cells');
  await page.locator('td[tabindex="0"]').focus();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await page.evaluate(() => [document.activeElement.cellIndex, document.activeElement.parentElement.rowIndex]), [1, 2]);
  const second = await page.locator('main tbody tr').nth(1).locator('a').first().getAttribute('href');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await page.waitForFunction((hash) => location.hash === hash, second);
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
};

cases['a link into the middle opens the same, and a reload too'] = async (tab) => {
  const page = await tab.goto('normal', '#/matrix?batch=4');
  const heading = await tab.heading();
  assert.match(heading, /batch 4/);
  await page.reload();
  await tab.ready();
  assert.equal(await tab.heading(), heading);
  await tab.goto('normal', '#/cell/99');
  assert.match(await tab.heading(), /no cell 99/);
  // The task key, as `assay plot --cell` takes it, leads to the same cell.
  await tab.to('#/cell/1000');
  const taskKey = await tab.page.locator('details tr', { has: tab.page.locator('code', { hasText: /^task_key$/ }) }).locator('td').first().textContent();
  const verdict = await tab.heading();
  await tab.goto('normal', `#/cell/${encodeURIComponent(taskKey)}`);
  assert.equal(await tab.heading(), verdict);
};

cases['tables are copied as Markdown and CSV'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells?f.target=cpu&f.batch_size=1', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByRole('button', { name: 'Copy as Markdown' }).click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  const markdown = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(markdown, /^\| Model \| Target \|/);
  assert.equal(markdown.trim().split('\n').length, 2 + await rowsShown(page));
  assert.match(markdown, /\| bert \| cpu \| 1 \| 128 \|/);
};

cases['every table of a cell is copied, and the numbers of a chart'] = async (tab) => {
  const page = await tab.goto('normal', '#/cell/1000', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.getByText(/^All \d+ fields/).click();
  const copied = async (kind, of) => {
    await page.getByRole('button', { name: `Copy as ${kind}: ${of}`, exact: true }).click();
    return (await page.evaluate(() => navigator.clipboard.readText())).trim().split(/\r?\n/);
  };
  const p50 = Number(await page.locator('details tr', { has: page.locator('code', { hasText: /^latency_p50_ms$/ }) }).locator('td').first().innerText());
  const percentiles = await copied('CSV', 'percentiles');
  assert.equal(percentiles[0], 'percentile,latency_ms,95_%_from_ms,95_%_to_ms,samples');
  assert.deepEqual(percentiles[1].split(',').slice(0, 2), ['p50', String(p50)]);
  assert.equal((await copied('CSV', 'Do the launches agree?')).length, 4);
  assert.match((await copied('Markdown', 'Where the time of a launch goes'))[0], /^\| Phase \| Time \(s\) \| Share \|$/);
  assert.match((await copied('Markdown', 'Memory'))[2], /^\| highest in the steady part \| [\d.]+ \|$/);
  assert.match((await copied('CSV', 'Error against its limit'))[1], /^root mean square,2\.0\d*e-7,/);
  assert.ok((await copied('CSV', 'all fields')).some((line) => line.startsWith(`latency_p50_ms,${p50},ms,`)));
  await tab.to('#/charts');
  const numbers = page.locator('.chart-tools details').first();
  await numbers.locator('summary').click();
  await numbers.getByRole('button', { name: /^Copy as CSV: numbers of / }).click();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split('\r\n');
  assert.equal(lines.length, 1 + await numbers.locator('tbody tr').count());
};

cases['no serious fault of accessibility'] = async (tab) => {
  for (const colorScheme of ['light', 'dark']) {
    await tab.goto('normal', '', { colorScheme });
    for (const route of colorScheme === 'light' ? everyPage : darkPages) {
      await tab.to(route);
      assert.deepEqual(await tab.accessibility(colorScheme === 'dark' ? ['color-contrast'] : null), [], `${route}, ${colorScheme}`);
    }
  }
};

cases['a phone: nothing is cut, nothing is wider than the screen'] = async (tab) => {
  await tab.goto('normal', '', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  for (const route of [...everyPage, `#/cell/${'a'.repeat(200)}`]) {
    await tab.to(route);
    await tab.screenshot(`phone_${route.replace(/\W+/g, '_')}`);
    assert.ok(await tab.tooWide() <= 0, `${route} is ${await tab.tooWide()} px too wide`);
    assert.deepEqual((await tab.page.locator('.drawing svg text').allTextContents()).filter((words) => words.includes('…')), [], route);
  }
};

cases['a phone: tables show a few cards, and more on request'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
  assert.equal(await rowsShown(page), 10);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height < 4000, `${height} px`);
  await page.getByRole('button', { name: 'Show 10 more' }).click();
  await page.waitForFunction(() => document.querySelectorAll('main tbody tr').length === 20);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.waitForFunction(() => location.hash.includes('p=2') && document.querySelectorAll('main tbody tr').length === 10);
};

cases['printed, every page has its charts on paper'] = async (tab) => {
  const page = await tab.goto('normal', '#/cell/1000', { colorScheme: 'dark' });
  await tab.drawAll();
  await page.emulateMedia({ media: 'print' });
  await page.waitForFunction(() => document.querySelectorAll('.drawing svg [stroke="#1849AB"]').length > 0);
  assert.equal(await page.locator('header').isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  await tab.screenshot('print_cell');
  const pdf = await page.pdf({ format: 'A4', landscape: true });
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
  await page.emulateMedia({ media: 'screen' });
  await page.waitForFunction(() => document.querySelectorAll('.drawing svg [stroke="#2A71FF"]').length > 0);
};

cases['a thousand cells'] = async (tab) => {
  const page = await tab.goto('thousand');
  const took = await page.evaluate(() => performance.getEntriesByName('assay-ready')[0].startTime);
  console.log(`      thousand.html, 1008 cells of invented results, was ready after ${took.toFixed(0)} ms`);
  for (const route of ['#/', '#/matrix', '#/cells', '#/compare', '#/advice', '#/model/bert']) {
    await tab.to(route);
    await tab.drawAll();
    assert.ok(await tab.tooWide() <= 0, `${route} is ${await tab.tooWide()} px too wide`);
  }
  await tab.to('#/matrix');
  await tab.screenshot('thousand_matrix');
  await tab.to('#/');
  await tab.screenshot('thousand_overview');
};

cases['in the dark'] = async (tab) => {
  const page = await tab.goto('normal', '', { colorScheme: 'dark' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(21, 24, 28)');
  for (const route of darkPages) {
    await tab.to(route);
    await tab.screenshot(`dark_${route.replace(/\W+/g, '_')}`);
    assert.equal(await page.locator('.drawing svg [stroke="#1849AB"]').count(), 0, `${route} has a colour of the light theme`);
  }
  await tab.to('#/cells');
  const swatch = () => page.locator('.hw-cpu .swatch').first().evaluate((one) => getComputedStyle(one).backgroundColor);
  assert.equal(await swatch(), 'rgb(42, 113, 255)');
  await page.keyboard.press('t');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
  assert.equal(await swatch(), 'rgb(24, 73, 171)');
};
