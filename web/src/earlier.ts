// SPDX-License-Identifier: Apache-2.0
// Earlier results of series as cells, so that two runs or two versions of a cell can be compared. The document has of
// them what their history needs; what a series has in common is taken from its cell.
import type { AssayDocument, Cell, HistoryPoint, Value } from './document.ts';
import { stateOf } from './words.ts';

/** Equal for all results of a series, or what they are called by. */
const ofSeries = new Set([
  'series_key',
  'model',
  'model_id',
  'size',
  'family',
  'category',
  'architecture',
  'hardware',
  'engine',
  'device',
  'device_name',
  'hardware_id',
  'host',
  'machine',
  'batch_size',
  'sequence_length',
  'output_tokens',
  'precision',
  'streams',
  'threads',
  'spin',
  'contract',
  'shapes',
  'kv_cache',
  'engine_options',
  'model_class',
  'weights',
  'weights_hash',
  'config_hash',
  'alike',
]);

const ownFields = (point: HistoryPoint): Record<string, Value> => ({
  result_id: point.resultId,
  run_id: point.run,
  engine_version: point.engineVersion,
  status: point.status,
  verification: point.verification,
  flags: point.flags,
  latency_p50_ms: point.p50,
  latency_p50_low_ms: point.low,
  latency_p50_high_ms: point.high,
  latency_p50_interval: point.interval,
  launch_p50_ms: point.launchMedians,
  throughput_ips: point.throughput,
  memory_mb: point.memory,
  launches: point.launches,
  effective_precision: point.effectivePrecision,
  comparable: point.comparable,
  usable: point.usable ? 1 : 0,
  ranked: point.ranked ? 1 : 0,
  shown: point.shown ? 1 : 0,
});

function asCell(point: HistoryPoint, cell: Cell): Cell {
  const own = ownFields(point);
  const value = (name: string): Value => (name in own ? own[name]! : ofSeries.has(name) ? cell.value(name) : null);
  return {
    index: -1,
    key: `${cell.key} ${point.time}`,
    target: cell.target,
    shape: cell.shape,
    ranked: point.ranked,
    shown: point.shown,
    reproduce: '',
    earlier: true,
    text: (name) => {
      const found = value(name);
      return typeof found === 'string' ? found : '';
    },
    number: (name) => {
      const found = value(name);
      return typeof found === 'number' ? found : null;
    },
    value,
  };
}

/** Of files, results have no number. */
const isCell = (point: HistoryPoint, cell: Cell) =>
  point.resultId > 0
    ? point.resultId === cell.number('result_id')
    : point.run === cell.text('run_id') &&
      point.p50 === cell.number('latency_p50_ms') &&
      point.status === cell.text('status');

/** Every result of the history that is no cell of the document itself, newest first. */
export function earlierCells(document: Pick<AssayDocument, 'cells' | 'series' | 'history'>): Cell[] {
  const bySeries = new Map(document.cells.map((cell) => [cell.text('series_key'), cell]));
  return [...document.history]
    .sort((a, b) => b.time - a.time)
    .flatMap((point) => {
      const cell = bySeries.get(document.series[point.series] ?? '');
      return cell === undefined || isCell(point, cell) ? [] : [asCell(point, cell)];
    });
}

/** An imported result may have a mean and no median; an earlier one has its throughput only. */
const hasTime = (cell: Cell) =>
  ['latency_p50_ms', 'latency_mean_ms', 'throughput_ips'].some((name) => cell.number(name) !== null);

/**
 * Whether no older result is shown instead: the rule of queries/cells_latest.sql. `verified`: a newer result of the
 * series is verified.
 */
function stands(cell: Cell, verified: boolean): boolean {
  if (['skipped', 'unavailable'].includes(stateOf(cell)) || cell.text('flags').split(',').includes('partial'))
    return false;
  if (cell.text('status') === 'completed') return hasTime(cell);
  return !(verified && ['wrong', 'unsupported'].includes(cell.text('status')));
}

const isImported = (cell: Cell) => cell.text('flags').split(',').includes('imported');

/**
 * Of each series one result, of `cells` from the newest to the oldest: the first that stands, else the first; an
 * imported one only if there is no own one. Cells without a series are all kept.
 */
export function oneOfEach(cells: readonly Cell[]): Cell[] {
  const chosen = new Map<
    string | Cell,
    { cell: Cell; stands: boolean; verified: { own: boolean; imported: boolean } }
  >();
  for (const cell of cells) {
    const key = cell.text('series_key') || cell;
    const before = chosen.get(key);
    const verified = before?.verified ?? { own: false, imported: false };
    const source = isImported(cell) ? 'imported' : 'own';
    const found = stands(cell, verified[source]);
    if (cell.text('status') === 'completed' && cell.text('verification') === 'verified') verified[source] = true;
    const newer =
      before === undefined ||
      (found && !before.stands) ||
      (found === before.stands && source === 'own' && isImported(before.cell));
    if (newer) chosen.set(key, { cell, stands: found, verified });
  }
  return [...chosen.values()].map((one) => one.cell);
}
