// SPDX-License-Identifier: Apache-2.0
// Two selections of cells, side by side. Which cells may be compared is C++'s answer, which stands in the document
// (web/test/pairs.test.ts compares the pairs and what is said of them with pairs_of() and speedups_against_cpu()).
import { shapeWords } from './cell_words.ts';
import type { Cell } from './document.ts';
import { oneOfEach } from './earlier.ts';
import { counted, number, ratio } from './format.ts';
import { decode } from './state.ts';
import { type Comparison, compareTogether, type Evidence, noClaimWords, type Pair, type Timed } from './stats.ts';
import { comparableTo, hasTime, isOfWrongTarget, isUsable, timedOf } from './timed.ts';
import { isUnreal, stateOf, unrankedBecause } from './words.ts';

/** What a side can choose. */
export const keys = [
  ['target', 'Target'],
  ['run_id', 'Run'],
  ['engine_version', 'Version'],
  ['precision', 'Precision'],
  ['batch_size', 'Batch'],
  ['machine', 'Machine'],
] as const;
export type Key = (typeof keys)[number][0];
export type Choice = Partial<Record<Key, string>>;

const isKey = (text: string): text is Key => keys.some(([key]) => key === text);
const keyWords = (key: Key) => keys.find(([one]) => one === key)![1].toLowerCase();

/** "target:cpu,precision:float32"; what it does not know is left out. */
export function parseChoice(text: string): Choice {
  const choice: Choice = {};
  for (const part of text.split(',')) {
    const colon = part.indexOf(':');
    const key = part.slice(0, Math.max(0, colon));
    const value = decode(part.slice(colon + 1));
    if (isKey(key) && value !== '') choice[key] = value;
  }
  return choice;
}
export const choiceText = (choice: Choice) =>
  Object.entries(choice)
    .filter(([, value]) => value)
    .map(([key, value]) => `${key}:${encodeURIComponent(value)}`)
    .join(',');

export const keyValue = (cell: Cell, key: Key) => (key === 'target' ? cell.target : String(cell.value(key) ?? ''));

const isIn = (cell: Cell, choice: Choice) =>
  keys.every(([key]) => choice[key] === undefined || keyValue(cell, key) === choice[key]);

/** What both sides name differently: that is compared. Everything else is equal within a pair. */
export const contrastOf = (a: Choice, b: Choice): Key[] =>
  keys.map(([key]) => key).filter((key) => a[key] !== undefined && b[key] !== undefined && a[key] !== b[key]);

/** Both are of the same cell but for what is compared. */
function areAlike(a: Cell, b: Cell, contrast: readonly Key[]): boolean {
  const same = (...fields: string[]) => fields.every((field) => a.value(field) === b.value(field));
  if (!contrast.includes('target') && a.target !== b.target) return false;
  if (!contrast.some((key) => key === 'batch_size' || key === 'precision' || key === 'machine'))
    return comparableTo(a) === comparableTo(b);
  return (
    same('alike') &&
    (contrast.includes('batch_size') || same('batch_size')) &&
    (contrast.includes('precision') || same('precision', 'effective_precision')) &&
    (contrast.includes('machine') || same('hardware_id'))
  );
}

/** Of which pairs C++ never says which cell is faster. */
function neverClaimed(contrast: readonly Key[]): Evidence | null {
  if (contrast.includes('machine')) return 'different_machines';
  return contrast.filter((key) => key === 'target' || key === 'batch_size' || key === 'precision').length > 1
    ? 'different_things'
    : null;
}

export interface Row {
  a: Cell;
  b: Cell;
  found: Comparison;
  /**
   * Without an interval over rounds: the interval of one median over that of the other, if both are over launches. What
   * else differed between the two is not in it.
   */
  ofMedians: { low: number; high: number } | null;
}

/**
 * A cell with a time that is not compared; `other`: the other side's cell, if it has one. Of `both`, that has a time
 * too.
 */
export interface Alone {
  side: 'A' | 'B' | 'both';
  cell: Cell;
  other: Cell | undefined;
  why: string;
}

export interface Pairing {
  contrast: Key[];
  rows: Row[];
  /** Both have a time, and one or both are not ranked: a ratio that nothing is said of, and that is in no mean. */
  unranked: Row[];
  alone: Alone[];
  /** Of the time of one item. */
  perItem: boolean;
  /** Over the rows with common rounds, as Speedup of src/history/analyse: over all if no row has them. */
  together: Comparison | null;
  /** Rows that are not in it. */
  leftOut: number;
}

const pairOf = ({ a, b }: { a: Cell; b: Cell }, perItem: boolean): Pair => ({
  baseline: timedOf(a, perItem),
  candidate: timedOf(b, perItem),
});

/**
 * As the chart of src/show/chart. Of a ratio that is not ranked, and of one that has an interval over rounds, there is
 * none.
 */
function ofMedians({ baseline, candidate }: Pair, a: Cell, b: Cell, found: Comparison): Row['ofMedians'] {
  const ends = (cell: Cell, { items = 1 }: Timed) => {
    const [low, high] = [cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms')];
    return cell.text('latency_p50_interval') === 'launches' && low !== null && low > 0 && high !== null
      ? { low: low / items, high: high / items }
      : null;
  };
  const [ofA, ofB] = [ends(a, baseline), ends(b, candidate)];
  return found.low !== null || found.evidence === 'not_ranked' || !ofA || !ofB
    ? null
    : { low: ofB.low / ofA.high, high: ofB.high / ofA.low };
}

/** Without interval and claim, for this reason if there is one. */
const unclaimed = (found: Comparison, evidence: Evidence | null): Comparison =>
  evidence === null
    ? found
    : { ...found, low: null, high: null, difference: 'not_compared', evidence, rounds: 0, smallestDetectable: null };

/** Why a cell takes no part. */
function stateWords(cell: Cell): string {
  if (isUsable(cell)) return 'ranked';
  if (isOfWrongTarget(cell)) return 'left out: its runtime computes wrong numbers for this model';
  const state = stateOf(cell);
  if (state !== 'verified') return state === 'wrong' ? 'wrong numbers' : state;
  const why = unrankedBecause(cell);
  return why ? `not ranked: ${why}` : 'no time';
}

/** Whether a cell's target computes wrong numbers for its model at some shape: WrongTargets of src/history/analyse. */
function wrongTargets(cells: Cell[]): (cell: Cell) => boolean {
  const key = (cell: Cell) =>
    [...['hardware_id', 'model', 'model_id', 'size'].map((name) => cell.text(name)), cell.target].join('\n');
  const wrong = new Set(cells.filter((cell) => stateOf(cell) === 'wrong').map(key));
  return (cell) => wrong.has(key(cell));
}

/** "not ranked: openvino: too noisy", "not ranked: both: too noisy"; "" if both cells are ranked. */
export function notRankedWords({ a, b }: Pick<Row, 'a' | 'b'>, nameA: string, nameB: string): string {
  const reason = (cell: Cell) => (isUsable(cell) ? '' : unrankedBecause(cell) || stateOf(cell));
  const [ofA, ofB] = [reason(a), reason(b)];
  if (ofA === '' && ofB === '') return '';
  if (ofA === ofB) return `not ranked: both: ${ofA}`;
  return `not ranked: ${[ofA && `${nameA}: ${ofA}`, ofB && `${nameB}: ${ofB}`].filter(Boolean).join('; ')}`;
}

/** What the other side has in a cell's place: it may not have come far enough to be comparable. */
function counterpart(cell: Cell, others: Cell[], contrast: readonly Key[]): Cell | undefined {
  const same = (other: Cell, field: string) => other.value(field) === cell.value(field);
  const free = new Set<string>(contrast);
  return (
    others.find((other) => areAlike(cell, other, contrast)) ??
    others.find(
      (other) =>
        !hasTime(other) &&
        ['model', 'batch_size', 'sequence_length', 'output_tokens', 'precision', 'streams', 'machine'].every(
          (field) => free.has(field) || same(other, field),
        ) &&
        (free.has('target') || other.target === cell.target),
    )
  );
}

/** A side that names a run or a version has of each series the newest result that is of it, else the newest of all. */
function cellsOf(cells: Cell[], earlier: Cell[], choice: Choice): Cell[] {
  if (choice.run_id === undefined && choice.engine_version === undefined)
    return cells.filter((cell) => isIn(cell, choice));
  return oneOfEach([...cells, ...earlier].filter((cell) => isIn(cell, choice)));
}

/** `earlier`: results of series that are not in `cells`, newest first (earlierCells()). */
export function pairUp(cells: Cell[], a: Choice, b: Choice, earlier: Cell[] = []): Pairing {
  const contrast = contrastOf(a, b);
  const perItem = contrast.includes('batch_size');
  const none: Pairing = { contrast, rows: [], unranked: [], alone: [], perItem, together: null, leftOut: 0 };
  if (contrast.length === 0) return none;
  // What one side names and is no version and no run is the same on both.
  const common: Choice = {};
  for (const [key] of keys)
    if (!contrast.includes(key) && key !== 'run_id' && key !== 'engine_version') common[key] = a[key] ?? b[key];
  const left = cellsOf(cells, earlier, { ...common, ...a });
  const right = cellsOf(cells, earlier, { ...common, ...b });
  const never = neverClaimed(contrast);
  const used = new Set<Cell>();
  const pairsOf = (of: Cell[], others: Cell[], evidence: Evidence | null): Row[] => {
    const byAlike = new Map<number | null, Cell[]>();
    for (const cell of others) byAlike.set(cell.number('alike'), [...(byAlike.get(cell.number('alike')) ?? []), cell]);
    return of
      .flatMap((cell): Row[] => {
        const other = byAlike.get(cell.number('alike'))?.find((one) => areAlike(cell, one, contrast));
        if (!other) return [];
        used.add(cell).add(other);
        const pair = pairOf({ a: cell, b: other }, perItem);
        const found = unclaimed(compareTogether([pair]), evidence);
        return [{ a: cell, b: other, found, ofMedians: ofMedians(pair, cell, other, found) }];
      })
      .sort((x, y) => x.found.ratio - y.found.ratio);
  };
  const rows = pairsOf(left.filter(isUsable), right.filter(isUsable), never);
  const computesWrong = wrongTargets(cells);
  const isShown = (cell: Cell) =>
    hasTime(cell) && !used.has(cell) && !isUnreal(cell) && !isOfWrongTarget(cell) && !computesWrong(cell);
  const unranked = pairsOf(left.filter(isShown), right.filter(isShown), 'not_ranked');
  const alone = (side: 'A' | 'B', mine: Cell[], others: Cell[]) =>
    mine
      .filter((cell) => hasTime(cell) && !used.has(cell))
      .map((cell): Alone => {
        const other = counterpart(cell, others, contrast);
        const words = (one: Cell | undefined) =>
          one === undefined ? 'nothing' : used.has(one) ? 'compared with another cell' : stateWords(one);
        const [ofA, ofB] = side === 'A' ? [cell, other] : [other, cell];
        return {
          side: other && hasTime(other) ? 'both' : side,
          cell,
          other,
          why: `A: ${words(ofA)}; B: ${words(ofB)}`,
        };
      });
  const ofLeft = alone('A', left, right);
  const told = new Set(ofLeft.map(({ other }) => other));
  const sure = rows.filter(({ found }) => found.evidence === 'rounds');
  const meant = sure.length > 0 ? sure : rows;
  const together =
    meant.length === 0 ? null : unclaimed(compareTogether(meant.map((row) => pairOf(row, perItem))), never);
  return {
    contrast,
    perItem,
    rows,
    unranked,
    alone: [...ofLeft, ...alone('B', right, left).filter(({ cell }) => !told.has(cell))],
    together,
    leftOut: rows.length - meant.length,
  };
}

const part = (key: Key, value: string) =>
  key === 'batch_size'
    ? `batch ${value}`
    : key === 'run_id'
      ? `run ${value}`
      : key === 'engine_version'
        ? `version ${value}`
        : value;

/** What a side is called: by what is compared, and by its own run or version. */
export function sideName(choice: Choice, contrast: readonly Key[]): string {
  return keys
    .filter(
      ([key]) => choice[key] !== undefined && (contrast.includes(key) || key === 'run_id' || key === 'engine_version'),
    )
    .map(([key]) => part(key, choice[key]!))
    .join(', ');
}

/** ", batch 4, on cpu": what all pairs have, since a side chose it. */
export function commonWords(a: Choice, b: Choice, contrast: readonly Key[]): string {
  const words = keys
    .filter(([key]) => !contrast.includes(key) && key !== 'run_id' && key !== 'engine_version')
    .flatMap(([key]) => {
      const value = a[key] ?? b[key];
      return value === undefined ? [] : key === 'target' || key === 'machine' ? `on ${value}` : part(key, value);
    });
  return words.map((one) => `, ${one}`).join('');
}

/** The words of a comparison: "openvino is faster", "no difference shown (± 6 %)". */
export function claimWords(found: Comparison, nameA: string, nameB: string): string {
  return found.difference === 'faster'
    ? `${nameB} is faster`
    : found.difference === 'slower'
      ? `${nameA} is faster`
      : noClaimWords(found);
}

/** What a person has to choose before anything can be compared; "" if something can. */
export function whatToChoose(a: Choice, b: Choice): string {
  if (contrastOf(a, b).length > 0) return '';
  const one = keys.map(([key]) => key).filter((key) => (a[key] === undefined) !== (b[key] === undefined));
  if (one.length === 0) return 'Choose what A and B differ in';
  const chosen = (side: Choice) => one.every((key) => side[key] !== undefined);
  const where = chosen(a) ? 'of B' : chosen(b) ? 'of A' : 'on both sides';
  return `Choose the ${one.map(keyWords).join(' or the ')} ${where}`;
}

export function heading(a: Choice, b: Choice, pairing: Pairing): string {
  const { contrast, rows, together, perItem, leftOut } = pairing;
  const choose = whatToChoose(a, b);
  if (choose) return choose;
  const [nameA, nameB] = [sideName(a, contrast), sideName(b, contrast)];
  const common = commonWords(a, b, contrast);
  if (!together) return `${nameA} and ${nameB} have no ranked cell in common${common}`;
  const over = `${common}, over ${counted(rows.length - leftOut, 'cell')}${perItem ? ', for each item' : ''}`;
  if (together.difference === 'faster' || together.difference === 'slower') {
    const interval = `95 %: ${number(1 / together.high!)} to ${number(1 / together.low!)}`;
    return `${nameB} is ${ratio(1 / together.ratio)} as fast as ${nameA} (${interval})${over}`;
  }
  return `${nameB} and ${nameA}: ${noClaimWords(together)}${over}`;
}

/** How many rows show what. */
export function tally(rows: Row[]): { faster: number; slower: number; notShown: number; notCompared: number } {
  const of = (difference: Comparison['difference']) =>
    rows.filter(({ found }) => found.difference === difference).length;
  return { faster: of('faster'), slower: of('slower'), notShown: of('not_shown'), notCompared: of('not_compared') };
}

/** What a pair is called: the cell, and what both have that is not compared, where the pairs differ in it. */
export function pairWords(row: Row, contrast: readonly Key[], rows: Row[]): string {
  const words = [row.a.text('model'), shapeWords(row.a, contrast)].filter(Boolean);
  if (!contrast.includes('target') && new Set(rows.map(({ a }) => a.target)).size > 1)
    words.splice(1, 0, `on ${row.a.target}`);
  if (!contrast.includes('machine') && new Set(rows.map(({ a }) => a.text('machine'))).size > 1)
    words.push(row.a.text('machine'));
  return words.join(', ');
}
