// SPDX-License-Identifier: Apache-2.0
// The matrix: groups that fold, search and filters, all in the link; what is copied; what is out of sight on a phone.
import assert from 'node:assert/strict';
import { cases } from './harness.mjs';

const rows = (page) => page.locator('.matrix tbody tr:not(.group)');
const groups = (page) => page.locator('.matrix tr.group');

cases['a matrix of many models is folded, and the link has what was unfolded'] = async (tab) => {
  const page = await tab.goto('thousand', '#/matrix');
  assert.equal(await rows(page).count(), 0);
  const all = await groups(page).count();
  assert.ok(all > 3);
  assert.ok((await groups(page).locator('td').allInnerTexts()).some((text) => Number.parseInt(text, 10) > 0), 'a folded group counts the fastest');
  await page.getByRole('button', { name: /audio/ }).click();
  await page.waitForFunction(() => location.hash.includes('fold='));
  const models = await rows(page).count();
  assert.ok(models > 0);
  const link = page.url().split('#')[1];
  await tab.goto('thousand', `#${link}`);
  assert.equal(await rows(tab.page).count(), models);
  await tab.page.getByRole('button', { name: 'Unfold all' }).click();
  await tab.page.waitForFunction(() => location.hash.includes('fold=none'));
  assert.equal(await rows(tab.page).count(), 84);
  await tab.page.getByRole('button', { name: 'Fold all' }).click();
  await tab.page.waitForFunction(() => document.querySelectorAll('.matrix tbody tr:not(.group)').length === 0);
  await tab.page.emulateMedia({ media: 'print' });
  await tab.page.waitForFunction(() => document.querySelectorAll('.matrix tbody tr:not(.group)').length === 84);
};

cases['the matrix is searched and filtered, and the link has both'] = async (tab) => {
  const page = await tab.goto('thousand', '#/matrix');
  await page.getByLabel('Search in the matrix').fill('bert cpu');
  await page.waitForFunction(() => location.hash.includes('q=bert+cpu'));
  const found = await rows(page).locator('bdi').allInnerTexts();
  assert.ok(found.length > 1 && found.every((name) => name.includes('bert')), found.join(' '));
  await tab.goto('thousand', '#/matrix?category=audio');
  assert.ok(await rows(tab.page).count() > 1);
  assert.equal(await groups(tab.page).count(), 0);
  await tab.page.locator('label.field', { has: tab.page.locator('span', { hasText: /^Model$/ }) }).locator('select').selectOption('whisper');
  await tab.page.waitForFunction(() => location.hash.includes('model=whisper'));
  assert.deepEqual(await rows(tab.page).locator('bdi').allInnerTexts(), ['whisper']);
  await tab.to('#/matrix?q=nothing+has+this');
  assert.equal(await tab.heading(), 'No row matches this filter');
  await tab.page.getByRole('link', { name: 'Show all' }).click();
  await tab.page.waitForFunction(() => !location.hash.includes('q='));
  assert.ok(await groups(tab.page).count() > 3);
};

cases['the matrix is copied, folded rows too'] = async (tab) => {
  const page = await tab.goto('normal', '#/matrix?fold=audio', { permissions: ['clipboard-read', 'clipboard-write'] });
  const copied = async (kind) => {
    await page.getByRole('button', { name: `Copy as ${kind}: the matrix` }).click();
    return (await page.evaluate(() => navigator.clipboard.readText())).trim().split(/\r?\n/);
  };
  const markdown = await copied('Markdown');
  assert.equal(markdown[0], '| Category | Model | Row | cpu | cuda | openvino | webgpu@onnxruntime |');
  assert.equal(markdown.length, 2 + 12);
  assert.ok(markdown.some((line) => line.startsWith('| audio | whisper |')));
  const csv = await copied('CSV');
  assert.match(csv[0], /,cpu median ms,cuda median ms,openvino median ms,/);
};

cases['a phone shows all targets of the matrix, and says what is out of sight'] = async (tab) => {
  const how = (width) => ({ viewport: { width, height: 844 }, isMobile: true, hasTouch: true });
  const page = await tab.goto('normal', '#/matrix', how(390));
  const beyond = await page.evaluate(() => Math.max(...[...document.querySelectorAll('.matrix thead th')].map((head) => head.getBoundingClientRect().right)) - innerWidth);
  assert.ok(beyond <= 0, `the last target ends ${beyond} px outside`);
  assert.equal(await page.locator('.beyond').count(), 0);
  await tab.screenshot('phone_matrix_targets');
  const narrow = await tab.goto('normal', '#/matrix', how(260));
  const words = narrow.locator('.beyond');
  await words.waitFor();
  assert.match(await words.innerText(), /^More targets: \d to the right →$/);
  await narrow.locator('.scroll:has(.matrix)').evaluate((box) => { box.scrollLeft = box.scrollWidth; });
  await narrow.waitForFunction(() => /to the left$/.test(document.querySelector('.beyond').textContent));
};

cases['a folded matrix has no serious fault of accessibility'] = async (tab) => {
  await tab.goto('thousand', '#/matrix');
  assert.deepEqual(await tab.accessibility(null), []);
};
