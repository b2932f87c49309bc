// SPDX-License-Identifier: Apache-2.0
// The tables of a cell whose rows have a mark: its launches, memory and errors; and its phases, which are a chart.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { fileName, phasesChart } from '../cell_charts.ts';
import { Chart } from '../chart.tsx';
import { CopyTable, listColumns } from '../copy_table.tsx';
import type { AssayDocument, Cell, Value } from '../document.ts';
import { number, signedPercent, withUnit } from '../format.ts';
import { logarithmic, Marks, Point, percent, spanLog } from '../marks.tsx';
import { phasesOf } from '../phases.ts';
import { launchMedians } from '../stats.ts';

interface MarkRow {
  name: string;
  /** As they are shown, and what is copied. */
  numbers: string[];
  values: (number | null)[];
  marks: ComponentChildren;
}

/** The first column names the row, the last one has its mark; `scale` says what the mark shows. */
function MarkTable({
  title,
  heads,
  scale,
  rows,
  note,
}: {
  title: string;
  heads: string[];
  scale: string;
  rows: MarkRow[];
  note?: ComponentChildren;
}) {
  const columns = listColumns(
    heads.map((head, i) => {
      const [words, unit] = head.split(', ');
      return { title: words!, unit, numeric: i > 0 };
    }),
  );
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div class="scroll">
        <table class="with-marks">
          <thead>
            <tr>
              {heads.map((head, i) => (
                <th key={head} scope="col" class={i > 0 ? 'numeric' : ''}>
                  {head}
                </th>
              ))}
              <th scope="col">{scale}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {row.numbers.map((text, i) => (
                  <td key={i} class="numeric">
                    {text}
                  </td>
                ))}
                <td>{row.marks}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {note && <p class="note">{note}</p>}
      <CopyTable name={title} columns={columns} rows={rows.map(({ name, values }): Value[] => [name, ...values])} />
    </figure>
  );
}

export function Launches({ cell }: { cell: Cell }) {
  const p50 = cell.number('latency_p50_ms');
  const medians = [...launchMedians({ run: '', launches: cell.text('launch_p50_ms'), launchNumber: null, p50 })];
  const [low, high] = [cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms')];
  if (p50 === null || medians.length === 0) return null;
  const place = logarithmic(spanLog([...medians.map(([, ms]) => ms), low ?? p50, high ?? p50], 0.12));
  const shown = `Dashed: the cell’s median, ${withUnit(p50, 'ms')}${low === null ? '' : '; grey: its 95 % interval'}.`;
  return (
    <MarkTable
      title="Do the launches agree?"
      heads={['Launch', 'Median, ms', 'From the cell’s']}
      scale="Less is left"
      rows={medians.map(([launch, ms]) => ({
        name: String(launch),
        numbers: [number(ms, 4), medians.length > 1 ? signedPercent(ms / p50 - 1) : '–'],
        values: [ms, medians.length > 1 ? ms / p50 - 1 : null],
        marks: (
          <Marks hardware={cell.text('hardware')}>
            {low !== null && high !== null && (
              <rect
                class="interval"
                x={percent(place(low))}
                width={percent(place(high) - place(low))}
                y={0}
                height={30}
              />
            )}
            <line class="median" x1={percent(place(p50))} x2={percent(place(p50))} y1={0} y2={30} />
            <Point at={place(ms)} />
          </Marks>
        ),
      }))}
      note={
        medians.length === 1
          ? 'One launch: what another process would give is not known.'
          : `Each launch is a fresh process. ${shown}`
      }
    />
  );
}

const phaseColumns = listColumns([
  { title: 'Phase' },
  { title: 'Time', unit: 's', numeric: true },
  { title: 'Share', numeric: true },
]);

/** The chart of src/show/chart with the rows of this cell, and its numbers. */
export function Phases({ document, cell }: { document: AssayDocument; cell: Cell }) {
  const chart = useMemo(() => phasesChart(document, cell), [document, cell]);
  const all = phasesOf(cell);
  const phases = all.filter((one): one is [string, number] => one[1] !== null && one[1] > 0);
  if (!chart) return null;
  // A note of the chart says it of compiling.
  const absent = all.filter(([name, seconds]) => seconds === null && name !== 'compile').map(([name]) => name);
  const total = phases.reduce((sum, [, seconds]) => sum + seconds, 0);
  return (
    <Chart
      key={`phases ${cell.key}`}
      chart={chart}
      themes={document.themes}
      name={fileName(cell, 'phases')}
      title="Where the time of a launch goes"
      subtitle=""
    >
      <div class="scroll numbers">
        <table>
          <thead>
            <tr>
              <th scope="col">Phase</th>
              <th scope="col" class="numeric">
                Time, s
              </th>
              <th scope="col" class="numeric">
                Share
              </th>
            </tr>
          </thead>
          <tbody>
            {phases.map(([name, seconds]) => {
              const share = (100 * seconds) / total;
              return (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="numeric">{number(seconds)}</td>
                  <td class="numeric">{share < 0.1 ? '< 0.1' : number(share, share < 10 ? 2 : 3)} %</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <CopyTable
        name="Where the time of a launch goes"
        columns={phaseColumns}
        rows={phases.map(([name, seconds]): Value[] => [name, seconds, seconds / total])}
      />
      {absent.length > 0 && <p class="note">Not separate in this runtime, or not measured: {absent.join(', ')}.</p>}
    </Chart>
  );
}

export function Memory({ cell }: { cell: Cell }) {
  const all: [string, string][] = [
    ['highest while loading', 'memory_load_mb'],
    ['highest in the steady part', 'memory_mb'],
    ['mean of the steady part', 'memory_avg_mb'],
    ['highest of the model alone', 'memory_model_mb'],
  ];
  const rows = all.flatMap(([name, field]): [string, number][] => {
    const value = cell.number(field);
    return value === null ? [] : [[name, value]];
  });
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(([, megabytes]) => megabytes));
  const source = cell.text('memory_source');
  const sources: Record<string, string> = {
    process: 'Of the process that ran the model.',
    process_warm: 'An upper bound: the process had already run another shape.',
    device: 'Of the device.',
  };
  return (
    <MarkTable
      title="Memory"
      heads={['Part', 'Memory, MB']}
      scale="From 0"
      rows={rows.map(([name, megabytes]) => ({
        name,
        numbers: [number(megabytes)],
        values: [megabytes],
        marks: (
          <Marks hardware={cell.text('hardware')}>
            <rect class="bar" x="0%" width={percent((100 * megabytes) / most)} y={8} height={14} />
          </Marks>
        ),
      }))}
      note={sources[source] ?? source}
    />
  );
}

/** "2.0e-7", "0.031". */
const small = (value: number) =>
  value === 0 ? '0' : value < 1e-3 || value >= 1e4 ? value.toExponential(1) : number(value, 2);

/** Less than this share of the limit is as good as none. */
const leastShare = 1e-6;

export function Errors({ cell }: { cell: Cell }) {
  const rows = [
    {
      name: 'root mean square',
      value: cell.number('rms_error'),
      limit: cell.number('rms_limit'),
      honest: cell.number('honest_error'),
    },
    { name: 'largest', value: cell.number('max_abs_error'), limit: cell.number('error_limit'), honest: null },
  ].filter(
    (row): row is { name: string; value: number; limit: number; honest: number | null } =>
      row.value !== null && row.limit !== null && row.limit > 0,
  );
  if (rows.length === 0)
    return (
      <p>
        {cell.text('verification') === 'unverified'
          ? 'There was nothing to compare the outputs with.'
          : `Verdict: ${cell.text('verification')}.`}
      </p>
    );
  const share = (value: number, limit: number) => Math.max(value / limit, leastShare);
  const place = logarithmic(
    spanLog([...rows.flatMap((row) => [share(row.value, row.limit), share(row.honest ?? row.limit, row.limit)]), 1, 3]),
  );
  const honest = rows.some((row) => row.honest !== null && row.honest > 0);
  const notes = [
    'Ratio: found over limit, at the right on a logarithmic scale.',
    'Dashed: the limit; right of it the outputs are wrong.',
    honest && `Short line: what rounding in this precision alone gives (${small(rows[0]!.honest!)}).`,
  ];
  return (
    <MarkTable
      title="Error against its limit"
      heads={['Error', 'Found', 'Limit', 'Ratio']}
      scale="Less is left"
      rows={rows.map((row) => ({
        name: row.name,
        numbers: [row.value, row.limit, row.value / row.limit].map(small),
        values: [row.value, row.limit, row.value / row.limit],
        marks: (
          <Marks state={row.value > row.limit ? 'bad' : 'good'}>
            <line class="limit" x1={percent(place(1))} x2={percent(place(1))} y1={0} y2={30} />
            {row.honest !== null && row.honest > 0 && (
              <line
                class="honest"
                x1={percent(place(share(row.honest, row.limit)))}
                x2={percent(place(share(row.honest, row.limit)))}
                y1={6}
                y2={24}
              />
            )}
            <Point at={place(share(row.value, row.limit))} />
          </Marks>
        ),
      }))}
      note={notes.filter(Boolean).join(' ')}
    />
  );
}
