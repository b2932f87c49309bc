// SPDX-License-Identifier: Apache-2.0
// run.mjs WORK [NAME]: opens the pages of scripted_pages, and that of a suite which is run here, in Chromium, and uses them as a
// person would. Screenshots of every page come into WORK/screenshots. With NAME only the cases whose name contains it.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases, fail, open, usePlaces, waitingCases } from './harness.mjs';
import './cases.mjs';
import './chart_page_cases.mjs';
import './compare_cases.mjs';
import './live_cases.mjs';
import './matrix_cases.mjs';
import './shown_cases.mjs';

const [work, only = ''] = process.argv.slice(2);
const { ASSAY_DEPS_DIR: deps, ASSAY_PAGES: pages, ASSAY_BINARY: assay } = process.env;
const require = createRequire(join(deps, 'browser/node_modules/'));
if (!existsSync('/usr/bin/chromium') || !existsSync(join(deps, 'browser/node_modules/playwright-core'))) {
  console.error('Chromium or playwright-core is missing; run: setup/fetch browser');
  process.exit(1);
}
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const screenshots = join(work, 'screenshots');
mkdirSync(screenshots, { recursive: true });

// The same results once more with half the times, as those of a later run with another version of the runtime, and the page of the
// whole history.
async function withLaterRun(folder, run) {
  const answer = await run('query', '--db-path', 'h.duckdb', '--format', 'json', '--sql', 'SELECT * FROM benchmark_results ORDER BY result_id');
  if (answer.status !== 0) fail(`assay query: ${answer.stderr}`);
  const { rows } = JSON.parse(answer.stdout);
  const results = rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name, value]) => name !== 'result_id' && value !== null)));
  const halves = (name) => name.startsWith('latency_p50') && name.endsWith('_ms');
  const later = results.map((row) => ({ ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, halves(name) ? value / 2 : value])),
    run_id: 'later', engine_version: 'later version', timestamp: row.timestamp.replace(/^\d+/, (year) => Number(year) + 1), attempt_id: `later-${row.attempt_id ?? row.task_key}` }));
  writeFileSync(join(folder, 'later.json'), JSON.stringify({ schema_version: '1.0', results: later }));
  for (const words of [['db', 'import', '--db-path', 'h.duckdb', 'later.json'], ['coverage', '--generate-dashboard', '--db-path', 'h.duckdb', '--output', 'both']]) {
    const { status, stderr } = await run(...words);
    if (status !== 0) fail(`assay ${words.join(' ')} ended with ${status}: ${stderr}`);
  }
  return { page: join(folder, 'both', 'index.html'), before: results, after: later };
}

// A suite with the null engine: its page and its database must say the same. It is measured while the first cases run.
async function measured() {
  const folder = mkdtempSync(join(tmpdir(), 'assay-browser-'));
  const config = { batch_sizes: [1, 2], sequence_lengths: [16], warmup_iterations: 1, benchmark_iterations: 30, launches: 2,
    model_families: { embedding: ['prajjwal1/bert-tiny'], vision: ['vit'] } };
  writeFileSync(join(folder, 'c.json'), JSON.stringify(config));
  const run = (...words) => new Promise((yes) => {
    execFile(assay, words, { cwd: folder, encoding: 'utf8', timeout: 120_000, env: { ...process.env, HF_HUB_OFFLINE: '1', HOME: folder } },
      (error, stdout, stderr) => yes({ status: error?.code ?? (error ? 1 : 0), stdout, stderr }));
  });
  const suite = await run('suite', '--config', 'c.json', '--engine', 'null', '--quiet', '--db-path', 'h.duckdb', '--output-dir', 'out');
  if (suite.status !== 0) fail(`assay suite ended with ${suite.status}: ${suite.stderr}`);
  const found = readdirSync(join(folder, 'out'), { recursive: true }).map(String).find((name) => name.endsWith('index.html'));
  if (!found) fail('assay suite wrote no index.html');
  const answer = await run('query', '--db-path', 'h.duckdb', '--format', 'json', '--sql', 'SELECT result_id, model, latency_p50_ms, batch_size FROM benchmark_results ORDER BY result_id');
  if (answer.status !== 0) fail(`assay query: ${answer.stderr}`);
  const twice = await withLaterRun(folder, run);
  return { page: join(folder, 'out', found), rows: answer.stdout, twice, end: () => rmSync(folder, { recursive: true, force: true }) };
}

const began = Date.now();
const suite = measured();
suite.catch(() => {}); // The case that needs it says why.
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1'],
});
usePlaces({ browser, axe, screenshots, pages, suite });
let failed = 0;
let done = 0;
async function runAll(some) {
  for (const [name, run] of Object.entries(some)) {
    if (!name.includes(only)) continue;
    const from = Date.now();
    const tab = open();
    try {
      await Promise.race([run(tab), new Promise((_, no) => setTimeout(() => no(new Error('took more than two minutes')), 120_000).unref())]);
      await tab.end();
      console.log(`ok    ${name} (${Date.now() - from} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAIL  ${name}: ${error.stack}`);
      await tab.abandon(join(screenshots, `failed_${name.replace(/\W+/g, '_')}.png`));
    }
    done++;
  }
}
try {
  await Promise.all([runAll(cases), runAll(waitingCases)]);
} finally {
  await browser.close();
  (await suite.catch(() => undefined))?.end();
}
console.log(`${done} cases, ${failed} failed, ${((Date.now() - began) / 1000).toFixed(1)} s; screenshots: ${screenshots}`);
process.exit(failed > 0 || done === 0 ? 1 : 0);
