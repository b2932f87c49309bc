// SPDX-License-Identifier: Apache-2.0
// What is shown as a result and what is not, on the screen, on paper and in files.
import assert from 'node:assert/strict';
import { cases, suitePage } from './harness.mjs';

const text = async (locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim();

cases['wrong numbers have no time that looks like a result'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells?f.state=wrong');
  const median = page.locator('td[data-title^="Median"]').first();
  assert.equal(await text(median), '≠ wrong');
  assert.equal(await text(page.locator('td[data-title^="Items"]').first()), '–');
  await page.locator('main table[role=grid] tbody tr a').first().click();
  await page.waitForFunction(() => location.hash.startsWith('#/cell/'));
  assert.match(await tab.heading(), /^≠ wrong/);
  assert.equal(await page.locator('[data-field=latency_p50_ms]').count(), 0);
  assert.equal(await page.locator('.drawing').count(), 0);
  await page.getByText(/^All \d+ fields of the record, of wrong numbers/).click();
  const record = page.locator('details tr', { has: page.locator('code', { hasText: /^latency_p50_ms$/ }) }).locator('td').first();
  assert.match(await text(record), /^[\d.]+ ≠ wrong numbers$/);
  await page.getByRole('link', { name: 'run-new' }).click();
  await page.waitForFunction(() => location.hash.startsWith('#/history/'));
  assert.match(await tab.heading(), /: ≠ wrong$/);
  await tab.to('#/cells?sort=latency_p50_ms');
  assert.match(await text(page.locator('td[data-title^="Median"]').first()), /^[\d.]+ ±/);
};

cases['the numbers of a chart have headings and units'] = async (tab) => {
  const page = await tab.goto('normal', '#/charts/hardware_comparison');
  await page.locator('summary', { hasText: 'Numbers' }).first().click();
  const numbers = page.getByRole('group', { name: /^Numbers of/ });
  const headings = (await numbers.locator('thead th').allInnerTexts()).map((words) => words.replace(/\s+/g, ' '));
  assert.ok(headings.some((words) => / ms$/.test(words)), headings.join(', '));
  assert.ok(!headings.includes('x') && !headings.includes('panel'), headings.join(', '));
  assert.ok(await numbers.locator('tbody tr').count() > 12);
};

cases['on paper tables have headings and every row, charts their legend, and nothing is folded'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells');
  const rows = page.locator('main table[role=grid] tbody tr');
  assert.equal(await rows.count(), 50);
  await page.emulateMedia({ media: 'print' });
  await page.waitForFunction(() => document.querySelectorAll('main table[role=grid] tbody tr').length === 144);
  assert.ok(await page.getByRole('columnheader', { name: /^Median/ }).getByText('Median').isVisible());
  assert.equal(await page.getByRole('button', { name: 'Copy as CSV' }).isVisible(), false);
  await tab.screenshot('print_cells');
  await page.emulateMedia({ media: 'screen' });
  await page.waitForFunction(() => document.querySelectorAll('main table[role=grid] tbody tr').length === 50);
  await tab.to('#/charts/hardware_comparison');
  await tab.drawAll();
  await page.emulateMedia({ media: 'print' });
  await page.waitForFunction(() => document.querySelector('main details')?.open);
  assert.ok(await page.locator('.chart-legend').getByText('openvino').isVisible());
  assert.ok(await page.locator('.numbers tbody td').first().isVisible());
  await tab.screenshot('print_charts');
  await page.emulateMedia({ media: 'screen' });
  await page.waitForFunction(() => !document.querySelector('main details').open);
  // Also of a chart with more than a hundred numbers.
  await tab.to('#/charts/memory_scaling');
  await tab.drawAll();
  await page.emulateMedia({ media: 'print' });
  await page.waitForFunction(() => document.querySelector('main details')?.open);
  const long = page.locator('.numbers').first().locator('tbody tr');
  assert.equal(await long.count(), 144);
  assert.ok(await long.last().isVisible());
};

cases['a saved picture says of what it is'] = async (tab) => {
  const page = await tab.goto('normal', '#/cell/1000');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /distribution as SVG/ }).click()]);
  assert.equal(download.suggestedFilename(), 'bert_cpu_batch_1_seq_128_distribution.svg');
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const svg = Buffer.concat(chunks).toString();
  for (const words of ['How are the times of bert on cpu, batch 1, 128 tokens distributed?', 'batch 1 · 128 tokens · float32 · laboratory · 3 launches · 2026-03-02', 'each with its 95 % interval'])
    assert.ok(svg.includes(words), words);
  // The page around it says that already.
  assert.equal(await page.locator('figcaption', { hasText: 'How are the times of bert' }).count(), 0);
};

cases['what is missing says which command brings it'] = async (tab) => {
  const page = await tab.goto('normal', '#/charts/hardware_efficiency');
  assert.match(await text(page.locator('main .empty')), /assay doctor --peak/);
  await tab.to('#/advice');
  assert.match(await text(page.locator('section[aria-labelledby=choices] > .note')), /geometric means.*The overview compares the smallest shape only/);
  await tab.goto('empty');
  assert.match(await text(tab.page.locator('main')), /assay run --models-set small/);
};

cases['what assay doctor found before the newest run stands with the machine'] = async (tab) => {
  const page = await tab.goto('normal', '#/machines');
  const section = page.locator('section[aria-labelledby^="machine-"]');
  assert.equal(await text(section.locator('h3')), 'Before its newest run (2026-03-02 10:00 UTC): score 74 of 100');
  assert.deepEqual((await section.locator('.findings li').allInnerTexts()).map((words) => words.replace(/\s+/g, ' ').trim()), [
    'warn swap: 12 of 512 MiB used. To do: free some memory, then swapoff -a && swapon -a as root',
    'bad memory free: 0.9 of 15.6 GiB. To do: end programs that use memory',
    'ok clock source']);
  assert.equal(await page.locator('dt', { hasText: 'doctor' }).count(), 0);
  const facts = await section.locator('dl.facts > div').allInnerTexts();
  assert.deepEqual(facts.map((words) => words.replace(/\s+/g, ' ').trim()), ['cores 2', 'hardware threads 4', 'memory 15.6 GiB', 'GPUs 0', 'CUDA usable no', 'operating system Debian 12']);
  await tab.screenshot('machines');
  // As the program writes it.
  await tab.goto((await suitePage()).page, '#/machines');
  assert.ok(await tab.page.locator('.findings li').count() > 1);
};

cases['the list of keys keeps the focus and gives it back'] = async (tab) => {
  const page = await tab.goto('normal', '#/cells');
  await page.locator('td[tabindex="0"]').focus();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  for (let i = 0; i < 3; i++) {
    await page.keyboard.press('Tab');
    assert.ok(await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('dialog') !== null), 'the focus left the dialog');
  }
  await page.keyboard.press('g');
  await page.keyboard.press('m');
  assert.equal(await page.evaluate(() => location.hash), '#/cells');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TD');
};

cases['a chart that is wider than the window is scrolled by keyboard'] = async (tab) => {
  const page = await tab.goto('normal', '#/charts/optimization_opportunities', { viewport: { width: 600, height: 900 } });
  await tab.drawAll();
  const box = page.locator('figure.chart > .scroll').first();
  await box.focus();
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.querySelector('figure.chart > .scroll').scrollLeft > 0);
};

cases['machines are told apart on the overview, among the cells and on the page of a model'] = async (tab) => {
  const page = await tab.goto('mixed');
  assert.match(await tab.heading(), /On laboratory 1a2b3c: .*On laboratory 9f8e7d: /);
  const places = async () => [...new Set(await page.locator('td[data-title="Machine"]').allInnerTexts())].sort();
  assert.deepEqual(await places(), ['laboratory 1a2b3c', 'laboratory 9f8e7d']);
  await tab.screenshot('mixed_overview');
  await tab.to('#/cells');
  assert.deepEqual(await places(), ['laboratory 1a2b3c', 'laboratory 9f8e7d']);
  await tab.to('#/advice');
  assert.deepEqual(await places(), ['laboratory 1a2b3c', 'laboratory 9f8e7d']);
  await tab.to('#/');
  await page.locator('tr', { hasText: 'laboratory 9f8e7d' }).locator('a').first().click();
  await page.waitForFunction(() => /machine=laboratory\+9f8e7d/.test(location.hash));
  assert.match(await tab.heading(), / on laboratory 9f8e7d: /);
  assert.deepEqual(await places(), ['laboratory 9f8e7d']);
};
