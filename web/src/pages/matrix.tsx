// SPDX-License-Identifier: Apache-2.0
// Models by targets at one shape: how many times slower than the best of the row, or why there is no number.
import { useState } from 'preact/hooks';
import type { AssayDocument, Cell } from '../document.ts';
import { counted, plainWords, ratio, withUnit } from '../format.ts';
import { cellLink, cellWords, distinct, Section, Select, TargetKey } from '../parts.tsx';
import { changeQuery, link, type Route } from '../state.ts';
import { compareTogether, noClaimWords } from '../stats.ts';
import { timedOf } from '../timed.ts';
import { isUnreal, stateOf, stateOrder, states, unrankedBecause } from '../words.ts';

/** 0 at the best, 1 from ten times slower on. */
const heat = (value: number) => Math.min(9, Math.max(0, Math.round((Math.log10(Math.max(value, 1)) / 1) * 9)));

interface Line { model: string; category: string; cells: Map<string, Cell>; best: Cell | null }

export function matrixLines(cells: Cell[], batch: number, tokens: string, precision: string): Line[] {
  const chosen = cells.filter((cell) => cell.number('batch_size') === batch && cell.text('precision') === precision);
  const lines = new Map<string, Line>();
  for (const cell of chosen) {
    const model = cell.text('model');
    const mine = chosen.filter((other) => other.text('model') === model);
    const lengths = distinct(mine.flatMap((other) => other.number('sequence_length') ?? []));
    const wanted = tokens === '' ? lengths[0] ?? null : Number(tokens);
    const length = cell.number('sequence_length');
    if (length !== null && length !== wanted) continue;
    const line = lines.get(model) ?? { model, category: cell.text('category') || cell.text('family'), cells: new Map(), best: null };
    lines.set(model, line);
    const before = line.cells.get(cell.target);
    if (!before || (cell.ranked && !before.ranked)) line.cells.set(cell.target, cell);
    const p50 = cell.number('latency_p50_ms');
    if (cell.ranked && p50 !== null && (!line.best || p50 < line.best.number('latency_p50_ms')!)) line.best = cell;
  }
  return [...lines.values()].sort((a, b) => a.category.localeCompare(b.category) || a.model.localeCompare(b.model, 'en', { numeric: true }));
}

/** Whether the others are shown to be slower. */
const isSettled = (best: Cell, ranked: Cell[]) => ranked.length > 1 &&
  ranked.every((cell) => cell === best || compareTogether([{ baseline: timedOf(best), candidate: timedOf(cell) }], ranked.length).difference === 'slower');
const rankedOf = (line: Line) => [...line.cells.values()].filter((cell) => cell.ranked && cell.number('latency_p50_ms') !== null);

/** For how many rows a target is shown to be the fastest, for how many none is, and how many have only one that is ranked. */
function standings(lines: Line[]): [[string, number][], number, number] {
  const shown = new Map<string, number>();
  let [unsettled, single] = [0, 0];
  for (const line of lines) {
    const { best } = line;
    if (!best) continue;
    const ranked = rankedOf(line);
    if (ranked.length < 2) single++;
    else if (isSettled(best, ranked))
      shown.set(best.target, (shown.get(best.target) ?? 0) + 1);
    else unsettled++;
  }
  return [[...shown].sort((a, b) => b[1] - a[1]), unsettled, single];
}

function MatrixCell({ cell, best, among, settled }: { cell: Cell | undefined; best: Cell | null; among: number; settled: boolean }) {
  if (!cell) return <td class="none" title="not part of any run">·</td>;
  const state = stateOf(cell);
  const p50 = cell.number('latency_p50_ms');
  const bestP50 = best?.number('latency_p50_ms') ?? null;
  if (state !== 'verified' || p50 === null)
    return <td class={`state-${state}`}><a href={cellLink(cell)} title={`${cellWords(cell)}: ${state}. ${cell.text('message')}`}><span aria-hidden="true">{states[state].symbol}</span><span class="sr">{state}</span></a></td>;
  if (!cell.ranked || bestP50 === null) {
    const why = unrankedBecause(cell);
    return <td class={isUnreal(cell) ? 'hatched-cell' : 'unranked'}><a href={cellLink(cell)} title={`${cellWords(cell)}: ${withUnit(p50, 'ms')}; not ranked: ${why}`}><span>{bestP50 ? `(${ratio(p50 / bestP50)})` : withUnit(p50, 'ms')}</span></a></td>;
  }
  const times = p50 / bestP50;
  const found = cell === best ? null : compareTogether([{ baseline: timedOf(best!), candidate: timedOf(cell) }], among);
  const claimed = found?.difference === 'slower';
  const words = cell === best ? settled ? 'the fastest of this row' : 'the lowest median of this row; others may be as fast' : claimed ? `${ratio(times)} the time of the best, shown` : `${ratio(times)} the time of the best; ${noClaimWords(found!)}`;
  return (
    <td class={`heat-${heat(times)}${claimed ? ' claimed' : ''}${cell === best ? (settled ? ' best shown' : ' best') : ''}`}>
      <a href={cellLink(cell)} title={`${cellWords(cell)}: ${withUnit(p50, 'ms')}; ${words}`}>{cell === best ? withUnit(p50, 'ms') : ratio(times)}</a>
    </td>
  );
}

export function Matrix({ document, route }: { document: AssayDocument; route: Route }) {
  const { query } = route;
  const batches = distinct(document.cells.flatMap((cell) => cell.number('batch_size') ?? []));
  const precisions = distinct(document.cells.map((cell) => cell.text('precision')));
  const lengths = distinct(document.cells.flatMap((cell) => cell.number('sequence_length') ?? []));
  const machines = distinct(document.cells.map((cell) => cell.text('host')));
  const batch = Number(query.batch ?? batches[0] ?? 1);
  const precision = query.precision ?? (precisions.includes('float32') ? 'float32' : precisions[0] ?? '');
  const machine = query.machine ?? document.runs[0]?.host ?? machines[0] ?? '';
  const mine = document.cells.filter((cell) => machines.length < 2 || cell.text('host') === machine);
  const lines = matrixLines(mine, batch, query.tokens ?? '', precision);
  const targets = document.targets.filter((target) => mine.some((cell) => cell.target === target.key));
  const categories = [...new Set(lines.map((line) => line.category))];
  const [closed, setClosed] = useState<Set<string>>(new Set());
  const [shown, unsettled, single] = standings(lines);
  const sentences = [
    shown.length > 0 ? `At batch ${batch} ${shown.map(([target, n], i) => `${target} is fastest for ${n}${i === 0 ? ` of ${counted(lines.length, 'model')}` : ''}`).join(', ')}.` : '',
    unsettled > 0 ? `${shown.length > 0 ? 'For' : `At batch ${batch}, for`} ${unsettled}${shown.length > 0 ? '' : ` of ${counted(lines.length, 'model')}`} no difference is shown.` : '',
    single > 0 ? `${single} ${single === 1 ? 'has' : 'have'} one ranked target only.` : '',
  ].filter(Boolean);
  return (
    <>
      <h1>{sentences.length > 0 ? sentences.join(' ') : `No time is ranked at batch ${batch}`}</h1>
      <div class="tools">
        <Select label="Batch" value={String(batch)} options={batches.map(String)} onChange={(value) => changeQuery(route, { batch: value })} />
        {lengths.length > 1 && <Select label="Tokens" value={query.tokens ?? ''} options={[['', 'shortest'], ...lengths.map((one): [string, string] => [String(one), String(one)])]} onChange={(value) => changeQuery(route, { tokens: value || undefined })} />}
        <Select label="Precision" value={precision} options={precisions} onChange={(value) => changeQuery(route, { precision: value })} />
        {machines.length > 1 && <Select label="Machine" value={machine} options={machines} onChange={(value) => changeQuery(route, { machine: value })} />}
      </div>
      <p class="note">The lowest median of a row is framed and shown in ms; the others say how many times as long they take. Bold, and a solid frame: the difference is shown; else it may be chance. In brackets: not ranked. A symbol says why there is no number.</p>
      <div class="scroll">
        <table class="matrix">
          <thead><tr><th scope="col">Model</th>{targets.map((target) => <th key={target.key} scope="col"><TargetKey document={document} target={target.key} /></th>)}</tr></thead>
          {categories.map((category) => {
            const group = lines.filter((line) => line.category === category);
            const folded = closed.has(category);
            return (
              <tbody key={category}>
                {categories.length > 1 && (
                  <tr class="group"><th scope="rowgroup" colSpan={targets.length + 1}>
                    <button type="button" class="plain" aria-expanded={!folded} onClick={() => {
                      const next = new Set(closed);
                      if (!next.delete(category)) next.add(category);
                      setClosed(next);
                    }}><span aria-hidden="true">{folded ? '▸' : '▾'}</span> {plainWords(category) || 'other'} <small>{counted(group.length, 'model')}</small></button>
                  </th></tr>
                )}
                {!folded && group.map((line) => (
                  <tr key={line.model}>
                    <th scope="row"><a href={link('model', line.model)}>{line.model}</a></th>
                    {targets.map((target) => <MatrixCell key={target.key} cell={line.cells.get(target.key)} best={line.best} among={rankedOf(line).length} settled={line.best !== null && isSettled(line.best, rankedOf(line))} />)}
                  </tr>
                ))}
              </tbody>
            );
          })}
        </table>
      </div>
      <Section id="legend" title="Symbols">
        <p class="legend"><span class="heat-0 key">1×</span><span class="heat-3 key">2×</span><span class="heat-6 key">5×</span><span class="heat-9 key">10×</span>
          <span><span class="hatched-cell key"><span>hatched</span></span> simulated, or emulated in software</span>
          {stateOrder.filter((state) => state !== 'verified').map((state) => <span key={state} class={`state state-${state}`} title={states[state].meaning}><span class="symbol">{states[state].symbol}</span> {state}</span>)}</p>
      </Section>
    </>
  );
}
