// SPDX-License-Identifier: Apache-2.0
// Everything that is known of one cell: the verdict first, then the evidence, then the command that repeats it.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Chart } from '../chart.tsx';
import { filled } from '../chart_layout.ts';
import { distributionRows, overTimeRows } from '../chart_rows.ts';
import type { AssayDocument, Cell, Shape } from '../document.ts';
import { count, counted, fieldText, number, plusMinus, when, withUnit } from '../format.ts';
import { CellState, Copy, Facts, Section, shapeWords, TargetName } from '../parts.tsx';
import { Axes, Figure, linear, logarithmic, Point, spanLog, type Frame } from '../plot.tsx';
import { launchMedians } from '../stats.ts';
import { link, type Route } from '../state.ts';
import { evidenceWords, stateOf, states, unrankedBecause } from '../words.ts';

/** Names of fields where the field's own name says too little. */
const labels: Record<string, string> = {
  throughput_ips: 'throughput', launches: 'launches', planned_launches: 'planned launches', iterations: 'steady samples', stop_reason: 'stopped because', steady_class: 'course',
  ttft_p50_ms: 'time to the first token', tpot_p50_ms: 'time of each further token', parameter_count: 'parameters', model_size_mb: 'size of the files', host: 'machine',
  device_name: 'device', effective_precision: 'arithmetic', engine: 'runtime', engine_version: 'version of the runtime', effective_options: 'options in effect', engine_options: 'options set',
  effective_threads: 'threads', input_shape: 'inputs', top1_agreement: 'largest logits that agree', verification: 'verdict', agreed_by: 'agree too', shared_kernels: 'kernels of the reference too',
};

/** How the times are distributed, and whether they were steady: charts of src/chart with the rows of this cell. */
function Samples({ document, cell, shapes }: { document: AssayDocument; cell: Cell; shapes: Shape[] }) {
  const [overTime, distribution] = useMemo(() => {
    const of = (kind: string) => document.charts[`${kind}/${cell.target}/${shapes.length}`];
    const [time, ecdf] = [of('samples_over_time'), of('latency_distribution')];
    const few = shapes.slice(0, 6);
    const notes = [...(few.length < shapes.length ? [`${few.length} of ${shapes.length} launches.`] : []),
      ...(shapes.every((shape) => shape.wholeWindow) ? [] : ['Only the steady part of the samples is stored.'])];
    return [
      time && few.every((shape) => shape.bins.length > 0) && filled(time, overTimeRows(few), { title: 'Was it steady?', subtitle: 'ms, lower is better; line: medians, band: from the shortest to the longest sample',
        summary: `The times of ${counted(few.length, 'launch', 'launches')} in the order in which they were measured.`, notes }, few.map((shape) => `launch ${shape.launch} (${count(shape.samples)} samples, ${count(shape.steady)} steady)`)),
      ecdf && filled(ecdf, distributionRows(cell, shapes), { title: 'How are the times distributed?', subtitle: 'share of the samples that took at most this time, a line for each launch',
        summary: `p50 ${withUnit(cell.number('latency_p50_ms'), 'ms')}, p99 ${withUnit(cell.number('latency_p99_ms'), 'ms')}, over ${counted(shapes.length, 'launch', 'launches')}.` }),
    ];
  }, [document, cell]);
  const name = `${cell.text('model')}_${cell.target.replace('@', '_')}`;
  return <>
    {overTime && <Chart key={`time ${cell.key}`} chart={overTime} themes={document.themes} name={`${name}_over_time`} numbers />}
    {distribution && <Chart key={`distribution ${cell.key}`} chart={distribution} themes={document.themes} name={`${name}_distribution`} />}
  </>;
}

function Launches({ cell }: { cell: Cell }) {
  const medians = [...launchMedians({ run: '', launches: cell.text('launch_p50_ms'), launchNumber: null, p50: cell.number('latency_p50_ms') })];
  const p50 = cell.number('latency_p50_ms');
  const [low, high] = [cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms')];
  if (p50 === null || medians.length === 0) return null;
  const height = 48 + medians.length * 22;
  return (
    <Figure title="Do the launches agree?" height={height} description={medians.map(([launch, ms]) => `launch ${launch} ${withUnit(ms, 'ms')}`).join(', ')}
      notes={medians.length === 1 ? 'One launch: what another process would give is not known.' : 'Each launch is a fresh process. Band: 95 % interval of the median over launches.'}
      draw={(width) => {
        const frame: Frame = { left: 70, right: width - 70, top: 6, bottom: height - 36 };
        const x = logarithmic(spanLog([...medians.map(([, ms]) => ms), low ?? p50, high ?? p50], 0.12), [frame.left, frame.right], 4);
        return (
          <>
            {low !== null && high !== null && <rect class="interval" x={x(low)} width={x(high) - x(low)} y={frame.top} height={frame.bottom - frame.top} />}
            <line class="median" x1={x(p50)} x2={x(p50)} y1={frame.top} y2={frame.bottom} />
            <Axes x={x} y={Object.assign(() => 0, { ticks: [], domain: [0, 1] as [number, number] })} frame={frame} xName="median in ms, lower is better" yName="" />
            {medians.map(([launch, ms], i) => (
              <g key={launch} class={`hw hw-${cell.text('hardware')}`}>
                <text class="label" x={frame.left - 8} y={frame.top + 12 + i * 22} dy="0.32em" text-anchor="end">{`launch ${launch}`}</text>
                <Point level x={x(ms)} y={frame.top + 12 + i * 22} title={withUnit(ms, 'ms')} />
                <text class="label" x={width - 6} y={frame.top + 12 + i * 22} dy="0.32em" text-anchor="end">{number(ms, 4)}</text>
              </g>
            ))}
          </>
        );
      }} />
  );
}

function Bars({ title, description, unit, bars, waterfall, notes, hardware }: {
  title: string; description: string; unit: string; bars: { name: string; value: number; note?: string }[]; waterfall?: boolean; notes?: ComponentChildren; hardware: string;
}) {
  const height = 44 + bars.length * 24;
  const total = waterfall ? bars.reduce((sum, bar) => sum + bar.value, 0) : Math.max(...bars.map((bar) => bar.value));
  return (
    <Figure title={title} description={description} height={height} notes={notes} draw={(width) => {
      const frame: Frame = { left: 128, right: width - 76, top: 4, bottom: height - 36 };
      const x = linear([0, total], [frame.left, frame.right], 4);
      let before = 0;
      return (
        <>
          <Axes x={x} y={Object.assign(() => 0, { ticks: [], domain: [0, 1] as [number, number] })} frame={frame} xName={unit} yName="" />
          {bars.map((bar, i) => {
            const from = waterfall ? before : 0;
            before += bar.value;
            return (
              <g key={bar.name} class={`hw hw-${hardware}`}>
                <text class="label" x={frame.left - 8} y={frame.top + 12 + i * 24} dy="0.32em" text-anchor="end">{bar.name}</text>
                <rect class="bar" x={x(from)} y={frame.top + 4 + i * 24} width={Math.max(1, x(from + bar.value) - x(from))} height={16}><title>{`${bar.name}: ${number(bar.value)}`}</title></rect>
                <text class="label" x={width - 6} y={frame.top + 12 + i * 24} dy="0.32em" text-anchor="end">{bar.note ?? number(bar.value)}</text>
              </g>
            );
          })}
        </>
      );
    }} />
  );
}

function Phases({ cell }: { cell: Cell }) {
  const window = cell.number('window_ns');
  const seconds: [string, number | null][] = [
    ['open the runtime', scaled(cell.number('runtime_load_ms'), 1e-3)], ['load the model', cell.number('model_load_time')],
    ['compile', scaled(cell.number('compilation_time_ms'), 1e-3)], ['first run', scaled(cell.number('first_inference_ms'), 1e-3)],
    ['warm-up', scaled(cell.number('warmup_time_ms'), 1e-3)], ['steady window', scaled(window, 1e-9)],
  ];
  const bars = seconds.filter((one): one is [string, number] => one[1] !== null && one[1] > 0).map(([name, value]) => ({ name, value, note: `${number(value)} s` }));
  if (bars.length === 0) return null;
  const absent = seconds.filter(([, value]) => value === null).map(([name]) => name);
  return <Bars waterfall title="Where the time of a launch goes" description={bars.map((bar) => `${bar.name} ${bar.note}`).join(', ')} unit="s" bars={bars} hardware={cell.text('hardware')}
    notes={absent.length > 0 ? `Not separate in this runtime, or not measured: ${absent.join(', ')}.` : undefined} />;
}

const scaled = (value: number | null, factor: number) => (value === null ? null : value * factor);

function Memory({ cell }: { cell: Cell }) {
  const parts: [string, string][] = [['while loading', 'memory_load_mb'], ['peak, steady', 'memory_mb'], ['mean, steady', 'memory_avg_mb'], ['of the model', 'memory_model_mb']];
  const bars = parts.flatMap(([name, field]) => { const value = cell.number(field); return value === null ? [] : [{ name, value, note: `${number(value)} MB` }]; });
  if (bars.length === 0) return null;
  const source = cell.text('memory_source');
  return <Bars title="Memory" description={bars.map((bar) => `${bar.name} ${bar.note}`).join(', ')} unit="MB" bars={bars} hardware={cell.text('hardware')}
    notes={source === 'process_warm' ? 'An upper bound: the worker had already run another shape.' : source && `Counted: ${source}.`} />;
}

function Verification({ cell }: { cell: Cell }) {
  const rows = [
    { name: 'rms error', value: cell.number('rms_error'), limit: cell.number('rms_limit'), honest: cell.number('honest_error') },
    { name: 'largest error', value: cell.number('max_abs_error'), limit: cell.number('error_limit'), honest: null },
  ].filter((row): row is { name: string; value: number; limit: number; honest: number | null } => row.value !== null && row.limit !== null && row.limit > 0);
  if (rows.length === 0) return <p>{cell.text('verification') === 'unverified' ? 'There was nothing to compare the outputs with.' : `Verdict: ${cell.text('verification')}.`}</p>;
  const height = 44 + rows.length * 30;
  const least = 1e-12;
  return (
    <Figure title="Error against its limit" height={height} description={rows.map((row) => `${row.name} ${number(row.value)}, limit ${number(row.limit)}`).join('; ')}
      notes="Point: error over its limit, on a logarithmic scale; left of the line is within the limit. Tick: what honest arithmetic in this precision gives."
      draw={(width) => {
        const frame: Frame = { left: 110, right: width - 16, top: 4, bottom: height - 36 };
        const shares = rows.flatMap((row) => [Math.max(row.value, least) / row.limit, (row.honest ?? row.limit) / row.limit]);
        const x = logarithmic(spanLog([...shares, 1, 3]), [frame.left, frame.right], 5);
        return (
          <>
            <Axes x={x} y={Object.assign(() => 0, { ticks: [], domain: [0, 1] as [number, number] })} frame={frame} xName="error / limit" yName="" />
            <line class="limit" x1={x(1)} x2={x(1)} y1={frame.top} y2={frame.bottom} />
            {rows.map((row, i) => (
              <g key={row.name} class={row.value > row.limit ? 'bad' : 'good'}>
                <text class="label" x={frame.left - 8} y={frame.top + 15 + i * 30} dy="0.32em" text-anchor="end">{row.name}</text>
                {row.honest !== null && row.honest > 0 && <line class="honest" x1={x(row.honest / row.limit)} x2={x(row.honest / row.limit)} y1={frame.top + 6 + i * 30} y2={frame.top + 24 + i * 30} />}
                <Point level x={x(Math.max(row.value, least) / row.limit)} y={frame.top + 15 + i * 30} title={`${row.name}: ${number(row.value)}, limit ${number(row.limit)}`} />
              </g>
            ))}
          </>
        );
      }} />
  );
}

function verdictSentence(cell: Cell): string {
  const state = stateOf(cell);
  if (state === 'verified') {
    const why = unrankedBecause(cell);
    return why ? `Its outputs agree with those of the reference, but it is not ranked: ${why}.` : 'Its outputs agree with those of the reference; it is ranked.';
  }
  const reason = cell.text('message');
  return `${states[state].meaning}${reason ? ` ${reason}.` : ''}`;
}

export function CellPage({ document, route }: { document: AssayDocument; route: Route }) {
  const cell = document.byKey.get(route.argument);
  if (!cell) return <><h1>There is no cell {route.argument} in this file</h1><p><a href={link('cells')}>All cells</a></p></>;
  const shapes = document.shapesOf(cell).filter((shape) => shape.kind === 0);
  const p50 = cell.number('latency_p50_ms');
  const [low, high] = [cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms')];
  const run = document.runs.find((one) => one.run_id === cell.text('run_id'));
  const latency = (['p50', 'p90', 'p95', 'p99'] as const).map((p) => ({ p, value: cell.number(`latency_${p}_ms`), low: cell.number(`latency_${p}_low_ms`), high: cell.number(`latency_${p}_high_ms`), quality: cell.text(`latency_${p}_quality`) })).filter((row) => row.value !== null);
  const text = (name: string): [string, ComponentChildren, string?] => {
    const field = document.fields.find((one) => one.name === name);
    const value = cell.value(name);
    return [labels[name] ?? name.replaceAll('_', ' '), typeof value === 'number' ? fieldText(value, field?.unit ?? '') : value, field?.meaning];
  };
  return (
    <>
      <p class="crumbs"><a href={link('model', cell.text('model'))}>{cell.text('model')}</a> / <TargetName cell={cell} /> / {shapeWords(cell)}</p>
      <h1>{p50 === null ? <CellState cell={cell} /> : <>{withUnit(p50, 'ms')} <small>median, {plusMinus(p50, low, high)}</small></>}</h1>
      <p class="verdict"><CellState cell={cell} /> {verdictSentence(cell)}</p>
      {cell.text('hint') && <p class="hint"><b>What to do:</b> {cell.text('hint')}</p>}
      <Section id="repeat" title="Repeat it">
        <div class="command"><pre><code>{cell.reproduce}</code></pre><Copy text={cell.reproduce} label="Copy the command" /></div>
      </Section>
      {p50 !== null && (
        <Section id="latency" title="Latency" note={evidenceWords[cell.text('latency_p50_interval')] && `The interval of the median is ${evidenceWords[cell.text('latency_p50_interval')]}.`}>
          <div class="scroll">
            <table>
              <thead><tr><th scope="col">Percentile</th><th scope="col" class="numeric">ms</th><th scope="col" class="numeric">95 % interval</th><th scope="col">Quality</th></tr></thead>
              <tbody>{latency.map((row) => <tr key={row.p}><th scope="row">{row.p}</th><td class="numeric" data-field={`latency_${row.p}_ms`}>{number(row.value, 4)}</td><td class="numeric">{row.low === null ? '–' : `${number(row.low, 4)} to ${number(row.high, 4)}`}</td><td>{row.quality}</td></tr>)}</tbody>
            </table>
          </div>
          <Facts facts={[text('throughput_ips'), text('launches'), text('planned_launches'), text('iterations'), text('outliers'), text('stop_reason'), text('steady_class'), text('ttft_p50_ms'), text('tpot_p50_ms'), text('tokens_per_second')]} />
        </Section>
      )}
      {p50 !== null && (
        shapes.length > 0 ? <Samples document={document} cell={cell} shapes={shapes} />
          : <p class="note">The distribution of the samples is not in this file{document.detail !== 'full' ? ` (${document.detail}); \`assay serve\` shows it` : ''}.</p>
      )}
      {p50 !== null && (
        <div class="pictures three">
          <Launches cell={cell} />
          <Phases cell={cell} />
          <Memory cell={cell} />
        </div>
      )}
      <Section id="verification" title="Are the outputs right?">
        <div class="pictures"><Verification cell={cell} /></div>
        <Facts facts={[text('verification'), text('reference'), text('checked'), text('worst_output'), text('worst_element'), text('agreed_by'), text('cosine_similarity'), text('top1_agreement'), text('kernels'), text('shared_kernels')]} />
      </Section>
      <Section id="environment" title="What it ran with">
        <Facts facts={[text('model_id'), text('weights'), text('size'), text('parameter_count'), text('model_size_mb'), text('engine'), text('engine_version'), text('device_name'), text('effective_precision'), text('engine_options'), text('effective_options'),
          text('effective_threads'), text('shapes'), text('input_shape'), text('host'), ['run', <a href={link('history', cell.text('series_key'))}>{cell.text('run_id')}</a>], ['time', when(cell.text('timestamp'))], ['command of the run', run && <code>{run.command}</code>]]} />
      </Section>
      <details>
        <summary>All {count(document.fields.filter((field) => cell.value(field.name) !== null && cell.value(field.name) !== '').length)} fields of the record</summary>
        <div class="scroll">
          <table>
            <thead><tr><th scope="col">Field</th><th scope="col">Value</th><th scope="col">Unit</th><th scope="col">Meaning</th></tr></thead>
            <tbody>{document.fields.map((field) => {
              const value = cell.value(field.name);
              return value === null || value === '' ? null : <tr key={field.name}><th scope="row"><code>{field.name}</code></th><td class="break">{String(value)}</td><td>{field.unit}</td><td>{field.meaning}</td></tr>;
            })}</tbody>
          </table>
        </div>
      </details>
    </>
  );
}

