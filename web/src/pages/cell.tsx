// SPDX-License-Identifier: Apache-2.0
// Everything that is known of one cell: the verdict first, then the evidence, then the command that repeats it.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { distributionChart, fileName, overTimeChart } from '../cell_charts.ts';
import { Chart } from '../chart.tsx';
import { CopyTable, listColumns } from '../copy_table.tsx';
import type { AssayDocument, Cell, Distribution, Value } from '../document.ts';
import { count, fieldText, number, plainWords, plusMinus, when, withUnit } from '../format.ts';
import { CellState, Copy, Facts, Prose, Section, shapeWords, TargetName } from '../parts.tsx';
import { resultOf, shownValue } from '../results.ts';
import { link, type Route } from '../state.ts';
import { courseWords, evidenceWords, qualityWords, stateOf, states, stopWords, unrankedBecause } from '../words.ts';
import { Errors, Launches, Memory, Phases } from './cell_tables.tsx';

/** Names of fields where the field's own name says too little. */
const labels: Record<string, string> = {
  throughput_ips: 'throughput',
  launches: 'launches',
  planned_launches: 'planned launches',
  iterations: 'steady samples',
  ttft_p50_ms: 'time to the first token',
  tpot_p50_ms: 'time of each further token',
  parameter_count: 'parameters',
  model_size_mb: 'size of the files',
  host: 'machine',
  device_name: 'device',
  effective_precision: 'arithmetic',
  engine: 'runtime',
  engine_version: 'version of the runtime',
  effective_options: 'options in effect',
  engine_options: 'options set',
  effective_threads: 'threads',
  input_shape: 'inputs',
  top1_agreement: 'largest logits that agree',
  verification: 'verdict',
  agreed_by: 'agree too',
  shared_kernels: 'kernels of the reference too',
};

const percentileColumns = listColumns([
  { title: 'Percentile' },
  { title: 'Latency', unit: 'ms', numeric: true },
  { title: '95 % from', unit: 'ms', numeric: true },
  { title: '95 % to', unit: 'ms', numeric: true },
  { title: 'Samples' },
]);
const fieldColumns = listColumns([{ title: 'Field' }, { title: 'Value' }, { title: 'Unit' }, { title: 'Meaning' }]);

/** How the times are distributed, and whether they were steady: charts of src/show/chart with the rows of this cell. */
function Samples({
  document,
  cell,
  distributions,
}: {
  document: AssayDocument;
  cell: Cell;
  distributions: Distribution[];
}) {
  const [overTime, distribution] = useMemo(
    () => [overTimeChart(document, cell, distributions), distributionChart(document, cell, distributions)],
    [document, cell],
  );
  return (
    <>
      {overTime && (
        <Chart
          key={`time ${cell.key}`}
          chart={overTime}
          themes={document.themes}
          name={fileName(cell, 'over_time')}
          title="Was it steady?"
          subtitle="ms, lower is better; line: medians, band: from the shortest to the longest sample"
        />
      )}
      {distribution && (
        <Chart
          key={`distribution ${cell.key}`}
          chart={distribution}
          themes={document.themes}
          name={fileName(cell, 'distribution')}
          title="How are the times distributed?"
          subtitle="share of the samples that took at most this time, a line for each launch"
        />
      )}
    </>
  );
}

function verdictSentence(cell: Cell): string {
  const state = stateOf(cell);
  if (state === 'verified') {
    const why = unrankedBecause(cell);
    return why
      ? `Its outputs agree with those of the reference, but it is not ranked: ${why}.`
      : 'Its outputs agree with those of the reference; it is ranked.';
  }
  const reason = cell.text('message');
  // Of a skipped cell the meaning names all reasons that there are.
  if (state === 'skipped' && reason) return `assay did not run it: ${reason}.`;
  return `${states[state].meaning}${reason ? ` ${reason}.` : ''}`;
}

export function CellPage({ document, route }: { document: AssayDocument; route: Route }) {
  const cell = document.byKey.get(route.argument);
  if (!cell)
    return (
      <>
        <h1>There is no cell {route.argument} in this file</h1>
        <p>
          <a href={link('cells')}>All cells</a>
        </p>
      </>
    );
  const distributions = cell.shown ? document.distributionsOf(cell).filter((one) => one.kind === 0) : [];
  const p50 = resultOf(cell, 'latency_p50_ms');
  const wrong = stateOf(cell) === 'wrong';
  const ended = ['verified', 'unverified', 'wrong'].includes(stateOf(cell));
  const started = ended || stateOf(cell) === 'failed';
  const [low, high] = [cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms')];
  const run = document.runs.find((one) => one.run_id === cell.text('run_id'));
  const latency = (['p50', 'p90', 'p95', 'p99'] as const)
    .map((p) => ({
      p,
      value: cell.number(`latency_${p}_ms`),
      low: cell.number(`latency_${p}_low_ms`),
      high: cell.number(`latency_${p}_high_ms`),
      quality: cell.text(`latency_${p}_quality`),
    }))
    .filter((row) => row.value !== null);
  const text = (name: string): [string, ComponentChildren, string?] => {
    const field = document.fields.find((one) => one.name === name);
    const value = cell.value(name);
    return [
      labels[name] ?? plainWords(name),
      typeof value === 'number' ? fieldText(value, field?.unit ?? '') : value,
      field?.meaning,
    ];
  };
  return (
    <>
      <p class="crumbs">
        <a href={link('model', cell.text('model'), { machine: cell.text('machine') })}>{cell.text('model')}</a> /{' '}
        <TargetName cell={cell} /> / {shapeWords(cell)}
        {cell.text('machine') && ` / ${cell.text('machine')}`}
      </p>
      <h1>
        {p50 === null ? (
          <CellState cell={cell} />
        ) : (
          <>
            {withUnit(p50, 'ms')} <small>median, {plusMinus(p50, low, high)}</small>
          </>
        )}
      </h1>
      <p class="verdict">
        <CellState cell={cell} /> {verdictSentence(cell)}
      </p>
      {wrong && cell.number('latency_p50_ms') !== null && (
        <p class="note">
          Its times are not shown as results: they are those of a computation with other numbers. The record below has
          them.
        </p>
      )}
      {cell.text('hint') && (
        <p class="hint">
          <b>What to do:</b> <Prose text={cell.text('hint')} />
        </p>
      )}
      {cell.text('reason_code') !== 'not_built' && (
        <Section id="repeat" title={started ? 'Repeat it' : 'Try it'}>
          {cell.reproduce === '' ? (
            <p class="note">{cell.text('not_repeatable')}</p>
          ) : (
            <div class="command">
              <pre>
                <code>{cell.reproduce}</code>
              </pre>
              <Copy text={cell.reproduce} label="Copy the command" />
            </div>
          )}
        </Section>
      )}
      {p50 !== null && (
        <Section
          id="latency"
          title="Latency"
          note={
            evidenceWords[cell.text('latency_p50_interval')] &&
            `The interval of the median is ${evidenceWords[cell.text('latency_p50_interval')]}.`
          }
        >
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">Percentile</th>
                  <th scope="col" class="numeric">
                    ms
                  </th>
                  <th scope="col" class="numeric">
                    95 % interval
                  </th>
                  <th scope="col">Samples</th>
                </tr>
              </thead>
              <tbody>
                {latency.map((row) => (
                  <tr key={row.p}>
                    <th scope="row">{row.p}</th>
                    <td class="numeric" data-field={`latency_${row.p}_ms`}>
                      {number(row.value, 4)}
                    </td>
                    <td class="numeric">
                      {row.low === null ? '–' : `${number(row.low, 4)} to ${number(row.high, 4)}`}
                    </td>
                    <td>{qualityWords(row.quality)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <CopyTable
            name="percentiles"
            columns={percentileColumns}
            rows={latency.map((row) => [row.p, row.value, row.low, row.high, qualityWords(row.quality)])}
          />
          <Facts
            facts={[
              text('throughput_ips'),
              text('launches'),
              text('planned_launches'),
              text('iterations'),
              text('outliers'),
              ['stopped by', stopWords[cell.text('stop_reason')] ?? cell.text('stop_reason')],
              ['course of the times', courseWords[cell.text('steady_class')] ?? cell.text('steady_class')],
              text('ttft_p50_ms'),
              text('tpot_p50_ms'),
              text('tokens_per_second'),
            ]}
          />
        </Section>
      )}
      {p50 !== null &&
        (distributions.length > 0 ? (
          <Samples document={document} cell={cell} distributions={distributions} />
        ) : (
          <p class="note">
            The distribution of the samples is not in this file
            {document.detail !== 'full' && (
              <>
                {' '}
                ({document.detail}); <code>assay serve</code> shows it
              </>
            )}
            .
          </p>
        ))}
      {p50 !== null && (
        <div class="pictures">
          <Launches cell={cell} />
          <Memory cell={cell} />
        </div>
      )}
      {p50 !== null && <Phases document={document} cell={cell} />}
      {ended && (
        <Section id="verification" title="Are the outputs right?">
          <Errors cell={cell} />
          <Facts
            facts={[
              text('verification'),
              text('reference'),
              text('checked'),
              text('worst_output'),
              text('worst_element'),
              text('agreed_by'),
              text('cosine_similarity'),
              text('top1_agreement'),
              text('kernels'),
              text('shared_kernels'),
            ]}
          />
        </Section>
      )}
      <Section id="environment" title={started ? 'What it ran with' : 'What it would have run with'}>
        <Facts
          facts={[
            text('model_id'),
            text('weights'),
            text('size'),
            text('parameter_count'),
            text('model_size_mb'),
            text('engine'),
            text('engine_version'),
            text('device_name'),
            text('effective_precision'),
            text('engine_options'),
            text('effective_options'),
            text('effective_threads'),
            text('shapes'),
            text('input_shape'),
            text('host'),
            ['run', <a href={link('history', cell.text('series_key'))}>{cell.text('run_id')}</a>],
            ['time', when(cell.text('timestamp'))],
            ['command of the run', run && <code>{run.command}</code>],
          ]}
        />
      </Section>
      <details>
        <summary>
          All{' '}
          {count(
            document.fields.filter((field) => cell.value(field.name) !== null && cell.value(field.name) !== '').length,
          )}{' '}
          fields of the record{wrong ? ', of wrong numbers' : ''}
        </summary>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Field</th>
                <th scope="col">Value</th>
                <th scope="col">Unit</th>
                <th scope="col">Meaning</th>
              </tr>
            </thead>
            <tbody>
              {document.fields.map((field) => {
                const value = cell.value(field.name);
                return value === null || value === '' ? null : (
                  <tr key={field.name}>
                    <th scope="row">
                      <code>{field.name}</code>
                    </th>
                    <td class="break">
                      {String(value)}
                      {shownValue(cell, field) === null && <small> {states.wrong.symbol} wrong numbers</small>}
                    </td>
                    <td>{field.unit}</td>
                    <td>{field.meaning}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
        <CopyTable
          name="all fields"
          columns={fieldColumns}
          rows={document.fields.flatMap((field): Value[][] => {
            const value = cell.value(field.name);
            return value === null || value === '' ? [] : [[field.name, value, field.unit, field.meaning]];
          })}
        />
      </details>
    </>
  );
}
