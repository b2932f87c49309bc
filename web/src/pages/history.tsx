// SPDX-License-Identifier: Apache-2.0
// How a series changed from run to run, with the versions that changed meanwhile.
import { useMemo } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import { filled } from '../chart_layout.ts';
import { historyRows } from '../chart_rows.ts';
import type { AssayDocument, Cell, HistoryPoint } from '../document.ts';
import { counted, number, signedPercent, when, withUnit } from '../format.ts';
import { cellLink, cellWords, importantChanges, Section, StateMark } from '../parts.tsx';
import { link, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import type { Column } from '../rows.ts';
import { states, type State } from '../words.ts';

const pointState = (point: HistoryPoint): State => point.status === 'completed' ? (point.verification === 'verified' ? 'verified' : 'unverified') : point.status in states ? point.status as State : 'failed';

function Trend({ document, cell, points }: { document: AssayDocument; cell: Cell; points: HistoryPoint[] }) {
  const chart = useMemo(() => {
    const made = document.charts[`history/${cell.target}`];
    const measured = points.filter((point) => point.p50 !== null);
    return made && measured.length > 0 && filled(made, historyRows(points, cellWords(cell)), {
      title: 'Median over time', subtitle: 'ms, lower is better; band: 95 % interval of the median', notes: ['Times of different runs are never claimed to differ: the machine may have been in another state. Dotted lines: another version. Hollow: no interval over launches.'],
      summary: measured.map((point) => `${when(point.time)}: ${withUnit(point.p50, 'ms')}`).join(', '),
    });
  }, [document, cell, points]);
  if (!chart) return <p class="empty">No run of this series has a time.</p>;
  return <Chart key={cell.key} chart={chart} themes={document.themes} name={`${cell.text('model')}_history`} />;
}

interface SeriesLine { cell: Cell; points: HistoryPoint[] }

export function History({ document, route }: { document: AssayDocument; route: Route }) {
  const bySeries = new Map<number, HistoryPoint[]>();
  for (const point of document.history) bySeries.set(point.series, [...(bySeries.get(point.series) ?? []), point]);
  const cellOf = new Map(document.cells.map((cell) => [cell.text('series_key'), cell]));
  if (route.argument === '') {
    const lines: SeriesLine[] = [...bySeries].flatMap(([series, points]) => {
      const cell = cellOf.get(document.series[series] ?? '');
      return cell ? [{ cell, points }] : [];
    });
    const last = (line: SeriesLine, back: number) => line.points.filter((point) => point.p50 !== null).at(-1 - back)?.p50 ?? null;
    const columns: Column<SeriesLine>[] = [
      { id: 'cell', title: 'Cell', value: (line) => cellWords(line.cell) },
      { id: 'model', title: 'Model', choice: true, hidden: true, value: (line) => line.cell.text('model') },
      { id: 'target', title: 'Target', choice: true, hidden: true, value: (line) => line.cell.target },
      { id: 'results', title: 'Results', numeric: true, value: (line) => line.points.length },
      { id: 'now', title: 'Newest', unit: 'ms', numeric: true, value: (line) => last(line, 0) },
      { id: 'before', title: 'The one before', unit: 'ms', numeric: true, value: (line) => last(line, 1) },
      { id: 'change_percent', title: 'Change', numeric: true, meaning: 'Of the median between two runs; not a claim: the machine may have been in another state', value: (line) => { const [now, before] = [last(line, 0), last(line, 1)]; return now && before ? (now / before - 1) * 100 : null; },
        view: (line) => { const [now, before] = [last(line, 0), last(line, 1)]; return now && before ? signedPercent(now / before - 1) : '–'; } },
    ];
    const changed = importantChanges(document).length;
    return (
      <>
        <h1>{document.runs.length < 2 ? 'One run so far: there is none to compare it with' : changed === 0 ? 'Nothing changed since the run before' : `${counted(changed, 'change')} since the run before`}</h1>
        <p class="note">{document.runs.length < 2 ? '' : changed === 0 ? 'No verdict changed, and no time moved beyond the spread of earlier runs.' : <><a href={link('', '', { at: 'changed' })}>The overview says which.</a></>} Below, every series: one cell on one machine, from run to run.</p>
        <DataTable caption="Series" noun="series" columns={columns} rows={lines} route={route} search link={(line) => link('history', line.cell.text('series_key'))} />
      </>
    );
  }
  const series = document.series.indexOf(route.argument);
  const points = bySeries.get(series) ?? [];
  const cell = cellOf.get(route.argument);
  if (!cell) return <h1>There is no series {route.argument} in this file</h1>;
  const first = points.filter((point) => point.p50 !== null)[0];
  const newest = points.filter((point) => point.p50 !== null).at(-1);
  const columns: Column<HistoryPoint>[] = [
    { id: 'time', title: 'Time (UTC)', value: (point) => when(point.time) },
    { id: 'state', title: 'State', choice: true, value: pointState, view: (point) => <StateMark state={pointState(point)} /> },
    { id: 'p50', title: 'Median', unit: 'ms', numeric: true, value: (point) => point.p50 },
    { id: 'interval', title: '95 % interval', unit: 'ms', value: (point) => point.low === null ? '' : `${number(point.low, 4)} to ${number(point.high, 4)}` },
    { id: 'launches', title: 'Launches', numeric: true, value: (point) => point.launches },
    { id: 'version', title: 'Versions', value: (point) => point.version },
    { id: 'run', title: 'Run', value: (point) => point.run },
  ];
  return (
    <>
      <p class="crumbs"><a href={link('history')}>History</a> / <a href={cellLink(cell)}>{cellWords(cell)}</a></p>
      <h1>{cellWords(cell)}: {newest ? withUnit(newest.p50, 'ms') : 'never measured'}{first && newest && first !== newest && <small> was {withUnit(first.p50, 'ms')} on {when(first.time).slice(0, 10)}</small>}</h1>
      <Trend document={document} cell={cell} points={points} />
      <Section id="results" title={counted(points.length, 'result')}><DataTable caption="Results" noun="result" columns={columns} rows={[...points].reverse()} route={route} /></Section>
    </>
  );
}
