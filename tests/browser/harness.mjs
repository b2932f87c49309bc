// SPDX-License-Identifier: Apache-2.0
// A tab of the browser that hears everything that goes wrong, and the cases.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

export const cases = {};
/** Cases that mostly wait for the program; they run beside the others. */
export const waitingCases = {};
let places;
export const usePlaces = (given) => { places = given; };
export const fail = (words) => { throw new Error(words); };
export const suitePage = () => places.suite;

export const everyPage = ['#/', '#/matrix', '#/cells', '#/compare', '#/charts', '#/advice', '#/history', '#/machines', '#/model/bert', '#/cell/1000', '#/history/series-bert-cpu-1'];

class Tab {
  #context;
  #complaints = [];
  #live = true;
  #server; // the only address that may be asked
  #expected; // complaints that the case brings about

  async #fresh(how = {}) {
    await this.#context?.close();
    this.#context = await places.browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light', ...how });
    this.page = await this.#context.newPage();
    this.page.setDefaultTimeout(10_000);
    this.page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) this.#complaints.push(`console: ${message.text()}`); });
    this.page.on('pageerror', (error) => this.#complaints.push(`error: ${error.message}`));
    this.page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url()) && !(this.#server && request.url().startsWith(this.#server))) this.#complaints.push(`request: ${request.url()}`); });
  }

  /** Opens a page of scripted_pages, or the file FILE. */
  async goto(name, route = '', how = {}) {
    await this.#fresh(how);
    const file = name.includes('/') ? name : join(places.pages, `${name}.html`);
    await this.page.goto(pathToFileURL(file).href + route);
    if (how.javaScriptEnabled !== false) await this.ready();
    return this.page;
  }

  /** Opens the page of a server of this machine. */
  async open(address) {
    this.#server = address;
    await this.#fresh();
    await this.page.goto(address);
    return this.page;
  }

  /** From here on, complaints like this are what the case is about. */
  expect(pattern) {
    assert.deepEqual(this.#complaints, []);
    this.#expected = pattern;
  }

  picture(name) {
    return join(places.screenshots, `${name}.png`);
  }

  async ready() {
    await this.page.waitForFunction(() => performance.getEntriesByName('assay-ready').length > 0);
  }

  async text(selector) {
    return (await this.page.locator(selector).innerText()).replace(/\s+/g, ' ');
  }

  heading() {
    return this.text('main h1');
  }

  async to(route) {
    await this.page.evaluate((hash) => { location.hash = hash; }, route);
    await this.page.waitForFunction((hash) => location.hash === hash && document.querySelector('main h1'), route);
    await this.#twoFrames();
  }

  /** Waits until the page was drawn twice; a browser that has nothing to draw may draw nothing for minutes. */
  async #twoFrames() {
    await this.page.evaluate(() => new Promise((yes) => {
      requestAnimationFrame(() => requestAnimationFrame(yes));
      setTimeout(yes, 1000);
    }));
  }

  async screenshot(name, how = {}) {
    await this.drawAll();
    await this.page.screenshot({ path: join(places.screenshots, `${name}.png`), fullPage: true, ...how });
  }

  /** Charts are drawn when they come near: scrolls over the whole page. */
  async drawAll() {
    const scroll = (top) => this.page.evaluate((y) => { scrollTo({ top: y, behavior: 'instant' }); return document.documentElement.scrollHeight; }, top);
    let height = await scroll(0);
    for (let top = 0; top < height; top += 1100) {
      height = await scroll(top);
      await this.#twoFrames();
    }
    await scroll(0);
    await this.page.waitForFunction(() => [...document.querySelectorAll('.drawing')].every((one) => one.querySelector('svg')));
  }

  /** Saves a chart as SVG and PNG by its buttons, whose names `button` matches; gives the text of the SVG file. */
  async saved(button, file) {
    const texts = {};
    for (const [kind, begins] of [['svg', '<svg'], ['png', '\x89PNG']]) {
      const place = this.page.getByRole('button', { name: button }).filter({ hasText: new RegExp(`^${kind}$`, 'i') });
      const [download] = await Promise.all([this.page.waitForEvent('download'), place.click()]);
      assert.match(download.suggestedFilename(), file);
      assert.ok(download.suggestedFilename().endsWith(`.${kind}`), download.suggestedFilename());
      const chunks = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk);
      const whole = Buffer.concat(chunks);
      assert.equal(whole.toString('latin1').slice(0, begins.length), begins);
      texts[kind] = whole.toString();
    }
    return texts;
  }

  /** Pixels by which the page is wider than the window. */
  async tooWide() {
    return this.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  }

  /** Serious and critical findings, of all rules or of these. Of long tables the first rows: the others are like them. */
  async accessibility(rules) {
    // Through the debugger: the page's policy lets no other script in.
    const session = await this.#context.newCDPSession(this.page);
    await session.send('Runtime.evaluate', { expression: places.axe });
    const answer = await session.send('Runtime.evaluate', {
      expression: `axe.run({exclude: ['.drawing svg', 'tbody tr:nth-child(n + 13)']}, {resultTypes: ['violations']${rules ? `, runOnly: {type: 'rule', values: ${JSON.stringify(rules)}}` : ''}}).then((found) => JSON.stringify(found.violations
        .filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message ?? '')).join('; '))))`,
      awaitPromise: true, returnByValue: true,
    });
    await session.detach();
    if (answer.exceptionDetails) throw new Error(`axe: ${JSON.stringify(answer.exceptionDetails)}`);
    return JSON.parse(answer.result.value);
  }

  /** Fails if anything was complained of. */
  async end() {
    await this.#context?.close();
    this.#live = false;
    assert.deepEqual(this.#complaints.filter((one) => !this.#expected?.test(one)), []);
  }

  async abandon(picture) {
    if (!this.#live) return;
    console.log(this.#complaints.join('\n'));
    const answers = this.page?.evaluate(() => `visible: ${document.visibilityState}`).catch((error) => error.message);
    const late = new Promise((yes) => setTimeout(() => yes('its script does not answer'), 2000));
    console.log(`      the page at ${this.page?.url()}: ${await Promise.race([answers, late])}`);
    await this.page?.screenshot({ path: picture }).catch(() => {});
    await this.#context?.close().catch(() => {});
  }
}

export const open = () => new Tab();
