// SPDX-License-Identifier: Apache-2.0
// What machines and the environments of runs consist of, in words and with units: fields of system_info()
// (src/bench/hardware/system_info.cpp), and whatever else is stored.
import { number, plainWords } from './format.ts';
import { byWord } from './order.ts';

const yesNo = (value: unknown) => (value === true ? 'yes' : value === false ? 'no' : String(value));
const gibibytes = (value: unknown) => (typeof value === 'number' ? `${number(value)}\u00a0GiB` : String(value));

interface Gpu {
  name?: string;
  memory_gb?: number;
  compute_capability?: string | null;
  driver?: string | null;
}
const gpuWords = ({ name, memory_gb, compute_capability, driver }: Gpu) =>
  [
    name,
    typeof memory_gb === 'number' && gibibytes(memory_gb),
    compute_capability && `compute capability ${compute_capability}`,
    driver && `driver ${driver}`,
  ]
    .filter(Boolean)
    .join(', ');

/** What fields are called, in the order in which they are shown, and their values where these are not as they stand. */
const known: Record<string, [name: string, words?: (value: never) => string]> = {
  processor: ['processor'],
  cpu_cores: ['cores'],
  cpu_threads: ['hardware threads'],
  memory_gb: ['memory', gibibytes],
  gpu_count: ['GPUs'],
  gpus: ['models of the GPUs', (gpus: Gpu[]) => gpus.map(gpuWords).join('; ')],
  cuda_available: ['CUDA usable', yesNo],
  cuda_version: ['CUDA version'],
  os: ['operating system'],
  platform: ['platform'],
};
/** Other names of known fields. */
const repeated = new Set(['memory_mb', 'logical_cores', 'physical_cores', 'python_version']);
const inOrder = byWord(Object.keys(known));

/** Each value of a tree: ["memory", "24 GiB"], ["cpu, model", "AMD EPYC 7B13"]. What is absent or empty has none. */
export function factsOf(tree: unknown, name = ''): [string, string][] {
  if (tree === null || tree === undefined || (Array.isArray(tree) && tree.length === 0)) return [];
  if (Array.isArray(tree) && tree.every((one) => typeof one !== 'object')) return [[name, tree.join(', ')]];
  if (typeof tree !== 'object')
    return [[name, typeof tree === 'number' && !Number.isInteger(tree) ? number(tree) : yesNo(tree)]];
  return Object.entries(tree)
    .filter(([field]) => !repeated.has(field))
    .sort(([a], [b]) => inOrder(a, b))
    .flatMap(([field, value]): [string, string][] => {
      const [words, view] = Object.hasOwn(known, field) ? known[field]! : [plainWords(field)];
      const full = name ? `${name}, ${words}` : words;
      const shown = view && value !== null ? view(value as never) : undefined;
      return shown === undefined ? factsOf(value, full) : shown === '' ? [] : [[full, shown]];
    });
}

export interface Hardware {
  name: string;
  available: boolean;
  words: string;
}

/** What a run found of each kind of hardware: its devices, or why it cannot be used. */
export function hardwareOf(environment: unknown): Hardware[] {
  const all = (
    environment as {
      available_hardware?: Record<string, { available?: boolean; devices?: string[]; why?: string }>;
    } | null
  )?.available_hardware;
  return Object.entries(all ?? {}).map(([name, one]) => ({
    name,
    available: one?.available === true,
    words: one?.available ? (one.devices ?? []).join(', ') : (one?.why ?? ''),
  }));
}

/** Of the environment of a run, what has no place of its own on the page. */
export const otherFacts = (environment: unknown) =>
  factsOf({
    ...(environment as object | null),
    system_info: null,
    available_hardware: null,
    doctor: null,
    peaks: null,
  });
