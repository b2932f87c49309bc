// SPDX-License-Identifier: Apache-2.0
// Models by targets at one shape: how many times slower than the best of the row, or why there is no number.
import { useMemo, useState } from 'preact/hooks';
import { cellWords } from '../cell_words.ts';
import type { AssayDocument } from '../document.ts';
import { counted, plainWords, plusMinus, ratio, withUnit } from '../format.ts';
import { matrixHeading, matrixLines, type Line } from '../matrix_lines.ts';
import { distinct } from '../order.ts';
import { cellLink, Section, Select, TargetKey } from '../parts.tsx';
import { changeQuery, link, type Route } from '../state.ts';
import { noClaimWords } from '../stats.ts';
import { moveFocus } from '../table.tsx';
import { isOfWrongTarget, isUsable } from '../timed.ts';
import { isUnreal, stateOf, stateOrder, states, unrankedBecause } from '../words.ts';

/** 0 at the best, 1 from ten times slower on. */
const heat = (value: number) => Math.min(9, Math.max(0, Math.round((Math.log10(Math.max(value, 1)) / 1) * 9)));

function MatrixCell({ line, target }: { line: Line; target: string }) {
  const cell = line.cells.get(target);
  const grid = { role: 'gridcell', tabIndex: -1 } as const;
  if (!cell) {
    const other = line.elsewhere.get(target);
    return <td {...grid} class="none" title={other ? 'measured, but not comparable with this row: see the other row of this model' : 'not part of any run'}>{other ? <a href={cellLink(other)} aria-label="not comparable with this row">·</a> : '·'}</td>;
  }
  const state = stateOf(cell);
  const p50 = cell.shown ? cell.number('latency_p50_ms') : null;
  const bestP50 = line.best?.number('latency_p50_ms') ?? null;
  const { symbol } = states[state];
  if (p50 === null || state !== 'verified')
    return <td {...grid} class={`state-${state}`}><a href={cellLink(cell)} title={`${cellWords(cell)}: ${state}. ${cell.text('message')}`}><span aria-hidden="true">{symbol}</span><span class="sr">{state}</span></a></td>;
  const time = `${cellWords(cell)}: ${[withUnit(p50, 'ms'), plusMinus(p50, cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms'))].filter(Boolean).join(' ')}`;
  if (!isUsable(cell) || bestP50 === null) {
    const wrong = isOfWrongTarget(cell);
    const why = wrong ? `${cell.target} computes wrong numbers for this model` : unrankedBecause(cell);
    return <td {...grid} class={isUnreal(cell) ? 'hatched-cell' : 'unranked'}><a href={cellLink(cell)} title={`${time}; not ranked: ${why}`}>
      {wrong && <><span aria-hidden="true">{states.wrong.symbol} </span><span class="sr">computes wrong numbers for this model: </span></>}<span>{bestP50 ? `(${ratio(p50 / bestP50)})` : withUnit(p50, 'ms')}</span></a></td>;
  }
  const times = p50 / bestP50;
  const isBest = cell === line.best;
  const found = line.found.get(cell);
  const claimed = found?.difference === 'slower';
  const words = isBest ? (line.ranked.length < 2 ? 'the only ranked one of this row' : line.settled ? 'the fastest of this row' : 'the lowest median of this row; others may be as fast')
    : claimed ? `${ratio(times)} the time of the best, shown` : `${ratio(times)} the time of the best; ${found?.difference === 'faster' ? 'faster in paired rounds' : noClaimWords(found!)}`;
  return (
    <td {...grid} class={`heat-${heat(times)}${claimed ? ' claimed' : ''}${isBest ? (line.settled ? ' best shown' : ' best') : ''}`}>
      <a href={cellLink(cell)} title={`${time}; ${words}`}>{isBest ? withUnit(p50, 'ms') : ratio(times)}</a>
    </td>
  );
}

/** What a link names, if anything has it. */
function chosen<T extends string | number>(named: string | undefined, values: T[], otherwise: T): { value: T; missing: string } {
  const found = values.find((value) => String(value) === named);
  return { value: found ?? otherwise, missing: named !== undefined && named !== '' && found === undefined ? named : '' };
}

export function Matrix({ document, route }: { document: AssayDocument; route: Route }) {
  const { query } = route;
  const batches = distinct(document.cells.flatMap((cell) => cell.number('batch_size') ?? []));
  const precisions = distinct(document.cells.map((cell) => cell.text('precision')));
  const lengths = distinct(document.cells.flatMap((cell) => cell.number('sequence_length') ?? []));
  const machines = distinct(document.cells.map((cell) => cell.text('machine')));
  const batch = chosen(query.batch, batches, batches[0] ?? 1);
  const precision = chosen(query.precision, precisions, precisions.includes('float32') ? 'float32' : precisions[0] ?? '');
  const tokens = chosen<string>(query.tokens, lengths.map(String), '');
  const newest = document.cells.length > 0 ? document.cellAt(0) : undefined;
  const machine = chosen(query.machine, machines, newest?.text('machine') ?? '');
  const missing = [batch.missing && `batch ${batch.missing}`, precision.missing && `precision ${precision.missing}`, tokens.missing && `${tokens.missing} tokens`, machine.missing && `machine ${machine.missing}`].filter(Boolean);
  const lines = useMemo(() => matrixLines(document.cells, { batch: batch.value, tokens: tokens.value === '' ? null : Number(tokens.value), precision: precision.value, machine: machine.value }),
    [document, batch.value, tokens.value, precision.value, machine.value]);
  const targets = document.targets.filter((target) => document.cells.some((cell) => cell.target === target.key && cell.text('machine') === machine.value));
  const categories = [...new Set(lines.map((line) => line.category))];
  const [closed, setClosed] = useState<Set<string>>(new Set());
  return (
    <>
      <h1>{matrixHeading(lines, batch.value)}</h1>
      <div class="tools">
        <Select label="Batch" value={String(batch.value)} options={batches.map(String)} onChange={(value) => changeQuery(route, { batch: value })} />
        {lengths.length > 1 && <Select label="Tokens" value={tokens.value} options={[['', 'shortest'], ...lengths.map((one): [string, string] => [String(one), String(one)])]} onChange={(value) => changeQuery(route, { tokens: value || undefined })} />}
        <Select label="Precision" value={precision.value} options={precisions} onChange={(value) => changeQuery(route, { precision: value })} />
        {machines.length > 1 && <Select label="Machine" value={machine.value} options={machines} onChange={(value) => changeQuery(route, { machine: value })} />}
      </div>
      {missing.length > 0 && <p class="note">The link names {missing.join(', ')}, which no cell has.</p>}
      {machine.value !== '' && <p class="note">Times of {machine.value}; those of other machines are not compared with them.</p>}
      <p class="note">The lowest ranked median of a row is framed and shown in ms; the others say how many times as long they take, or are in ms where the row has no ranked one. Bold, and a solid frame: the difference is shown; else it may be chance. In brackets: not ranked; with {states.wrong.symbol}: its runtime computes wrong numbers for the model. A symbol says why there is no number. Cells of a model that are not comparable, since more differs than the target, have a row each.</p>
      <div class="scroll">
        <table class="matrix" role="grid" aria-label="Models by targets" onKeyDown={moveFocus}>
          <thead><tr role="row"><th scope="col" role="columnheader" tabIndex={0}>Model</th>{targets.map((target) => <th key={target.key} scope="col" role="columnheader" tabIndex={-1}><TargetKey document={document} target={target.key} /></th>)}</tr></thead>
          {categories.map((category) => {
            const group = lines.filter((line) => line.category === category);
            const folded = closed.has(category);
            return (
              <tbody key={category}>
                {categories.length > 1 && (
                  <tr class="group" role="row"><th scope="rowgroup" role="rowheader" colSpan={targets.length + 1}>
                    <button type="button" class="plain" aria-expanded={!folded} onClick={() => {
                      const next = new Set(closed);
                      if (!next.delete(category)) next.add(category);
                      setClosed(next);
                    }}><span aria-hidden="true">{folded ? '▸' : '▾'}</span> {plainWords(category) || 'other'} <small>{counted(new Set(group.map((line) => line.model)).size, 'model')}</small></button>
                  </th></tr>
                )}
                {!folded && group.map((line) => (
                  <tr key={`${line.model}\n${line.label}`} role="row">
                    <th scope="row" role="rowheader" tabIndex={-1}><a href={link('model', line.model)}><bdi>{line.model}</bdi></a>{line.label && <small class="under">{line.label}</small>}</th>
                    {targets.map((target) => <MatrixCell key={target.key} line={line} target={target.key} />)}
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
