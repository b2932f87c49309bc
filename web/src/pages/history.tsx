// SPDX-License-Identifier: Apache-2.0
// How a series changed from run to run, with the versions that changed meanwhile.
import type { AssayDocument, Cell, HistoryPoint } from '../document.ts';
import { counted, number, when, withUnit } from '../format.ts';
import { cellLink, cellWords, Section, StateMark } from '../parts.tsx';
import { Axes, Figure, linear, logarithmic, Point, spanLog, type Frame } from '../plot.tsx';
import { link, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import type { Column } from '../rows.ts';
import { states, type State } from '../words.ts';

const pointState = (point: HistoryPoint): State => point.status === 'completed' ? (point.verification === 'verified' ? 'verified' : 'unverified') : point.status in states ? point.status as State : 'failed';

function Trend({ points, hardware }: { points: HistoryPoint[]; hardware: string }) {
  const measured = points.filter((point) => point.p50 !== null);
  if (measured.length === 0) return <p class="empty">No run of this series has a time.</p>;
  const height = 320;
  const changes = points.flatMap((point, i) => i > 0 && point.version !== points[i - 1]!.version ? [{ point, from: points[i - 1]!.version }] : []);
  return (
    <Figure title="Median over time" height={height} description={measured.map((point) => `${when(point.time)}: ${withUnit(point.p50, 'ms')}`).join(', ')}
      notes="Times of different runs are not claimed to differ: the machine may have been another state. Band: 95 % intervals. Vertical lines: another version."
      draw={(width) => {
        const frame: Frame = { left: 60, right: width - 20, top: 28, bottom: height - 44 };
        const times = points.map((point) => point.time);
        const margin = Math.max((Math.max(...times) - Math.min(...times)) * 0.03, 3600);
        const x = linear([Math.min(...times) - margin, Math.max(...times) + margin], [frame.left, frame.right], 4);
        const y = logarithmic(spanLog(measured.flatMap((point) => [point.p50!, point.low ?? point.p50!, point.high ?? point.p50!]), 0.15), [frame.bottom, frame.top]);
        const shown = measured.length <= 6 ? measured : measured.filter((_, i) => i % Math.ceil(measured.length / 6) === 0);
        const band = measured.filter((point) => point.low !== null && point.high !== null);
        return (
          <>
            <Axes x={Object.assign((value: number) => x(value), { ticks: shown.map((point) => point.time), domain: x.domain })} y={y} frame={frame} xName="day of the run, UTC" yName="ms, lower is better" xTick={(time) => when(time).slice(5, 10)} />
            {changes.map(({ point, from }) => (
              <g key={point.time}><line class="version" x1={x(point.time)} x2={x(point.time)} y1={frame.top} y2={frame.bottom}><title>{`${from} → ${point.version}`}</title></line>
                <text class="label quiet" x={x(point.time) - 5} y={frame.top + 10} text-anchor="end">{point.version.split(',')[0]}</text></g>
            ))}
            <g class={`hw hw-${hardware}`}>
              {band.length > 1 && <path class="band" d={`M${band.map((point) => `${x(point.time)} ${y(point.high!)}`).join('L')}L${[...band].reverse().map((point) => `${x(point.time)} ${y(point.low!)}`).join('L')}Z`} />}
              <path class="line" d={`M${measured.map((point) => `${x(point.time)} ${y(point.p50!)}`).join('L')}`} />
              {measured.map((point) => <Point key={point.time} x={x(point.time)} y={y(point.p50!)} low={point.low && y(point.low)} high={point.high && y(point.high)} hollow={!point.ranked} title={`${when(point.time)}: ${withUnit(point.p50, 'ms')}, ${point.version}`} />)}
            </g>
            {points.filter((point) => point.p50 === null || pointState(point) !== 'verified').map((point) => <text key={point.time} class="mark-state" x={x(point.time)} y={frame.bottom - 6} text-anchor="middle">{states[pointState(point)].symbol}<title>{`${when(point.time)}: ${pointState(point)}`}</title></text>)}
          </>
        );
      }} />
  );
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
      { id: 'model', title: 'Model', choice: true, value: (line) => line.cell.text('model') },
      { id: 'target', title: 'Target', choice: true, value: (line) => line.cell.target },
      { id: 'results', title: 'Results', numeric: true, value: (line) => line.points.length },
      { id: 'now', title: 'Newest', unit: 'ms', numeric: true, value: (line) => last(line, 0) },
      { id: 'before', title: 'Before', unit: 'ms', numeric: true, value: (line) => last(line, 1) },
      { id: 'move', title: 'Newest / before', numeric: true, meaning: 'Of two runs: not a claim', value: (line) => { const [now, before] = [last(line, 0), last(line, 1)]; return now && before ? now / before : null; } },
    ];
    return (
      <>
        <h1>{counted(lines.length, 'series')}, {counted(document.runs.length, 'run')}</h1>
        <p class="note">A series is one cell on one machine from run to run.</p>
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
      <h1>{cellWords(cell)}: {newest ? withUnit(newest.p50, 'ms') : 'never measured'}{first && newest && first !== newest && <small> {withUnit(first.p50, 'ms')} on {when(first.time).slice(0, 10)}</small>}</h1>
      <Trend points={points} hardware={cell.text('hardware')} />
      <Section id="results" title={counted(points.length, 'result')}><DataTable caption="Results" noun="result" columns={columns} rows={[...points].reverse()} route={route} /></Section>
    </>
  );
}
