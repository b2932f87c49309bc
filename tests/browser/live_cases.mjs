// SPDX-License-Identifier: Apache-2.0
// The page of `assay serve`: it waits for a database, follows what is measured, and says when the server has ended.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { waitingCases } from './harness.mjs';

const binary = process.env.ASSAY_BINARY;

waitingCases['the page of a server follows what is measured'] = async (tab) => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-live-'));
  const environment = { ...process.env, ASSAY_CACHE_DIR: join(folder, 'cache'), ASSAY_RUNTIME_DIR: folder, HF_HUB_OFFLINE: '1', HF_HOME: join(folder, 'hf') };
  delete environment.ASSAY_DB_PATH;
  const measure = (...words) => promisify(execFile)(binary, ['bench', '--engine', 'null', '--iterations', '20', '--warmup', '1', '--save', '--quiet', ...words], { cwd: folder, env: environment });
  const server = spawn(binary, ['serve'], { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((yes) => { server.on('exit', yes); });
  try {
    const address = await new Promise((yes) => { server.stdout.once('data', (text) => yes(String(text).match(/http:\S+/)[0])); });
    tab.expect(/status of 503|net::ERR_/);  // before there are results, and after the server has ended
    const page = await tab.open(address);
    await page.getByText("there is no database 'benchmark_db.duckdb'").waitFor();
    await page.getByText('assay run --models-set small').waitFor();
    assert.deepEqual(await tab.accessibility(), []);
    await measure('--batch-sizes', '1');
    await page.locator('main h1').waitFor();
    await page.evaluate(() => { location.hash = '#/cells'; });
    const rows = page.locator('main table[role=grid] tbody tr');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    // The link, and so the place in the page, stays.
    await measure('--batch-sizes', '2');
    await page.waitForFunction(() => document.querySelectorAll('main table[role=grid] tbody tr').length === 2);
    const progress = join(folder, 'benchmark_db.progress.json');
    writeFileSync(progress, JSON.stringify({ pid: process.pid, command: 'assay suite', cells: 12, cells_done: 3, launches: 36, launches_done: 9, seconds_left: 240, lines: ['one', '<b>two</b>'] }));
    const strip = page.locator('.running');
    await strip.getByText('3 of 12 cells, 9 of 36 launches; about 4 min left').waitFor();
    await strip.locator('summary').click();
    assert.deepEqual(await strip.locator('li').allInnerTexts(), ['<b>two</b>', 'one']);
    await page.screenshot({ path: tab.picture('live') });
    assert.deepEqual(await tab.accessibility(), []);
    unlinkSync(progress);
    await strip.waitFor({ state: 'detached' });
    // Its snapshot is gone, as with a database that was moved: the page says so, and keeps what it has.
    const snapshot = join(folder, 'benchmark_db.snapshot.duckdb');
    renameSync(snapshot, snapshot + '.aside');
    await page.getByText('This page shows what was read before').waitFor();
    assert.equal(await rows.count(), 2);
    renameSync(snapshot + '.aside', snapshot);
    await strip.waitFor({ state: 'detached' });
    server.kill('SIGTERM');
    await page.getByText('does not answer').waitFor();
    assert.equal(await rows.count(), 2);
  } finally {
    server.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
};
