// SPDX-License-Identifier: Apache-2.0
// make_page.ts SCRIPT STYLE DOCUMENT OUT: assembles a page as src/show/dashboard/page.cpp does; DOCUMENT is a file, or
// "synthetic:" and options as JSON.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { synthetic } from './synthetic.ts';

const [script, style, source, out] = process.argv.slice(2) as [string, string, string, string];
const text = (path: string) => readFileSync(path, 'utf8').trim();
const hash = (value: string) => `'sha256-${createHash('sha256').update(value).digest('base64')}'`;
const bytes = source.startsWith('synthetic:') ? synthetic(JSON.parse(source.slice(10))) : readFileSync(source);
const policy = [
  "default-src 'none'",
  `script-src ${hash(text(script))}`,
  `style-src ${hash(text(style))}`,
  'img-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
];
const parts: Record<string, string> = {
  CSP: policy.join('; '),
  TITLE: 'assay',
  STYLE: text(style),
  SCRIPT: text(script),
  DOCUMENT: deflateSync(bytes, { level: 9 }).toString('base64'),
};
const html = readFileSync(new URL('../src/page.html', import.meta.url), 'utf8').replace(
  /@([A-Z]+)@/g,
  (_, name: string) => parts[name]!,
);
writeFileSync(out, html);
const [scriptSize, styleSize, documentSize] = [parts.SCRIPT, parts.STYLE, parts.DOCUMENT].map((part) => part!.length);
console.log(`${out}: ${html.length} bytes, script ${scriptSize}, style ${styleSize}, document ${documentSize}`);
