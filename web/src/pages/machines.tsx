// SPDX-License-Identifier: Apache-2.0
// What each machine is, how quiet it was, and its runs.
import type { AssayDocument, Run } from '../document.ts';
import { counted, number, when } from '../format.ts';
import { Facts, Section } from '../parts.tsx';
import type { Column } from '../rows.ts';
import type { Route } from '../state.ts';
import { DataTable } from '../table.tsx';

/** Nested values, one line each: "cpu.cores" 2. */
export function flat(value: unknown, prefix = ''): [string, string][] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.length === 0 ? [] : [[prefix, value.join(', ')]];
  if (typeof value !== 'object') return [[prefix, String(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, prefix ? `${prefix}.${key}` : key));
}

const runColumns: Column<Run>[] = [
  { id: 'started', title: 'Started (UTC)', value: (run) => when(run.started) },
  { id: 'host', title: 'Machine', choice: true, value: (run) => run.host },
  { id: 'score', title: 'Score', numeric: true, meaning: 'How quiet the machine was, 0 to 100; absent if nobody looked', value: (run) => run.score },
  { id: 'cells', title: 'Results', numeric: true, value: (run) => run.cells },
  { id: 'command', title: 'Command', value: (run) => run.command, view: (run) => <code class="clip">{run.command}</code> },
  { id: 'tool_version', title: 'assay', value: (run) => run.tool_version },
  { id: 'run_id', title: 'Run', value: (run) => run.run_id },
];

export function Machines({ document, route }: { document: AssayDocument; route: Route }) {
  const newest = document.runs[0];
  return (
    <>
      <h1>{counted(document.machines.length, 'machine')}{newest && newest.score !== null ? `; the newest run scored ${newest.score} of 100` : ''}</h1>
      {document.machines.map((machine) => (
        <Section key={machine.hardware_id} id={`machine-${machine.hardware_id}`} title={`${machine.host}: ${machine.processor}`} note={`Seen ${when(machine.first_seen)} to ${when(machine.last_seen)} UTC.`}>
          <Facts facts={flat(machine.info)} />
          {document.peaks.filter((peak) => peak.hardware_id === machine.hardware_id).map((peak) => (
            <p key={`${peak.hardware} ${peak.precision} ${peak.engine}`}>Measured peak of {peak.hardware} in {peak.precision}: {number(peak.flops_per_s / 1e9)} GFLOP/s by {peak.engine} {peak.engine_version} with {counted(peak.threads, 'thread')}, {when(peak.measured_at).slice(0, 10)}.</p>
          ))}
        </Section>
      ))}
      <Section id="runs" title={counted(document.runs.length, 'run')}><DataTable caption="Runs" noun="run" columns={runColumns} rows={document.runs} route={route} /></Section>
      {newest && <Section id="environment" title="Environment of the newest run"><Facts facts={flat(newest.environment).filter(([name]) => !name.startsWith('system_info.'))} /></Section>}
    </>
  );
}
