// SPDX-License-Identifier: Apache-2.0
// A page is a copy of the libraries in it, and their licences want to be in every copy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

test('a page has the licences of the libraries that it contains', () => {
  const html = readFileSync(`${process.env.ASSAY_PAGES}/one.html`, 'utf8');
  const licence = { echarts: 'LICENSE', zrender: 'LICENSE', tslib: 'LICENSE.txt', preact: 'LICENSE', '@tanstack/table-core': 'LICENSE', '@tanstack/store': 'LICENSE' };
  for (const [name, file] of Object.entries(licence)) {
    const text = readFileSync(`${process.env.ASSAY_DEPS_DIR}/web/node_modules/${name}/${file}`, 'utf8').replaceAll('\r', '').trim();
    assert.ok(html.includes(text), name);
  }
});
