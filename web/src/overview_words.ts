// SPDX-License-Identifier: Apache-2.0
// What the overview says above its tables.
import type { AssayDocument, Cell, ModelLine, States } from './document.ts';
import { counted } from './format.ts';
import { distinct } from './order.ts';
import { resultOf } from './results.ts';
import { isUnreal, stateOrder, unrankedBecause } from './words.ts';

const listWords = (parts: string[]) =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

/** Models by their names: a line is one model on one machine. */
export const modelCount = (lines: ModelLine[]) => new Set(lines.map((line) => line.model)).size;

/** Of the models of one machine; `noun` counts lines. */
function sentencesOf(lines: ModelLine[], noun: string): string[] {
  const wins = new Map<string, number>();
  for (const { latency } of lines) if (latency?.claimed) wins.set(latency.target, (wins.get(latency.target) ?? 0) + 1);
  const sorted = [...wins].sort((a, b) => b[1] - a[1]);
  const unsettled = lines.filter(
    (line) => line.latency && !line.latency.claimed && line.latency.runner_up_target !== '',
  ).length;
  const single = lines.filter((line) => line.latency && line.latency.runner_up_target === '').length;
  const unranked = lines.filter((line) => !line.latency && line.states.verified > 0).length;
  const none = lines.filter((line) => !line.latency && line.states.verified === 0).length;
  const sentences: string[] = [];
  if (sorted.length > 0) {
    const all = counted(lines.length, noun);
    const shown = sorted.map(([target, n], i) => `${target} for ${n}${i === 0 ? ` of ${all}` : ''}`);
    sentences.push(`For the lowest latency use ${listWords(shown)}.`);
  }
  if (unsettled > 0)
    sentences.push(
      sorted.length > 0
        ? `For ${unsettled} no difference is shown.`
        : `No runtime is shown to be faster for ${unsettled} of ${counted(lines.length, noun)}.`,
    );
  if (single > 0) sentences.push(`${counted(single, noun)} ${single === 1 ? 'has' : 'have'} one ranked target only.`);
  if (unranked > 0) {
    const [are, them] = unranked === 1 ? ['is', 'it'] : ['are', 'them'];
    sentences.push(`${counted(unranked, noun)} ${are} verified, but no time of ${them} is ranked.`);
  }
  if (none > 0) sentences.push(`${counted(none, noun)} ${none === 1 ? 'has' : 'have'} no verified result.`);
  return sentences;
}

const mostMachines = 3;

/**
 * "For the lowest latency use openvino for 8 of 12 models, cpu for 1. For 3 no difference is shown." Of several
 * machines, each by itself.
 */
export function headline({ analysis }: Pick<AssayDocument, 'analysis'>): string {
  const { models } = analysis;
  if (models.length === 0) return 'Nothing was measured yet.';
  const machines = distinct(models.map((line) => line.machine));
  if (machines.length < 2) return sentencesOf(models, 'model').join(' ');
  if (machines.length > mostMachines) {
    const where = `${counted(modelCount(models), 'model')} on ${counted(machines.length, 'machine')}`;
    return `${where}, which are ${counted(models.length, 'case')}. ${sentencesOf(models, 'case').join(' ')}`;
  }
  return machines
    .map((machine) => {
      const sentences = sentencesOf(
        models.filter((line) => line.machine === machine),
        'model',
      );
      return `On ${machine}: ${sentences.join(' ')}`;
    })
    .join(' ');
}

/** The highest throughput of the model's verified cells that are not ranked, if it is above that of the best. */
export function higherUnranked(cells: Cell[], line: ModelLine): Cell | undefined {
  const most = line.throughput?.throughput_ips;
  if (most === undefined || most === null) return undefined;
  const rate = (cell: Cell) => resultOf(cell, 'throughput_ips') ?? 0;
  const higher = cells.filter(
    (cell) =>
      cell.text('model') === line.model &&
      cell.text('machine') === line.machine &&
      rate(cell) > most &&
      unrankedBecause(cell) !== '' &&
      !isUnreal(cell),
  );
  return higher.sort((a, b) => rate(b) - rate(a))[0];
}

/** "1 cell wrong, 2 cells unverified": every state but verified that occurs; "" if all cells are verified. */
export const notVerified = (states: States) =>
  (['wrong', 'failed', 'unverified', 'unsupported', 'skipped', 'unavailable'] as const)
    .filter((state) => states[state] > 0)
    .map((state) => `${counted(states[state], 'cell')} ${state}`)
    .join(', ');

/** "1 wrong, 4 skipped": all states of a model that occur. */
export const stateWords = (states: States) =>
  stateOrder
    .filter((state) => states[state] > 0)
    .map((state) => `${states[state]} ${state}`)
    .join(', ');
