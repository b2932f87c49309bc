// SPDX-License-Identifier: Apache-2.0
// page_load.mjs PAGE [COUNT]: opens the dashboard PAGE COUNT times (10) in headless Chromium, each time in a new context, and prints how
// long it took from the start of the navigation until its data were read and the overview was drawn: median and range. PAGE: that of
// a database, as `history run --page` writes it, or thousand.html of scripted_pages, whose results are invented (docs/performance.md).
import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [page, count = '10'] = process.argv.slice(2);
const deps = process.env.ASSAY_DEPS_DIR ?? resolve(import.meta.dirname, '../.deps');
if (!page || !existsSync(page) || !(Number(count) > 0)) {
  console.error('usage: page_load.mjs PAGE [COUNT]; PAGE is an index.html of assay, as that of `history run --page`, or thousand.html of scripted_pages');
  process.exit(2);
}
const { chromium } = createRequire(join(deps, 'browser/node_modules/'))('playwright-core');

// The frame that shows what the mark announces is finished when a message that was sent while it began arrives.
const watch = () => {
  new PerformanceObserver((list) => {
    if (!list.getEntriesByName('assay-ready').length) return;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => { globalThis.drawnAfter = performance.now(); };
      channel.port2.postMessage(0);
    });
  }).observe({ type: 'mark' });
};

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
const times = { read: [], drawn: [] };
let cells;
try {
  for (let i = 0; i <= Number(count); i++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const tab = await context.newPage();
    await tab.addInitScript(watch);
    await tab.goto(pathToFileURL(resolve(page)).href);
    await tab.waitForFunction(() => globalThis.drawnAfter > 0);
    const found = await tab.evaluate(() => ({ read: performance.getEntriesByName('assay-ready')[0].startTime, drawn: globalThis.drawnAfter,
      cells: /[\d\u2009]+(?= cells of )/.exec(document.querySelector('main').innerText)?.[0] }));
    cells = found.cells;
    await context.close();
    if (i === 0) continue; // The browser itself is still starting.
    times.read.push(found.read);
    times.drawn.push(found.drawn);
  }
} finally {
  await browser.close();
}
console.log(`${page}: ${cells ?? '?'} cells, ${(statSync(page).size / 1e6).toFixed(2)} MB, opened ${count} times; milliseconds since the navigation began`);
for (const [what, values] of Object.entries(times)) {
  values.sort((a, b) => a - b);
  const middle = (values[Math.floor((values.length - 1) / 2)] + values[Math.floor(values.length / 2)]) / 2;
  console.log(`${what.padEnd(6)} median ${middle.toFixed(0)}, ${values[0].toFixed(0)} to ${values.at(-1).toFixed(0)}`);
}
