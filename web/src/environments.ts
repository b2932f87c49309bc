// SPDX-License-Identifier: Apache-2.0
// What was around runs: what `assay doctor` found before one, and what differed around two.
import type { Peak, Run } from './document.ts';
import { number } from './format.ts';

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
export const findingsOf = (run: Run | undefined): Finding[] => (run?.environment as { doctor?: { findings?: Finding[] } | null } | null | undefined)?.doctor?.findings ?? [];

/** Each value of a tree by its path: "runtimes.openvino". */
function flat(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value !== null && typeof value === 'object') for (const [key, part] of Object.entries(value)) flat(part, path ? `${path}.${key}` : key, found);
  else if (value !== null && value !== undefined && path) found.set(path, String(value));
  return found;
}

/** Peaks of the machine that were known before a run: "peak of cpu in float32 by openvino" "148 GFLOP/s". */
export const peaksOf = (run: Run | undefined) => ((run?.environment as { peaks?: Partial<Peak>[] | null } | null | undefined)?.peaks ?? [])
  .map(({ hardware, precision, engine, flops_per_s }): [string, string] => [`peak of ${hardware} in ${precision} by ${engine}`, `${number((flops_per_s ?? NaN) / 1e9)} GFLOP/s`]);

const isKnown = (run: Run) => run.environment !== null && typeof run.environment === 'object' && Object.keys(run.environment).length > 0;

const factsOf = (run: Run) => new Map([
  ...Object.entries({ host: run.host, machine: run.machine, command: run.command, 'version of assay': run.tool_version, commit: run.git_commit, 'score of the machine': run.score === null ? '' : String(run.score) }),
  ...flat({ ...(run.environment as object | null), doctor: null, peaks: null }),
  ...peaksOf(run),
  ...findingsOf(run).map(({ item, value }): [string, string] => [`assay doctor: ${item}`, value]),
]);

/** What two runs differ in, and whether the environment of both is known. */
export function environmentDifferences(a: Run, b: Run): { differences: Difference[]; known: boolean } {
  const [of, other] = [factsOf(a), factsOf(b)];
  const known = isKnown(a) && isKnown(b);
  const differences: Difference[] = [];
  for (const what of new Set([...of.keys(), ...other.keys()])) {
    const [one, two] = [of.get(what) ?? '', other.get(what) ?? ''];
    // Of a run without an environment it is not known whether it differed.
    if (one !== two && (known || (one !== '' && two !== ''))) differences.push({ what, a: one, b: two });
  }
  return { differences, known };
}
