// SPDX-License-Identifier: Apache-2.0
// The charts of one cell and of one series: a template of the document with the rows and the words that C++ would give
// them. web/test/charts.test.ts compares both.
import { cellWords } from './cell_words.ts';
import { filled } from './chart_layout.ts';
import { legendNotes } from './chart_notes.ts';
import { distributionRows, historyRows, overTimeRows } from './chart_rows.ts';
import type { AssayDocument, Cell, ChartTable, Distribution, HistoryPoint, PageChart } from './document.ts';
import { count, counted, when, withUnit } from './format.ts';
import { phaseRows, phasesOf } from './phases.ts';
import { medianOf } from './results.ts';
import { isUnreal } from './words.ts';

const mostLaunches = 6;
const noCompile =
  'The compilation time is not known: the runtime compiles when it loads the model, or does not report it.';
const incidentNote =
  'Shaded: the machine was disturbed; its score before the run (`assay doctor`) was 40 of 100 or less, ' +
  'or other activity disturbed the result.';
const simulatedTimes = "A simulated or software device: its times are not the device's, and it is never ranked.";

/**
 * As common_words() of src/show/chart: what the results of a cell have in common, and the range of their launches and
 * dates.
 */
function commonWords(
  cell: Cell,
  launches = [cell.number('launches') ?? 0],
  dates = [cell.text('timestamp').slice(0, 10)],
): string {
  const n = (name: string) => cell.number(name);
  const [least, most] = [Math.min(...launches), Math.max(...launches)];
  const inOrder = [...dates].sort();
  const [oldest, newest] = [inOrder[0]!, inOrder[inOrder.length - 1]!];
  return [
    n('batch_size') !== null && `batch ${n('batch_size')}`,
    n('sequence_length') && `${n('sequence_length')} tokens`,
    cell.text('precision'),
    cell.text('host'),
    least > 0 && (least === most ? counted(most, 'launch', 'launches') : `${least} to ${most} launches`),
    oldest === newest ? newest : `${oldest} to ${newest}`,
  ]
    .filter(Boolean)
    .join(' · ');
}

/** What a file of a chart of this cell is called. */
export const fileName = (cell: Cell, kind: string) =>
  `${cell.text('model')}_${cell.target}_${cell.shape}_${kind}`.replace(/[^\w.-]+/g, '_');

const templateOf = (
  document: AssayDocument,
  kind: string,
  cell: Cell,
  distributions: Distribution[],
): PageChart | undefined => document.charts[`${kind}/${cell.target}/${distributions.length}`];

export function overTimeTable(distributions: Distribution[]): ChartTable {
  return {
    columns: [
      ['launch', ''],
      ['from', 's'],
      ['median', 'ms'],
      ['shortest', 'ms'],
      ['longest', 'ms'],
    ].map(([heading, unit]) => ({ heading: heading!, unit: unit! })),
    rows: distributions.flatMap((distribution) =>
      distribution.bins.flatMap((bin, i) =>
        bin
          ? [
              [
                distribution.launch,
                ((i + 0.5) * distribution.windowSeconds) / distribution.bins.length,
                bin.median,
                bin.min,
                bin.max,
              ],
            ]
          : [],
      ),
    ),
  };
}

/** The times of each launch in their order; undefined if they are not in the document. */
export function overTimeChart(
  document: AssayDocument,
  cell: Cell,
  distributions: Distribution[],
): PageChart | undefined {
  const template = templateOf(document, 'samples_over_time', cell, distributions);
  const few = distributions.slice(0, mostLaunches);
  if (!template || few.some((distribution) => distribution.bins.length === 0)) return undefined;
  return {
    ...filled(
      template,
      overTimeRows(few),
      {
        title: `Was the measurement of ${cellWords(cell)} steady?`,
        subtitle: `${commonWords(cell)} · ms, lower is better; line: medians, band: from the shortest to the longest sample`,
        summary: `The times of ${counted(few.length, 'launch', 'launches')} in the order in which they were measured.`,
        notes: [
          ...(few.length < distributions.length ? [`${few.length} of ${distributions.length} launches.`] : []),
          ...(isUnreal(cell) ? [simulatedTimes] : []),
        ],
      },
      few.map(
        (distribution) =>
          `launch ${distribution.launch} (${distribution.samples} samples, ${distribution.steady} steady)`,
      ),
    ),
    table: overTimeTable(few),
  };
}

export function distributionChart(
  document: AssayDocument,
  cell: Cell,
  distributions: Distribution[],
): PageChart | undefined {
  const template = templateOf(document, 'latency_distribution', cell, distributions);
  if (!template) return undefined;
  const rows = distributionRows(cell, distributions);
  const p50 = withUnit(cell.number('latency_p50_ms'), 'ms');
  const p99 = withUnit(cell.number('latency_p99_ms'), 'ms');
  return filled(template, rows, {
    title: `How are the times of ${cellWords(cell)} distributed?`,
    subtitle: `${commonWords(cell)} · share of the samples that took at most this time, a line for each launch`,
    summary: `p50 ${p50}, p99 ${p99}, over ${counted(distributions.length, 'launch', 'launches')}.`,
    // What its points are, which the template says, and what the rows need.
    notes: [...template.notes.slice(0, 1), ...legendNotes(rows, '')],
  });
}

/** Undefined if no phase was measured. */
export function phasesChart(document: AssayDocument, cell: Cell): PageChart | undefined {
  const template = document.charts[`phases/${cell.target}`];
  const phases = phasesOf(cell).filter(([, seconds]) => seconds !== null && seconds > 0);
  if (!template || phases.length === 0) return undefined;
  return filled(template, phaseRows(cell, `${cell.target}${isUnreal(cell) ? ', simulated or software' : ''}`), {
    title: `Where does the time of ${cellWords(cell)} go?`,
    subtitle: commonWords(cell),
    summary: phases.map(([name, seconds]) => `${name}: ${withUnit(seconds, 's')}`).join(', '),
    notes: [
      ...template.notes.slice(0, 1),
      ...(cell.number('compilation_time_ms') === null ? [noCompile] : []),
      ...(isUnreal(cell) ? [simulatedTimes] : []),
    ],
  });
}

/** Of a series; undefined if none of its results has a time. */
export function historyChart(document: AssayDocument, cell: Cell, points: HistoryPoint[]): PageChart | undefined {
  const template = document.charts[`history/${cell.target}`];
  const measured = points.filter((point) => medianOf(point) !== null);
  if (!template || measured.length === 0) return undefined;
  const rows = historyRows(points, cellWords(cell), isUnreal(cell));
  const timed = points.filter((point) => point.p50 !== null);
  const medians = measured.map((point) => `${when(point.time)}: ${withUnit(point.p50, 'ms')}`);
  return filled(template, rows, {
    title: `How did ${cellWords(cell)} change?`,
    subtitle: `${commonWords(
      cell,
      timed.map((point) => point.launches),
      timed.map((point) => new Date(point.time * 1000).toISOString().slice(0, 10)),
    )} · median in ms, lower is better`,
    summary: `${count(measured.length)} medians: ${medians.join(', ')}`,
    notes: [
      ...template.notes.slice(0, 1),
      ...(points.some((point) => point.disturbed !== '') ? [incidentNote] : []),
      ...legendNotes(rows, ''),
    ],
  });
}
