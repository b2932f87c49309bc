// SPDX-License-Identifier: Apache-2.0
// What the compare page may claim: a port of compare_together() (src/history/analyse/compare.cpp) and compare_rounds()
// (src/core/stats/launches.cpp). web/test/comparisons.test.ts keeps it equal to them on cases that C++ generated.

/** What a comparison needs of a row. */
export interface Timed {
  run: string;
  /** "1:1.234 2:1.24": the median of each launch by its number. */
  launches: string;
  launchNumber: number | null;
  p50: number | null;
  /** What the times are divided by, if it is the time of one item that is compared. */
  items?: number;
}

export type Difference = 'not_compared' | 'not_shown' | 'faster' | 'slower';
/**
 * Of `different_machines`, of cells that differ in more than one thing (`different_things`), and of cells that are
 * `not_ranked` nothing is said.
 */
export type Evidence =
  | 'rounds'
  | 'one_process'
  | 'no_common_rounds'
  | 'different_runs'
  | 'different_machines'
  | 'different_things'
  | 'not_ranked';

export interface Comparison {
  /** The candidate's time over the baseline's. */
  ratio: number;
  low: number | null;
  high: number | null;
  difference: Difference;
  evidence: Evidence;
  rounds: number;
  smallestDetectable: number | null;
}

export interface Pair {
  baseline: Timed;
  candidate: Timed;
}

export const enoughRounds = 6;
/** What the times must differ by to be called different after fewer rounds. */
export const fewRoundsFactor = 1.25;
const leastFactor = 1.005;
const shownConfidence = 0.95;
const falseClaimsOfFewRounds = 0.01;
const falseClaimsPerLook = 0.002;

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** Of x > 0. */
export function logGamma(x: number): number {
  let sum = lanczos[0]!;
  for (let i = 1; i < 9; i++) sum += lanczos[i]! / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

const awayFromZero = (x: number) => (Math.abs(x) < 1e-300 ? 1e-300 : x);

function betaFraction(a: number, b: number, x: number): number {
  let c = 1;
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m < 1e6; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / awayFromZero(1 + even * d);
    c = awayFromZero(1 + even / c);
    fraction *= c * d;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / awayFromZero(1 + odd * d);
    c = awayFromZero(1 + odd / c);
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return fraction;
}

export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
  return 1 - (front * betaFraction(b, a, 1 - x)) / b;
}

const quantiles = new Map<string, number>();

export function studentQuantile(p: number, degreesOfFreedom: number): number {
  if (p <= 0) return -Infinity;
  if (p >= 1) return Infinity;
  if (p === 0.5) return 0;
  if (p < 0.5) return -studentQuantile(1 - p, degreesOfFreedom);
  const key = `${p} ${degreesOfFreedom}`;
  const known = quantiles.get(key);
  if (known !== undefined) return known;
  const half = 0.5 * degreesOfFreedom;
  const below = (t: number) => {
    const square = t * t;
    if (square < degreesOfFreedom) return incompleteBeta(0.5, half, square / (degreesOfFreedom + square)) < 2 * p - 1;
    return incompleteBeta(half, 0.5, degreesOfFreedom / (degreesOfFreedom + square)) > 2 * (1 - p);
  };
  let low = 0;
  let high = 1;
  while (below(high) && high < 1e150) {
    low = high;
    high *= 2;
  }
  for (let i = 0; i < 100; i++) {
    const middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    if (below(middle)) low = middle;
    else high = middle;
  }
  const result = 0.5 * (low + high);
  quantiles.set(key, result);
  return result;
}

function halfWidth(spread: number, n: number, confidence: number): number {
  return (studentQuantile(0.5 * (1 + confidence), n - 1) * spread) / Math.sqrt(n);
}

function claimedFrom(spread: number, rounds: number, comparisons: number): number {
  const few = rounds < enoughRounds;
  const falseClaims = few ? falseClaimsOfFewRounds : falseClaimsPerLook / Math.max(comparisons, 1);
  return Math.max(halfWidth(spread, rounds, 1 - falseClaims), Math.log(few ? fewRoundsFactor : leastFactor));
}

/** The number of pairs among so many cells; at least 1. */
export const pairsAmong = (cells: number) => (cells < 3 ? 1 : (cells * (cells - 1)) / 2);

const mean = (values: number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;

function compareRounds(baseline: number[], candidate: number[], comparisons: number) {
  const logs: number[] = [];
  const counts = (x: number) => x > 0 && Number.isFinite(x);
  baseline.forEach((b, i) => {
    const c = candidate[i]!;
    if (counts(b) && counts(c)) logs.push(Math.log(c / b));
  });
  const rounds = logs.length;
  if (rounds === 0) return { rounds, ratio: 1 };
  const centre = mean(logs);
  if (rounds < 2) return { rounds, ratio: Math.exp(centre) };
  const spread = Math.sqrt(logs.reduce((sum, x) => sum + (x - centre) ** 2, 0) / (rounds - 1));
  const half = halfWidth(spread, rounds, shownConfidence);
  const least = claimedFrom(spread, rounds, comparisons);
  const difference: Difference = Math.abs(centre) <= least ? 'not_shown' : centre < 0 ? 'faster' : 'slower';
  return {
    rounds,
    ratio: Math.exp(centre),
    low: Math.exp(centre - half),
    high: Math.exp(centre + half),
    difference,
    smallestDetectable: Math.expm1(least),
  };
}

/** The medians of a row's launches by number, in order of the numbers. */
export function launchMedians(row: Timed): Map<number, number> {
  const medians: [number, number][] = [];
  for (const part of row.launches.split(' ')) {
    if (part === '') continue;
    const match = /^(\d+):(.+)$/.exec(part);
    const p50 = match ? Number(match[2]) : NaN;
    if (!match || !Number.isFinite(p50)) return new Map();
    medians.push([Number(match[1]), p50 / (row.items ?? 1)]);
  }
  if (row.launches === '' && row.p50 !== null) medians.push([row.launchNumber ?? 1, row.p50 / (row.items ?? 1)]);
  return new Map(medians.sort((a, b) => a[0] - b[0]));
}

type Rounds = Map<number, [number, number]>;

function commonRounds(pair: Pair): Rounds {
  const baseline = launchMedians(pair.baseline);
  const rounds: Rounds = new Map();
  for (const [launch, p50] of launchMedians(pair.candidate)) {
    const same = baseline.get(launch);
    if (same !== undefined && same > 0 && p50 > 0) rounds.set(launch, [Math.log(same), Math.log(p50)]);
  }
  return rounds;
}

function combinedRounds(pairs: Pair[], oneRun: boolean): { baseline: number[]; candidate: number[] } {
  const counts = new Map<number, number>();
  const sums: Rounds = new Map();
  for (const pair of pairs) {
    let number = 0;
    for (const [launch, logs] of commonRounds(pair)) {
      const round = oneRun ? launch : ++number;
      counts.set(round, (counts.get(round) ?? 0) + 1);
      const sum = sums.get(round) ?? [0, 0];
      sums.set(round, [sum[0] + logs[0], sum[1] + logs[1]]);
    }
  }
  const baseline: number[] = [];
  const candidate: number[] = [];
  for (const round of [...counts.keys()].sort((a, b) => a - b)) {
    if (counts.get(round) !== pairs.length) continue;
    const sum = sums.get(round)!;
    baseline.push(Math.exp(sum[0] / pairs.length));
    candidate.push(Math.exp(sum[1] / pairs.length));
  }
  return { baseline, candidate };
}

const timeOf = (row: Timed) => (row.p50 ?? 1) / (row.items ?? 1);

/**
 * The geometric mean of the ratios of several pairs over their common rounds. At least one pair, each with a median.
 */
export function compareTogether(pairs: Pair[], among = 2): Comparison {
  const result: Comparison = {
    ratio: Math.exp(mean(pairs.map((pair) => Math.log(timeOf(pair.candidate) / timeOf(pair.baseline))))),
    low: null,
    high: null,
    difference: 'not_compared',
    evidence: 'one_process',
    rounds: 0,
    smallestDetectable: null,
  };
  if (!pairs.every((pair) => pair.baseline.run === pair.candidate.run)) {
    result.evidence = 'different_runs';
    return result;
  }
  const oneRun = pairs.every((pair) => pair.baseline.run === pairs[0]!.baseline.run);
  let times = combinedRounds(pairs, oneRun);
  if (times.baseline.length < 2 && oneRun) times = combinedRounds(pairs, false);
  const found = compareRounds(times.baseline, times.candidate, pairsAmong(among));
  result.rounds = found.rounds;
  const several = (pair: Pair) => launchMedians(pair.baseline).size > 1 && launchMedians(pair.candidate).size > 1;
  if (found.rounds < 2 && pairs.every(several)) result.evidence = 'no_common_rounds';
  if (found.low === undefined) return result;
  return {
    ratio: found.ratio,
    low: found.low,
    high: found.high,
    difference: found.difference,
    evidence: 'rounds',
    rounds: found.rounds,
    smallestDetectable: found.smallestDetectable,
  };
}

/** "3.2 %", "12 %", "a factor of 2.4", "a factor above 100". */
export function differenceWords(share: number): string {
  if (share > 99) return 'a factor above 100';
  if (share > 1) return `a factor of ${(1 + share).toFixed(1)}`;
  return share < 0.1 ? `${Number((share * 100).toPrecision(2))} %` : `${(share * 100).toFixed(0)} %`;
}

/** Why nothing is claimed; "" of a claimed difference. */
export function noClaimWords(comparison: Comparison): string {
  if (comparison.difference === 'faster' || comparison.difference === 'slower') return '';
  if (comparison.evidence === 'one_process') return 'not compared: one process each';
  if (comparison.evidence === 'no_common_rounds') return 'not compared: no common rounds';
  if (comparison.evidence === 'different_machines') return 'not compared: measured on different machines';
  if (comparison.evidence === 'different_things') return 'not compared: they differ in more than one thing';
  if (comparison.evidence === 'not_ranked') return 'not ranked';
  if (comparison.evidence === 'different_runs') return 'not compared: measured in different runs';
  const least = comparison.smallestDetectable ?? 0;
  if (least <= 1) return `no difference shown (± ${differenceWords(least)})`;
  return `no difference shown (${comparison.rounds} launches each cannot show less than ${differenceWords(least)})`;
}
