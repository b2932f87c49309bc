// SPDX-License-Identifier: Apache-2.0
// A page is a copy of the libraries in it, and their licences want to be in every copy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const drawing = { echarts: 'LICENSE', zrender: 'LICENSE', tslib: 'LICENSE.txt', preact: 'LICENSE' };
const tables = { '@tanstack/table-core': 'LICENSE', '@tanstack/store': 'LICENSE' };

for (const [page, licence] of Object.entries({ one: { ...drawing, ...tables }, chart: drawing }))
  test(`the page ${page}.html has the licences of the libraries that it contains`, () => {
    const html = readFileSync(`${process.env.ASSAY_PAGES}/${page}.html`, 'utf8');
    for (const [name, file] of Object.entries(licence)) {
      const text = readFileSync(`${process.env.ASSAY_DEPS_DIR}/web/node_modules/${name}/${file}`, 'utf8')
        .replaceAll('\r', '')
        .trim();
      assert.ok(html.includes(text), name);
    }
  });
