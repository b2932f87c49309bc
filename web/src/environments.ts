// SPDX-License-Identifier: Apache-2.0
// What was around runs: what `assay doctor` found before one, and what differed around two.
import type { Peak, Run } from './document.ts';
import { number, plainWords } from './format.ts';
import { factsOf, hardwareOf, otherFacts } from './machine_facts.ts';

export interface Difference {
  what: string;
  a: string;
  b: string;
}

/** One line of `assay doctor`. */
export interface Finding {
  item: string;
  value: string;
  verdict: 'ok' | 'warn' | 'bad';
  /** What to do; null if the verdict is ok. */
  remedy: string | null;
}

/** What `assay doctor` found on the machine before a run; nothing if nobody asked. */
export const findingsOf = (run: Run | undefined): Finding[] =>
  (run?.environment as { doctor?: { findings?: Finding[] } | null } | null | undefined)?.doctor?.findings ?? [];

/**
 * What lowered the score before a run, the worst first: "bad memory free: 0.9 of 15.6 GiB; warn swap: 12 of 512 MiB
 * used".
 */
export const reasonsOf = (run: Run) =>
  (['bad', 'warn'] as const)
    .flatMap((wanted) => findingsOf(run).filter(({ verdict }) => verdict === wanted))
    .map(({ item, value, verdict }) => `${verdict} ${plainWords(item)}: ${value}`)
    .join('; ');

/** Peaks of the machine that were known before a run: "peak of cpu in float32 by openvino" "148 GFLOP/s". */
export const peaksOf = (run: Run | undefined) =>
  ((run?.environment as { peaks?: Partial<Peak>[] | null } | null | undefined)?.peaks ?? []).map(
    ({ hardware, precision, engine, flops_per_s }): [string, string] => [
      `peak of ${hardware} in ${precision} by ${engine}`,
      `${number((flops_per_s ?? NaN) / 1e9)} GFLOP/s`,
    ],
  );

const isKnown = (run: Run) =>
  run.environment !== null && typeof run.environment === 'object' && Object.keys(run.environment).length > 0;

/** What is known of a run and of what was around it, by what it is called. */
const everythingOf = (run: Run) =>
  new Map<string, string>([
    ...Object.entries({
      host: run.host,
      machine: run.machine,
      command: run.command,
      'version of assay': run.tool_version,
      commit: run.git_commit,
      'score of the machine': run.score === null ? '' : String(run.score),
    }),
    ...factsOf((run.environment as { system_info?: unknown } | null)?.system_info),
    ...hardwareOf(run.environment).map(({ name, available, words }): [string, string] => [
      `hardware ${name}`,
      [available ? 'usable' : 'not usable', words].filter(Boolean).join(': '),
    ]),
    ...otherFacts(run.environment),
    ...peaksOf(run),
    ...findingsOf(run).map(({ item, value }): [string, string] => [`assay doctor: ${plainWords(item)}`, value]),
  ]);

/** What two runs differ in, and whether the environment of both is known. */
export function environmentDifferences(a: Run, b: Run): { differences: Difference[]; known: boolean } {
  const [of, other] = [everythingOf(a), everythingOf(b)];
  const known = isKnown(a) && isKnown(b);
  const differences: Difference[] = [];
  for (const what of new Set([...of.keys(), ...other.keys()])) {
    const [one, two] = [of.get(what) ?? '', other.get(what) ?? ''];
    // Of a run without an environment it is not known whether it differed.
    if (one !== two && (known || (one !== '' && two !== ''))) differences.push({ what, a: one, b: two });
  }
  return { differences, known };
}
