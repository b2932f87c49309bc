// SPDX-License-Identifier: Apache-2.0
// pictures.mjs ASSAY DATABASE OUT: a picture of the dashboard's first page, as a person with an ordinary screen sees it.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [assay, database, out] = process.argv.slice(2);
const { chromium } = createRequire(join(process.env.ASSAY_DEPS_DIR, 'browser/node_modules/'))('playwright-core');
const server = spawn(assay, ['serve', '--db-path', database, '--idle-timeout', '60'], { stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
  const address = await new Promise((yes, no) => {
    server.once('exit', () => no(new Error('assay serve ended')));
    server.stdout.on('data', (text) => yes(/http:\S+/.exec(String(text))[0]));
  });
  const tab = await browser.newPage({ viewport: { width: 1180, height: 900 }, colorScheme: 'light' });
  await tab.goto(address);
  await tab.waitForFunction(() => performance.getEntriesByName('assay-ready').length > 0);
  // Down to the end of the first table, so that no model is cut.
  const bottom = await tab.evaluate(() => Math.ceil(document.querySelector('main table').getBoundingClientRect().bottom));
  await tab.setViewportSize({ width: 1180, height: bottom + 20 });
  await tab.screenshot({ path: out });
} finally {
  server.removeAllListeners('exit');
  server.kill('SIGINT');
  await browser.close();
}
