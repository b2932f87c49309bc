// SPDX-License-Identifier: Apache-2.0
// The comparisons that C++ made (tests/browser/scripted_pages.cpp), made again by the page.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { compareTogether, noClaimWords, type Pair } from '../src/stats.ts';

interface Case {
  pairs: Pair[];
  among: number;
  ratio: number;
  low: number | null;
  high: number | null;
  difference: string;
  rounds: number;
  smallestDetectable: number | null;
  words: string;
}

const near = (found: number | null, wanted: number | null, what: string) => {
  if (found === null || wanted === null) assert.equal(found, wanted, what);
  else assert.ok(Math.abs(found - wanted) <= 1e-9 * Math.abs(wanted), `${what}: ${found} is not ${wanted}`);
};

test('the page claims what C++ claims', () => {
  const cases: Case[] = JSON.parse(readFileSync(`${process.env.ASSAY_PAGES}/comparisons.json`, 'utf8'));
  assert.ok(cases.length >= 2000);
  const seen: Record<string, number> = {};
  for (const [i, one] of cases.entries()) {
    const found = compareTogether(one.pairs, one.among);
    const what = `case ${i}`;
    near(found.ratio, one.ratio, `ratio of ${what}`);
    near(found.low, one.low, `low of ${what}`);
    near(found.high, one.high, `high of ${what}`);
    near(found.smallestDetectable, one.smallestDetectable, `smallest detectable difference of ${what}`);
    assert.equal(found.difference, one.difference, what);
    assert.equal(found.rounds, one.rounds, what);
    assert.equal(noClaimWords(found), one.words, what);
    seen[found.difference] = (seen[found.difference] ?? 0) + 1;
  }
  // Every answer occurs often, so that the comparison means something.
  for (const difference of ['faster', 'slower', 'not_shown', 'not_compared'])
    assert.ok(seen[difference]! > 50, `${difference}: ${seen[difference]}`);
});
