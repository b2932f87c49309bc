// SPDX-License-Identifier: Apache-2.0
// One model: how latency, throughput and memory grow with the batch, then its cells.
import type { AssayDocument, Cell, Target } from '../document.ts';
import { counted, number, withUnit } from '../format.ts';
import { distinct, hardwareClass, Section, Select, StateCounts } from '../parts.tsx';
import { Axes, dashes, Figure, logarithmic, linear, Point, spanLog, spread, type Frame } from '../plot.tsx';
import { DataTable } from '../table.tsx';
import { changeQuery, type Route } from '../state.ts';
import { cellLink } from '../parts.tsx';
import { standardColumns } from './all_cells.tsx';
import { stateOf, states } from '../words.ts';

interface Quantity { field: string; low?: string; high?: string; title: string; unit: string; log: boolean; ideal?: 'up' | 'flat' }

const quantities: Quantity[] = [
  { field: 'latency_p50_ms', low: 'latency_p50_low_ms', high: 'latency_p50_high_ms', title: 'Latency', unit: 'ms, lower is better', log: true },
  { field: 'throughput_ips', title: 'Throughput', unit: 'items/s, higher is better', log: true },
  { field: 'memory_mb', title: 'Memory', unit: 'MB, lower is better', log: false },
  { field: 'ttft_p50_ms', low: 'ttft_p50_low_ms', high: 'ttft_p50_high_ms', title: 'Time to the first token', unit: 'ms, lower is better', log: true },
  { field: 'tpot_p50_ms', low: 'tpot_p50_low_ms', high: 'tpot_p50_high_ms', title: 'Time of each further token', unit: 'ms, lower is better', log: true },
];

function BatchPlot({ document, cells, quantity }: { document: AssayDocument; cells: Cell[]; quantity: Quantity }) {
  const values = (cell: Cell) => cell.number(quantity.field);
  const batches = distinct(cells.flatMap((cell) => cell.number('batch_size') ?? []));
  const series = document.targets.map((target, at) => ({ target, at, cells: cells.filter((cell) => cell.target === target.key).sort((a, b) => a.number('batch_size')! - b.number('batch_size')!) }))
    .filter((one) => one.cells.some((cell) => values(cell) !== null));
  if (series.length === 0) return null;
  const height = 270;
  const all = cells.flatMap((cell) => values(cell) ?? []);
  const label = (target: Target) => target.key;
  const description = series.map((one) => `${label(one.target)}: ${one.cells.map((cell) => `batch ${cell.number('batch_size')} ${number(values(cell))}`).join(', ')}`).join('; ');
  return (
    <Figure title={quantity.title} description={description} height={height} draw={(width) => {
      const labelWidth = Math.min(100, 14 + 7.2 * Math.max(...series.map((one) => label(one.target).length)));
      const frame: Frame = { left: 54, right: width - labelWidth, top: 24, bottom: height - 40 };
      const x = logarithmic([batches[0]! / 1.15, batches.at(-1)! * 1.15], [frame.left, frame.right], 8);
      const useLog = quantity.log && Math.max(...all) / Math.min(...all) > 3;
      const y = useLog ? logarithmic(spanLog(all, 0.08), [frame.bottom, frame.top]) : linear([0, Math.max(...all) * 1.05], [frame.bottom, frame.top]);
      const ends = series.map((one) => { const last = one.cells.filter((cell) => values(cell) !== null).at(-1)!; return { one, last, place: y(values(last)!) }; });
      const places = spread(ends.map((end) => end.place), 15, frame.top, frame.bottom);
      return (
        <>
          <Axes x={Object.assign((value: number) => x(value), { ticks: batches, domain: x.domain })} y={y} frame={frame} xName="batch" yName={quantity.unit} />
          {series.map(({ target, at, cells: mine }) => {
            const points = mine.filter((cell) => values(cell) !== null);
            const lines: string[] = [];
            mine.forEach((cell, i) => {
              const value = values(cell);
              if (value !== null) lines.push(`${i > 0 && values(mine[i - 1]!) !== null ? 'L' : 'M'}${x(cell.number('batch_size')!)} ${y(value)}`);
            });
            return (
              <g key={target.key} class={hardwareClass(target.hardware)}>
                <path class="line" stroke-dasharray={dashes[at % dashes.length]} d={lines.join('')} />
                {points.map((cell) => {
                  const low = quantity.low ? cell.number(quantity.low) : null;
                  const high = quantity.high ? cell.number(quantity.high) : null;
                  return <a key={cell.key} href={cellLink(cell)} aria-label={`${target.key}, batch ${cell.number('batch_size')}: ${number(values(cell))}`}><Point x={x(cell.number('batch_size')!)} y={y(values(cell)!)} low={low && y(low)} high={high && y(high)} marker={at} hollow={!cell.ranked || (!!quantity.low && cell.text('latency_p50_interval') === 'one_process')}
                    title={`${target.key}, batch ${cell.number('batch_size')}: ${number(values(cell))}${cell.ranked ? '' : ' (not ranked)'}`} /></a>;
                })}
                {mine.filter((cell) => values(cell) === null).map((cell) => (
                  <text key={cell.key} class="mark-state" x={x(cell.number('batch_size')!) + at * 12 - 6} y={frame.bottom - 6} text-anchor="middle">{states[stateOf(cell)].symbol}<title>{`${target.key}, batch ${cell.number('batch_size')}: ${stateOf(cell)}`}</title></text>
                ))}
              </g>
            );
          })}
          {ends.map(({ one }, i) => <g key={one.target.key} class={hardwareClass(one.target.hardware)}><text class="end-label" x={frame.right + 8} y={places[i]} dy="0.32em">{label(one.target)}</text></g>)}
        </>
      );
    }} />
  );
}

export function ModelPage({ document, route }: { document: AssayDocument; route: Route }) {
  const name = route.argument;
  const cells = document.cells.filter((cell) => cell.text('model') === name);
  if (cells.length === 0) return <h1>There is no model {name} in this file</h1>;
  const line = document.analysis.models.find((one) => one.model === name);
  const first = cells[0]!;
  const lengths = distinct(cells.flatMap((cell) => cell.number('sequence_length') ?? []));
  const precisions = distinct(cells.map((cell) => cell.text('precision')));
  const tokens = route.query.tokens ?? String(lengths[0] ?? '');
  const precision = route.query.precision ?? (precisions.includes('float32') ? 'float32' : precisions[0]!);
  const shown = cells.filter((cell) => (cell.number('sequence_length') === null || String(cell.number('sequence_length')) === tokens) && cell.text('precision') === precision);
  const best = line?.latency ? document.cells[line.latency.cell]! : null;
  const choices = document.analysis.opportunities.filter((one) => one.cell !== null && document.cells[one.cell]!.text('model') === name);
  return (
    <>
      <p class="crumbs">{first.text('category')}</p>
      <h1>{name}: {best && line?.latency ? <>{best.target}, {withUnit(best.number('latency_p50_ms'), 'ms')}; {line.latency.words}</> : 'no verified result'}</h1>
      <p class="note">{first.text('model_id')}{first.number('parameter_count') !== null && `, ${number(first.number('parameter_count')! / 1e6)} million parameters`}{first.text('weights') === 'seeded' && ', random weights'}. {line && <StateCounts counts={line.states} />}</p>
      {(lengths.length > 1 || precisions.length > 1) && (
        <div class="tools">
          {lengths.length > 1 && <Select label="Tokens" value={tokens} options={lengths.map(String)} onChange={(value) => changeQuery(route, { tokens: value })} />}
          {precisions.length > 1 && <Select label="Precision" value={precision} options={precisions} onChange={(value) => changeQuery(route, { precision: value })} />}
        </div>
      )}
      <div class="pictures three">{quantities.map((quantity) => <BatchPlot key={quantity.field} document={document} cells={shown} quantity={quantity} />)}</div>
      <p class="note">Whiskers: 95 % intervals. Hollow: not ranked, or one process. A symbol above the axis: no number there.</p>
      {choices.length > 0 && <Section id="help" title="What would help"><ul>{choices.map((one) => <li key={one.words}>{one.words}</li>)}</ul></Section>}
      <Section id="cells" title={counted(cells.length, 'cell')}>
        <DataTable caption={`Cells of ${name}`} noun="cell" columns={standardColumns.slice(1)} rows={cells} route={route} link={cellLink} />
      </Section>
    </>
  );
}
