// SPDX-License-Identifier: Apache-2.0
// One model: how latency, throughput and memory grow with the batch, then its cells.
import { Chart } from '../chart.tsx';
import type { AssayDocument } from '../document.ts';
import { counted, number, plainWords, withUnit } from '../format.ts';
import { leftOutWords } from '../missing.ts';
import { distinct } from '../order.ts';
import { stateWords } from '../overview_words.ts';
import { cellLink, Prose, Section, Select, shapeWords } from '../parts.tsx';
import { changeQuery, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { stateOf, whyUnranked } from '../words.ts';
import { columnsOf } from './all_cells.tsx';

export function ModelPage({ document, route }: { document: AssayDocument; route: Route }) {
  const name = route.argument;
  const lines = document.analysis.models.filter((one) => one.model === name);
  const machine = lines.find((one) => one.machine === route.query.machine)?.machine ?? lines[0]?.machine ?? '';
  const cells = document.cells.filter((cell) => cell.text('model') === name && cell.text('machine') === machine);
  if (cells.length === 0) return <h1>There is no model {name} in this file</h1>;
  const line = lines.find((one) => one.machine === machine);
  const first = cells[0]!;
  const lengths = distinct(cells.flatMap((cell) => cell.number('sequence_length') ?? []));
  const precisions = distinct(cells.map((cell) => cell.text('precision')));
  const tokens = route.query.tokens ?? String(lengths[0] ?? '');
  const precision = route.query.precision ?? (precisions.includes('float32') ? 'float32' : precisions[0]!);
  const shown = cells.filter(
    (cell) =>
      (cell.number('sequence_length') === null || String(cell.number('sequence_length')) === tokens) &&
      cell.text('precision') === precision,
  );
  const charts = ['batch_size_scaling', 'generation'].flatMap((kind) => {
    const chart = document.charts[`${kind}/${name}/${tokens}/${precision}${machine ? `/${machine}` : ''}`];
    return chart ? [[kind, chart] as const] : [];
  });
  const best = line?.latency ?? null;
  const bestCell = best && best.cell !== null ? document.cellAt(best.cell) : null;
  const choices = document.analysis.opportunities.filter(
    (one) => one.cell !== null && cells.includes(document.cellAt(one.cell)),
  );
  return (
    <>
      <p class="crumbs">{plainWords(first.text('category'))}</p>
      <h1>
        {name}
        {machine && ` on ${machine}`}:{' '}
        {best ? (
          <>
            {best.target} takes {withUnit(best.p50_ms, 'ms')} at {bestCell ? shapeWords(bestCell) : best.shape};{' '}
            {best.words}
          </>
        ) : cells.some((cell) => stateOf(cell) === 'verified') ? (
          'verified, but no result is ranked'
        ) : (
          'no verified result'
        )}
      </h1>
      {!best && whyUnranked(cells) && <p class="verdict">Not ranked: {whyUnranked(cells)}.</p>}
      <p class="note">
        {first.text('model_id')}
        {first.number('parameter_count') !== null &&
          `, ${number(first.number('parameter_count')! / 1e6)} million parameters`}
        {first.text('weights') === 'seeded' && ', random weights'}. {line && `${stateWords(line.states)}.`}
      </p>
      {(lengths.length > 1 || precisions.length > 1 || lines.length > 1) && (
        <div class="tools">
          {lines.length > 1 && (
            <Select
              label="Machine"
              value={machine}
              options={lines.map((one) => one.machine)}
              onChange={(value) => changeQuery(route, { machine: value })}
            />
          )}
          {lengths.length > 1 && (
            <Select
              label="Tokens"
              value={tokens}
              options={lengths.map(String)}
              onChange={(value) => changeQuery(route, { tokens: value })}
            />
          )}
          {precisions.length > 1 && (
            <Select
              label="Precision"
              value={precision}
              options={precisions}
              onChange={(value) => changeQuery(route, { precision: value })}
            />
          )}
        </div>
      )}
      {charts.length === 0 && leftOutWords(document) && (
        <p class="empty">
          <Prose text={leftOutWords(document)} />
        </p>
      )}
      {charts.length > 0 && <p class="note">A click on a point opens its cell.</p>}
      {charts.map(([kind, chart]) => (
        <Chart
          key={`${kind} ${tokens} ${precision} ${machine}`}
          chart={chart}
          themes={document.themes}
          name={[name, kind, tokens, precision, machine]
            .filter(Boolean)
            .join('_')
            .replace(/[^\w.-]+/g, '_')}
          linkOf={(row) => {
            const cell = shown.find((one) => one.target === row.series && one.number('batch_size') === row.x);
            return cell && cellLink(cell);
          }}
        />
      ))}
      {choices.length > 0 && (
        <Section id="help" title="What would help">
          <ul>
            {choices.map((one) => (
              <li key={one.words}>
                <Prose text={one.words} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section id="cells" title={counted(cells.length, 'cell')}>
        <DataTable
          caption={`Cells of ${name}`}
          noun="cell"
          columns={columnsOf(document, cells).slice(1)}
          rows={cells}
          route={route}
          link={cellLink}
        />
      </Section>
    </>
  );
}
