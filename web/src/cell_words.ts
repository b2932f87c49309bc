// SPDX-License-Identifier: Apache-2.0
// What cells are called.
import type { Cell } from './document.ts';
import { counted, plainWords } from './format.ts';

/** "bert on cpu, batch 1, 128 tokens": what a cell is called; "bert on cpu of laptop" if there are several machines. */
export function cellWords(cell: Cell): string {
  const machine = cell.text('machine');
  return `${cell.text('model')} on ${cell.target}${machine ? ` of ${machine}` : ''}, ${shapeWords(cell)}`;
}

/** `without`: fields that are not to be named. */
export function shapeWords(cell: Cell, without: readonly string[] = []): string {
  const parts: string[] = [];
  const add = (field: string, words: string | false | null) => {
    if (words && !without.includes(field)) parts.push(words);
  };
  const tokens = cell.number('sequence_length');
  const output = cell.number('output_tokens');
  const precision = cell.text('precision');
  add('batch_size', `batch ${cell.number('batch_size') ?? '–'}`);
  add('sequence_length', tokens !== null && `${tokens} tokens`);
  add('output_tokens', output !== null && `${output} new tokens`);
  add('precision', precision !== 'float32' && precision);
  return parts.join(', ');
}

const named = (name: string, value: string) => (value ? `${name} ${plainWords(value)}` : '');

/**
 * What can make cells of one model incomparable, the most telling first: fields of shape_key() and model_identity() of
 * src/history/analyse.
 */
const inKey: ((cell: Cell) => string)[] = [
  (cell) => named('computed in', cell.text('effective_precision')),
  (cell) => named('KV cache', cell.text('kv_cache')) || 'no KV cache',
  (cell) => (cell.number('output_tokens') === null ? '' : `${cell.number('output_tokens')} new tokens`),
  (cell) => counted(cell.number('streams') ?? 1, 'stream'),
  (cell) => (cell.number('threads') ? counted(cell.number('threads')!, 'thread') : 'threads of the runtime'),
  (cell) => `spinning ${['', 'runtime'].includes(cell.text('spin')) ? 'as the runtime decides' : cell.text('spin')}`,
  (cell) => named('contract', cell.text('contract')),
  (cell) => (['dynamic', 'exported'].includes(cell.text('shapes')) ? `${cell.text('shapes')} shapes` : 'known shapes'),
  (cell) => (cell.text('engine_options') ? `options ${cell.text('engine_options')}` : 'no options'),
  (cell) => named('class', cell.text('model_class')),
  (cell) =>
    named(
      'weights',
      cell.text('weights_hash').startsWith('seeded')
        ? cell.text('weights_hash')
        : cell.text('weights_hash').slice(0, 8),
    ),
  (cell) => named('graph', (cell.text('config_hash') || cell.text('graph_hash')).slice(0, 8)),
];
const besides: ((cell: Cell) => string)[] = [
  (cell) => named('on', cell.text('machine')),
  (cell) => named('device', cell.text('device')),
  (cell) => named('version', cell.text('engine_version')),
  (cell) => named('run', cell.text('run_id')),
];

/**
 * Of each of some cells that share a name, what it has and others have not: "computed in bfloat16, 2 streams"; "" of
 * all if nothing is known to differ.
 */
export function differences(cells: readonly Cell[], of = inKey): (cell: Cell) => string {
  const telling = cells.length < 2 ? [] : of.filter((words) => new Set(cells.map(words)).size > 1);
  return (cell) =>
    telling
      .map((words) => words(cell))
      .filter(Boolean)
      .join(', ');
}

/**
 * Names that are all different: what differs is added to those that are not, and a number where nothing is known to
 * differ.
 */
export function distinctNames(cells: readonly Cell[], name: (cell: Cell) => string): string[] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) groups.set(name(cell), [...(groups.get(name(cell)) ?? []), cell]);
  const words = new Map([...groups].map(([key, group]) => [key, differences(group, [...inKey, ...besides])]));
  const used = new Set<string>();
  return cells.map((cell) => {
    const more = words.get(name(cell))!(cell);
    const full = more ? `${name(cell)}, ${more}` : name(cell);
    let free = full;
    for (let i = 2; used.has(free); i++) free = `${full} (${i})`;
    used.add(free);
    return free;
  });
}
