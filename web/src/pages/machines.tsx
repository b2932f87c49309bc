// SPDX-License-Identifier: Apache-2.0
// What each machine is, how quiet it was, and its runs.
import { Chart } from '../chart.tsx';
import type { AssayDocument, Run } from '../document.ts';
import { findingsOf, peaksOf, reasonsOf } from '../environments.ts';
import { counted, number, plainWords, when } from '../format.ts';
import { factsOf, type Hardware, hardwareOf, otherFacts } from '../machine_facts.ts';
import { leftOutWords, missingWords } from '../missing.ts';
import { Facts, Prose, Section } from '../parts.tsx';
import type { Column } from '../rows.ts';
import type { Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { pagesOf } from './charts.tsx';

const hardwareColumns: Column<Hardware>[] = [
  { id: 'hardware', title: 'Hardware', value: (one) => one.name },
  { id: 'available', title: 'Usable here', choice: true, value: (one) => (one.available ? 'yes' : 'no') },
  { id: 'words', title: 'Device, or why not', value: (one) => one.words, view: (one) => <Prose text={one.words} /> },
];

const runColumns: Column<Run>[] = [
  { id: 'started', title: 'Started (UTC)', value: (run) => when(run.started) },
  { id: 'host', title: 'Machine', choice: true, value: (run) => run.host },
  {
    id: 'score',
    title: 'Score',
    numeric: true,
    meaning: 'How quiet the machine was, 0 to 100; absent if nobody looked',
    value: (run) => run.score,
  },
  {
    id: 'reasons',
    title: 'What lowered it',
    meaning: 'What assay doctor found before the run, but for what was ok',
    value: reasonsOf,
  },
  { id: 'cells', title: 'Results', numeric: true, value: (run) => run.cells },
  {
    id: 'command',
    title: 'Command',
    value: (run) => run.command,
    view: (run) => <code class="clip">{run.command}</code>,
  },
  { id: 'tool_version', title: 'assay', value: (run) => run.tool_version },
  { id: 'run_id', title: 'Run', value: (run) => run.run_id },
];

/** How noise differed between runs: the scores of each machine over time. */
function Noise({ document }: { document: AssayDocument }) {
  const names = pagesOf(document, 'machine_noise');
  const words = missingWords(document, 'machine_noise') || leftOutWords(document);
  return (
    <Section
      id="noise"
      title="How noise differed between runs"
      note="The table of runs below says what lowered each score."
    >
      {names.map((name) => (
        <Chart key={name} chart={document.charts[name]!} themes={document.themes} name={name} />
      ))}
      {names.length === 0 && words && (
        <p class="empty">
          <Prose text={words} />
        </p>
      )}
    </Section>
  );
}

/** What `assay doctor` found before the newest run on a machine. */
function Findings({ run }: { run: Run | undefined }) {
  const findings = findingsOf(run);
  if (!run || findings.length === 0) return null;
  const faults = findings.filter(({ verdict }) => verdict !== 'ok');
  const good = findings.filter(({ verdict }) => verdict === 'ok').map(({ item }) => plainWords(item));
  return (
    <>
      <h3>
        Before its newest run ({when(run.started)} UTC){run.score === null ? '' : `: score ${run.score} of 100`}
      </h3>
      <ul class="findings">
        {faults.map(({ item, value, verdict, remedy }) => (
          <li key={item}>
            <b>{verdict}</b> {plainWords(item)}: {value}.{' '}
            {remedy && (
              <>
                To do: <Prose text={remedy} />
              </>
            )}
          </li>
        ))}
        {good.length > 0 && (
          <li>
            <b>ok</b> {good.join(', ')}
          </li>
        )}
      </ul>
    </>
  );
}

export function Machines({ document, route }: { document: AssayDocument; route: Route }) {
  const newest = document.runs[0];
  const hardware = hardwareOf(newest?.environment);
  const environment = [...otherFacts(newest?.environment), ...(document.peaks.length > 0 ? [] : peaksOf(newest))];
  const host = newest && document.machines.length !== 1 ? ` (${newest.host})` : '';
  return (
    <>
      <h1>
        {counted(document.machines.length, 'machine')}
        {newest && newest.score !== null ? `; its score${host} before the newest run: ${newest.score} of 100` : ''}
      </h1>
      <p class="note">
        The score, 0 to 100, says how little disturbs measurements: other programs, changing frequencies, and the like.{' '}
        <code>assay doctor</code> lists what it finds now, with what to do.
      </p>
      {document.machines.map((machine) => (
        <Section
          key={machine.hardware_id}
          id={`machine-${machine.hardware_id}`}
          title={`${machine.host}: ${machine.processor}`}
          note={`Seen ${when(machine.first_seen)} to ${when(machine.last_seen)} UTC.`}
        >
          <Facts facts={factsOf({ ...(machine.info as object | null), processor: null })} />
          {document.peaks
            .filter((peak) => peak.hardware_id === machine.hardware_id)
            .map((peak) => (
              <p key={`${peak.hardware} ${peak.precision} ${peak.engine}`}>
                Measured peak of {peak.hardware} in {peak.precision}: {number(peak.flops_per_s / 1e9)} GFLOP/s
                {peak.bytes_per_s > 0 && `, memory ${number(peak.bytes_per_s / 1e9)} GB/s`}, by {peak.engine}{' '}
                {peak.engine_version} with {counted(peak.threads, 'thread')}, {when(peak.measured_at).slice(0, 10)}.
              </p>
            ))}
          <Findings run={document.runs.find((run) => run.machine === machine.hardware_id)} />
        </Section>
      ))}
      <Noise document={document} />
      <Section id="runs" title={counted(document.runs.length, 'run')}>
        <DataTable caption="Runs" noun="run" columns={runColumns} rows={document.runs} route={route} />
      </Section>
      {hardware.length > 0 && (
        <Section id="hardware" title="Hardware that the newest run found">
          <DataTable name="h" caption="Hardware" noun="kind" columns={hardwareColumns} rows={hardware} route={route} />
        </Section>
      )}
      {environment.length > 0 && (
        <Section id="environment" title="Environment of the newest run">
          <Facts facts={environment} />
        </Section>
      )}
    </>
  );
}
