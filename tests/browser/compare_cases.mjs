// SPDX-License-Identifier: Apache-2.0
// Compare and matrix, with the results of scripted_mixed.hpp: two machines, several precisions, names that look like markup.
import assert from 'node:assert/strict';
import { cases } from './harness.mjs';

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
