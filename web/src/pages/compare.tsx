// SPDX-License-Identifier: Apache-2.0
// Any two selections: a forest of the cells that both have, the mean over them, and what only one side has.
import { useMemo } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import type { AssayDocument, Cell } from '../document.ts';
import { forest } from '../forest.ts';
import { counted, number, ratio, when, withUnit } from '../format.ts';
import { cellLink, distinct, Section, shapeWords } from '../parts.tsx';
import { changeQuery, type Route } from '../state.ts';
import { compareTogether, enoughRounds, fewRoundsFactor, noClaimWords, type Comparison } from '../stats.ts';
import { DataTable } from '../table.tsx';
import type { Column } from '../rows.ts';
import { timedOf } from '../timed.ts';

const keys = [['target', 'Target'], ['run_id', 'Run'], ['engine_version', 'Version'], ['precision', 'Precision'], ['batch_size', 'Batch'], ['host', 'Machine']] as const;
type Choice = Record<string, string>;

/** "target:cpu,precision:float32" */
export function parseChoice(text: string): Choice {
  const choice: Choice = {};
  for (const part of text.split(',')) {
    const colon = part.indexOf(':');
    if (colon > 0) choice[part.slice(0, colon)] = decodeURIComponent(part.slice(colon + 1));
  }
  return choice;
}
export const choiceText = (choice: Choice) => Object.entries(choice).filter(([, value]) => value).map(([key, value]) => `${key}:${encodeURIComponent(value)}`).join(',');

const valueOf = (cell: Cell, key: string) => key === 'target' ? cell.target : String(cell.value(key) ?? '');

export interface Row { a: Cell; b: Cell; found: Comparison }

/** Cells of both sides that are the same but for what was chosen. */
export function pairUp(cells: Cell[], a: Choice, b: Choice) {
  const mine = (choice: Choice) => cells.filter((cell) => Object.entries(choice).every(([key, value]) => valueOf(cell, key) === value));
  const same = ['batch_size', 'precision'].filter((key) => !(key in a) && !(key in b));
  const identity = (cell: Cell) => [cell.text('model'), cell.number('sequence_length'), cell.number('output_tokens'), cell.text('contract'), cell.number('streams'), ...same.map((key) => valueOf(cell, key)),
    ...('target' in a || 'target' in b ? [] : [cell.target])].join('|');
  const left = mine(a).filter((cell) => cell.ranked && cell.number('latency_p50_ms') !== null);
  const right = mine(b).filter((cell) => cell.ranked && cell.number('latency_p50_ms') !== null);
  const rows: Row[] = [];
  const used = new Set<Cell>();
  for (const cell of left) {
    const other = right.find((one) => !used.has(one) && one !== cell && identity(one) === identity(cell));
    if (!other) continue;
    used.add(other);
    used.add(cell);
    rows.push({ a: cell, b: other, found: compareTogether([{ baseline: timedOf(cell), candidate: timedOf(other) }]) });
  }
  return { rows: rows.sort((x, y) => x.found.ratio - y.found.ratio), onlyA: left.filter((cell) => !used.has(cell)), onlyB: right.filter((cell) => !used.has(cell)) };
}

const pairWords = (cell: Cell) => `${cell.text('model')}, ${shapeWords(cell)}`;
const percentOfFew = Math.round((fewRoundsFactor - 1) * 100);
const sideName = (document: AssayDocument, choice: Choice) => Object.entries(choice).filter(([, value]) => value).map(([key, value]) => optionWords(document, key, value)).join(', ') || 'all cells';

/** A run is known by its time, not by its number. */
const optionWords = (document: AssayDocument, key: string, value: string) => {
  const run = key === 'run_id' && document.runs.find((one) => one.run_id === value);
  return run ? `${when(run.started)} on ${run.host}` : value;
};

function Side({ document, label, choice, onChange }: { document: AssayDocument; label: string; choice: Choice; onChange: (choice: Choice) => void }) {
  return (
    <fieldset>
      <legend>{label}</legend>
      {keys.map(([key, name]) => {
        const values = distinct(document.cells.map((cell) => valueOf(cell, key)).filter((value) => value !== ''));
        if (values.length < 2 && key !== 'target') return null;
        return (
          <label key={key} class="field"><span>{name}</span>
            <select value={choice[key] ?? ''} onChange={(event) => onChange({ ...choice, [key]: event.currentTarget.value })}>
              <option value="">any</option>{values.map((value) => <option key={value} value={value}>{optionWords(document, key, value)}</option>)}
            </select>
          </label>
        );
      })}
    </fieldset>
  );
}

const pairColumns = (nameA: string, nameB: string): Column<Row>[] => [
  { id: 'model', title: 'Model', choice: true, value: (row) => row.a.text('model') },
  { id: 'shape', title: 'Shape', choice: true, value: (row) => shapeWords(row.a) },
  { id: 'a', title: nameA, unit: 'ms', numeric: true, value: (row) => row.a.number('latency_p50_ms'), view: (row) => <a href={cellLink(row.a)}>{withUnit(row.a.number('latency_p50_ms'), '')}</a> },
  { id: 'b', title: nameB, unit: 'ms', numeric: true, value: (row) => row.b.number('latency_p50_ms'), view: (row) => <a href={cellLink(row.b)}>{withUnit(row.b.number('latency_p50_ms'), '')}</a> },
  { id: 'ratio', title: 'Ratio', numeric: true, meaning: `Time of ${nameB} over that of ${nameA}; below 1: ${nameB} takes less time`, value: (row) => row.found.ratio, view: (row) => ratio(row.found.ratio) },
  { id: 'interval', title: '95 % interval', value: (row) => row.found.low === null ? '' : `${ratio(row.found.low)} to ${ratio(row.found.high)}` },
  { id: 'claim', title: 'What is shown', choice: true, value: (row) => row.found.difference === 'faster' ? `${nameB} is faster` : row.found.difference === 'slower' ? `${nameA} is faster` : noClaimWords(row.found).split(' (')[0]!, view: (row) => noClaimWords(row.found) || (row.found.difference === 'faster' ? `${nameB} is faster` : `${nameA} is faster`) },
];

export function Compare({ document, route }: { document: AssayDocument; route: Route }) {
  const ranked = document.targets.filter((target) => document.cells.some((cell) => cell.ranked && cell.target === target.key));
  const a = parseChoice(route.query.a ?? `target:${encodeURIComponent(ranked[0]?.key ?? '')}`);
  const b = parseChoice(route.query.b ?? `target:${encodeURIComponent(ranked[1]?.key ?? ranked[0]?.key ?? '')}`);
  const { rows, onlyA, onlyB } = useMemo(() => pairUp(document.cells, a, b), [document, choiceText(a), choiceText(b)]);
  const together = rows.length > 0 ? compareTogether(rows.map((row) => ({ baseline: timedOf(row.a), candidate: timedOf(row.b) }))) : null;
  const [nameA, nameB] = [sideName(document, a), sideName(document, b)];
  const picture = useMemo(() => rows.length === 0 ? null : forest(rows.map(({ a: left, b: right, found }) => ({ words: pairWords(left), found, hardwareA: left.text('hardware'), hardwareB: right.text('hardware') })),
    together, nameA, nameB, document.themes.light), [rows]);
  const columns = useMemo(() => pairColumns(nameA, nameB), [nameA, nameB]);
  const few = rows.some(({ found }) => found.difference === 'not_shown' && found.rounds < enoughRounds && (found.low! > 1 || found.high! < 1));
  const set = (side: 'a' | 'b') => (choice: Choice) => changeQuery(route, { [side]: choiceText(choice) || 'all:' });
  const claimed = together && (together.difference === 'faster' || together.difference === 'slower');
  const speed = together ? 1 / together.ratio : 1;
  const shownFaster = rows.filter((row) => row.found.difference === 'faster').length;
  const shownSlower = rows.filter((row) => row.found.difference === 'slower').length;
  return (
    <>
      <h1>{!together ? `${nameA} and ${nameB} have no ranked cell in common`
        : claimed ? `${nameB} is ${ratio(speed)} as fast as ${nameA} (95 %: ${number(1 / together.high!)} to ${number(1 / together.low!)}) over ${counted(rows.length, 'cell')}`
        : `${nameB} and ${nameA}: ${noClaimWords(together)}, over ${counted(rows.length, 'cell')}`}</h1>
      {together && <p>Cell by cell: {nameB} is faster in {shownFaster}, {nameA} in {shownSlower}; in {rows.length - shownFaster - shownSlower} nothing is shown.</p>}
      <div class="sides">
        <Side document={document} label="A" choice={a} onChange={set('a')} />
        <Side document={document} label="B" choice={b} onChange={set('b')} />
        <button type="button" onClick={() => changeQuery(route, { a: choiceText(b), b: choiceText(a) })}>Swap A and B</button>
      </div>
      {rows.length > 0 && <>
        <Chart key={`${nameA} ${nameB}`} chart={picture!} themes={document.themes} name="comparison"
          linkOf={(row) => { const found = rows.find((one) => pairWords(one.a) === row.group); return found && cellLink(found.b); }} />
        {few && <p class="note">Some are “not shown” although their interval does not contain 1: with fewer than {enoughRounds} launches only differences of {percentOfFew} % and more are claimed. <code>--launches {enoughRounds}</code> shows smaller ones.</p>}
        <Section id="pairs" title="Cells that both have"><DataTable caption="Cells that both have" noun="cell" columns={columns} rows={rows} route={route} /></Section>
      </>}
      {(onlyA.length > 0 || onlyB.length > 0) && (
        <Section id="only" title="Cells that only one side has">
          <p>A: {onlyA.length === 0 ? 'none' : onlyA.slice(0, 30).map((cell, i) => <>{i > 0 && '; '}<a href={cellLink(cell)}>{cell.text('model')}, {shapeWords(cell)}</a></>)}{onlyA.length > 30 && ` and ${onlyA.length - 30} more`}.</p>
          <p>B: {onlyB.length === 0 ? 'none' : onlyB.slice(0, 30).map((cell, i) => <>{i > 0 && '; '}<a href={cellLink(cell)}>{cell.text('model')}, {shapeWords(cell)}</a></>)}{onlyB.length > 30 && ` and ${onlyB.length - 30} more`}.</p>
        </Section>
      )}
    </>
  );
}
