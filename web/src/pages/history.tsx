// SPDX-License-Identifier: Apache-2.0
// How a series changed from run to run, with the versions that changed meanwhile.
import { useMemo } from 'preact/hooks';
import { fileName, historyChart } from '../cell_charts.ts';
import { Chart } from '../chart.tsx';
import type { AssayDocument, Cell, HistoryPoint } from '../document.ts';
import { counted, number, signedPercent, when, withUnit } from '../format.ts';
import { keysOf } from '../order.ts';
import { choiceText } from '../pairs.ts';
import { cellLink, cellWords, importantChanges, Section, StateMark } from '../parts.tsx';
import { medianOf, standingOf } from '../results.ts';
import type { Column } from '../rows.ts';
import { link, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { nothingChanged, stateFrom, states } from '../words.ts';

const pointState = (point: HistoryPoint) => stateFrom(point.status, point.verification);
const pointMark = (point: HistoryPoint | undefined) => {
  const state = point && pointState(point);
  return !state || state === 'verified' ? '–' : `${states[state].symbol} ${state}`;
};

function Trend({ document, cell, points }: { document: AssayDocument; cell: Cell; points: HistoryPoint[] }) {
  const chart = useMemo(() => historyChart(document, cell, points), [document, cell, points]);
  if (!chart) return <p class="empty">No result of this series has a time to show.</p>;
  return (
    <Chart
      key={cell.key}
      chart={chart}
      themes={document.themes}
      name={fileName(cell, 'history')}
      title="Median over time"
    />
  );
}

const comparisonOf = (before: string, after: string) =>
  link('compare', '', { a: choiceText({ run_id: before }), b: choiceText({ run_id: after }) });

interface SeriesLine {
  cell: Cell;
  points: HistoryPoint[];
}

export function History({ document, route }: { document: AssayDocument; route: Route }) {
  const bySeries = new Map<number, HistoryPoint[]>();
  for (const point of document.history) bySeries.set(point.series, [...(bySeries.get(point.series) ?? []), point]);
  const cellOf = new Map(document.cells.map((cell) => [cell.text('series_key'), cell]));
  if (route.argument === '') {
    const places = new Map(document.series.map((key, i) => [key, i]));
    const lines: SeriesLine[] = [...cellOf].flatMap(([key, cell]) => {
      const points = bySeries.get(places.get(key) ?? -1);
      return points ? [{ cell, points }] : [];
    });
    const now = (line: SeriesLine) => standingOf(line.points).now;
    const before = (line: SeriesLine) => standingOf(line.points).before?.p50 ?? null;
    const move = (line: SeriesLine) => {
      const [median, earlier] = [now(line), before(line)];
      return median !== null && earlier !== null ? median / earlier - 1 : null;
    };
    const columns: Column<SeriesLine>[] = [
      { id: 'cell', title: 'Cell', value: (line) => cellWords(line.cell) },
      { id: 'model', title: 'Model', choice: document.models, hidden: true, value: (line) => line.cell.text('model') },
      {
        id: 'target',
        title: 'Target',
        choice: keysOf(document.targets),
        hidden: true,
        value: (line) => line.cell.target,
      },
      { id: 'results', title: 'Results', numeric: true, value: (line) => line.points.length },
      {
        id: 'now',
        title: 'Newest',
        unit: 'ms',
        numeric: true,
        meaning: 'Median of the newest result; a mark if it is none',
        value: now,
        view: (line) => {
          const { now: median, newest } = standingOf(line.points);
          return median === null ? <span class="quiet">{pointMark(newest)}</span> : number(median);
        },
      },
      {
        id: 'before',
        title: 'The one before',
        unit: 'ms',
        numeric: true,
        meaning: 'Median of the result before that has one',
        value: before,
      },
      {
        id: 'change_percent',
        title: 'Change',
        numeric: true,
        meaning: 'Of the median between two runs; not a claim: the machine may have been in another state',
        value: (line) => {
          const share = move(line);
          return share === null ? null : share * 100;
        },
        view: (line) => {
          const share = move(line);
          return share === null ? '–' : signedPercent(share);
        },
      },
    ];
    const changed = importantChanges(document).length;
    const { runs } = document;
    return (
      <>
        <h1>
          {document.runs.length < 2
            ? 'One run so far: there is none to compare it with'
            : changed === 0
              ? 'Nothing changed since the run before'
              : `${counted(changed, 'change')} since the run before`}
        </h1>
        <p class="note">
          {document.runs.length < 2 ? (
            ''
          ) : changed === 0 ? (
            nothingChanged
          ) : (
            <a href={link('', '', { at: 'changed' })}>The overview says which.</a>
          )}{' '}
          Below, every series: one cell on one machine, from run to run.{' '}
          {runs.length > 1 && (
            <a href={comparisonOf(runs[1]!.run_id, runs[0]!.run_id)}>Compare the last two runs, cell by cell</a>
          )}
        </p>
        <DataTable
          caption="Series"
          noun="series"
          columns={columns}
          rows={lines}
          route={route}
          search
          link={(line) => link('history', line.cell.text('series_key'))}
        />
      </>
    );
  }
  const series = document.series.indexOf(route.argument);
  const points = bySeries.get(series) ?? [];
  const cell = cellOf.get(route.argument);
  if (!cell) return <h1>There is no series {route.argument} in this file</h1>;
  const { newest, now, first } = standingOf(points);
  const columns: Column<HistoryPoint>[] = [
    { id: 'time', title: 'Time (UTC)', value: (point) => when(point.time) },
    {
      id: 'state',
      title: 'State',
      choice: true,
      value: pointState,
      view: (point) => <StateMark state={pointState(point)} />,
    },
    {
      id: 'p50',
      title: 'Median',
      unit: 'ms',
      numeric: true,
      value: medianOf,
      view: (point) => {
        const median = medianOf(point);
        return median === null ? pointMark(point) : number(median);
      },
    },
    {
      id: 'interval',
      title: '95 % interval',
      unit: 'ms',
      value: (point) =>
        point.low === null || medianOf(point) === null ? '' : `${number(point.low, 4)} to ${number(point.high, 4)}`,
    },
    { id: 'launches', title: 'Launches', numeric: true, value: (point) => point.launches },
    { id: 'version', title: 'Versions', value: (point) => point.version },
    { id: 'disturbed', title: 'Disturbed by', value: (point) => point.disturbed },
    { id: 'run', title: 'Run', value: (point) => point.run },
  ];
  return (
    <>
      <p class="crumbs">
        <a href={link('history')}>History</a> / <a href={cellLink(cell)}>{cellWords(cell)}</a>
      </p>
      <h1>
        {cellWords(cell)}: {!newest ? 'never measured' : now === null ? pointMark(newest) : withUnit(now, 'ms')}
        {first && (
          <small>
            {' '}
            was {withUnit(first.p50, 'ms')} on {when(first.time).slice(0, 10)}
          </small>
        )}
      </h1>
      <Trend document={document} cell={cell} points={points} />
      <Section id="results" title={counted(points.length, 'result')}>
        <DataTable caption="Results" noun="result" columns={columns} rows={[...points].reverse()} route={route} />
      </Section>
    </>
  );
}
