// SPDX-License-Identifier: Apache-2.0
// Compare and matrix, with the results of scripted_mixed.hpp: two machines, several precisions, names that look like markup.
import assert from 'node:assert/strict';
import { cases, suitePage } from './harness.mjs';

const column = (page, title) => page.locator(`section[aria-labelledby=pairs] td[data-title="${title}"]`).allInnerTexts();
const targets = '#/compare?a=target%3Acpu&b=target%3Aopenvino';

cases['a batch that one side chooses is that of both'] = async (tab) => {
  const page = await tab.goto('mixed', targets);
  assert.match(await tab.heading(), /^openvino .* cpu/);
  assert.ok((await column(page, 'Shape')).some((words) => words.startsWith('batch 1')));
  await page.getByRole('group', { name: 'A' }).getByLabel('Batch').selectOption('4');
  await page.waitForFunction(() => /, batch 4, over \d+ cells?$/.test(document.querySelector('main h1').textContent));
  const shapes = await column(page, 'Shape');
  assert.ok(shapes.length > 3 && shapes.every((words) => words.startsWith('batch 4')), shapes.join('; '));
  await page.getByRole('group', { name: 'B' }).getByLabel('Target').selectOption('');
  await page.waitForFunction(() => document.querySelector('main h1').textContent === 'Choose the target or the batch of B');
  assert.equal(await page.locator('.drawing').count(), 0);
};

cases['two runs of the same cells are compared, and nothing is claimed'] = async (tab) => {
  const page = await tab.goto('normal', '#/history');
  await page.getByRole('link', { name: 'Compare the last two runs' }).click();
  await page.waitForFunction(() => location.hash.startsWith('#/compare?'));
  assert.match(await tab.heading(), /^run run-new and run run-old: not compared/);
  const choose = (side, label, value) => page.getByRole('group', { name: side }).getByLabel(new RegExp(`^${label}`)).selectOption(value);
  assert.deepEqual((await page.getByRole('group', { name: 'A' }).getByLabel(/^Run/).locator('option').allInnerTexts()), ['the newest', '2026-03-02 10:00 (run-new)', '2026-02-27 10:00 (run-old)']);
  await tab.to('#/compare?a=any&b=any');
  await choose('A', 'Run', 'run-old');
  await page.waitForFunction(() => document.querySelector('main h1').textContent === 'Choose the run of B');
  await choose('B', 'Run', 'run-new');
  await page.waitForFunction(() => location.hash.includes('run-new'));
  assert.match(await tab.heading(), /^run run-new and run run-old: not compared: measured in different runs, over \d+ cells$/);
  assert.match(await page.locator('main').innerText(), /Over all, run run-new takes [\d.]+× the time of run run-old\. Nothing is claimed/);
  assert.deepEqual([...new Set(await column(page, 'What is shown'))], ['not compared: measured in different runs']);
  for (const words of await column(page, '95 % interval')) assert.match(words, /^[\d.]+× to [\d.]+× \(of medians\)$/);
  await tab.drawAll();
  await tab.screenshot('compare_runs');
  assert.ok((await page.locator('section[aria-labelledby=environments]').innerText()).includes('score of the machine'));
  // An earlier result is in the history of its series; the newest has a page.
  const row = page.locator('section[aria-labelledby=pairs] tbody tr').first();
  const [before, after] = await row.locator('td.numeric a').evaluateAll((links) => links.map((link) => link.getAttribute('href')));
  assert.match(before, /^#\/history\/series-/);
  assert.match(after, /^#\/cell\/\d+$/);
  assert.deepEqual(await tab.accessibility(null), []);
};

cases['two versions of the same cells are compared'] = async (tab) => {
  const page = await tab.goto('normal', '#/compare?a=target:cpu,engine_version:1.30.0&b=target:cpu,engine_version:1.31.1');
  assert.match(await tab.heading(), /^version 1\.31\.1 and version 1\.30\.0: not compared: measured in different runs, on cpu, over \d+ cells$/);
  assert.equal(await page.getByRole('group', { name: 'A' }).getByLabel(/^Version/).locator('option').nth(1).innerText(), '1.30.0 (onnxruntime, openvino)');
  assert.ok((await column(page, 'Ratio')).length > 10);
};

cases['runs and versions in a database: the ratios are those of its medians'] = async (tab) => {
  const { twice } = await suitePage();
  const page = await tab.goto(twice.page, `#/compare?a=run_id:${twice.before[0].run_id}&b=run_id:later`);
  const medians = (results) => results.map((row) => Number(row.latency_p50_ms.toPrecision(3)).toString()).sort();
  const shown = async (title) => (await column(page, title)).map((text) => Number(text).toString()).sort();
  for (const [a, b, link] of [[`run ${twice.before[0].run_id}`, 'run later'], ['version 1.0', 'version later version', '#/compare?a=engine_version:1.0&b=engine_version:later%20version']]) {
    if (link) await tab.to(link);
    assert.deepEqual(await shown(`${a} (ms)`), medians(twice.before));
    assert.deepEqual(await shown(`${b} (ms)`), medians(twice.after));
    assert.deepEqual([...new Set(await column(page, 'Ratio'))], ['0.50×']);
    for (const words of await column(page, 'What is shown')) assert.match(words, /^not (compared: measured in different runs|ranked: .+)$/);
  }
};

cases['two machines are told apart on the compare page and in the matrix'] = async (tab) => {
  const page = await tab.goto('mixed', targets);
  assert.deepEqual([...new Set(await column(page, 'Machine'))].sort(), ['laboratory 1a2b3c', 'laboratory 9f8e7d']);
  await tab.to('#/compare?a=machine%3Alaboratory+1a2b3c&b=machine%3Alaboratory+9f8e7d');
  assert.match(await tab.heading(), /^laboratory 9f8e7d and laboratory 1a2b3c: not compared: measured on different machines, over \d+ cells?$/);
  const alone = page.locator('section[aria-labelledby=alone]');
  assert.equal(await alone.locator('h2').innerText(), 'Cells that are not compared');
  await tab.to(targets);
  for (const why of await alone.locator('td[data-title="Why it is not compared"]').allInnerTexts()) assert.match(why, /^A: .+; B: .+/);
  await tab.to('#/matrix');
  await page.getByLabel('Machine').selectOption('laboratory 9f8e7d');
  await page.waitForFunction(() => document.querySelector('main').textContent.includes('Times of laboratory 9f8e7d'));
  await tab.screenshot('mixed_matrix');
  await tab.to(targets);
  await tab.screenshot('mixed_compare');
};

cases['what is not ranked is in the picture and in the table, with the reason'] = async (tab) => {
  const page = await tab.goto('mixed', targets);
  await page.locator('.chart-legend', { hasText: 'not ranked' }).waitFor();
  await tab.drawAll();
  assert.ok(await page.locator('.drawing svg path[stroke-dasharray="2.2,1.6"]').count() > 0);
  // The ranked ones fill the first page of the table.
  await page.locator('section[aria-labelledby=pairs] label.field', { hasText: 'What is shown' }).locator('select').selectOption('not ranked');
  await page.waitForFunction(() => location.hash.includes('f.claim=not'));
  const claims = await column(page, 'What is shown');
  assert.ok(claims.length > 0 && claims.every((words) => /^not ranked: (cpu|openvino|both): ./.test(words)), claims.join('; '));
  assert.ok((await page.locator('main').innerText()).includes(`${claims.length} cells that both sides have are not ranked`));
};

cases['names that look like markup are text'] = async (tab) => {
  const page = await tab.goto('mixed');
  const name = '<b onload="x()">&amp;\'quoted\'</b></script><!--';
  for (const route of ['#/', '#/matrix', targets, '#/cells', `#/model/${encodeURIComponent(name)}`]) {
    await tab.to(route);
    await tab.drawAll();
    assert.ok((await page.locator('main').innerText()).includes(name), route);
    assert.equal(await page.locator('main b[onload], main script').count(), 0, route);
    assert.ok(await tab.tooWide() <= 0, `${route} is ${await tab.tooWide()} px too wide`);
  }
};

cases['damaged links are answered in words'] = async (tab) => {
  const page = await tab.goto('mixed', '#/compare?a=target:100%25&b=target:cpu');
  assert.equal(await tab.heading(), '100% and cpu have no ranked cell in common');
  assert.equal(await page.getByRole('group', { name: 'A' }).getByLabel('Target').inputValue(), '100%');
  for (const route of ['#/compare?a=%&b=%25%25', '#/compare?a=target:%25E0%25A4%25A&b=__proto__:x', '#/compare?a=:::,,,&b=constructor:y']) {
    await tab.to(route);
    assert.match(await tab.heading(), /^Choose/, route);
  }
  await tab.to('#/matrix?batch=abc&precision=float7&tokens=-1&machine=nowhere');
  assert.match(await page.locator('main').innerText(), /The link names batch abc, precision float7, -1 tokens, machine nowhere, which no cell has\./);
  assert.match(await tab.heading(), /batch 1/);
};

cases['a page that cannot be drawn says so, and the next one is drawn'] = async (tab) => {
  const page = await tab.goto('mixed');
  await page.evaluate(() => {
    window.kept = Array.prototype.flatMap;
    Array.prototype.flatMap = () => { throw new Error('broken on purpose'); };
  });
  await tab.to('#/matrix');
  assert.equal(await tab.heading(), 'This page cannot be shown');
  assert.match(await page.locator('main').innerText(), /broken on purpose/);
  await page.evaluate(() => { Array.prototype.flatMap = window.kept; });
  await tab.to('#/compare');
  assert.match(await tab.heading(), /, over \d+ cells$/);
};

cases['the arrow keys move in the matrix'] = async (tab) => {
  const page = await tab.goto('mixed', '#/matrix');
  await page.locator('.matrix [tabindex="0"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown'); // over the line of the group
  assert.deepEqual(await page.evaluate(() => [document.activeElement.cellIndex, document.activeElement.parentElement.rowIndex]), [1, 2]);
};

cases['compare and matrix of mixed results have no serious fault of accessibility'] = async (tab) => {
  await tab.goto('mixed');
  for (const route of ['#/matrix', targets]) {
    await tab.to(route);
    assert.deepEqual(await tab.accessibility(null), [], route);
  }
};
