// SPDX-License-Identifier: Apache-2.0
// Reads the document (src/show/dashboard/pack.hpp; docs/dashboard.md, "The file"). Nothing here knows the page.
import { Columns } from './columns.ts';
import { readDistributions } from './distributions.ts';
import type { AssayDocument, Cell, Distribution, HistoryPoint } from './document.ts';
import { byCell, inOrder } from './order.ts';

/** Throws an Error whose message a person can read. */
export function readDocument(bytes: Uint8Array): AssayDocument {
  const magic = new TextDecoder().decode(bytes.subarray(0, 8));
  if (magic !== 'ASSAYDD1') throw new Error(`This is not a document of assay: it begins with "${magic}".`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(8, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length)));
  if (header.schema !== 'assay-dashboard 1')
    throw new Error(`The document has the format "${header.schema}"; this page reads "assay-dashboard 1".`);
  const body = bytes.subarray(12 + length);
  const texts: string[] = header.text;

  const rows = new Columns(body, header.cells, texts);
  const inFile: Cell[] = [];
  for (let index = 0; index < rows.n; index++) {
    const id = rows.number('result_id', index) ?? 0;
    inFile.push({
      index,
      key: id > 0 ? String(id) : rows.text('task_key', index),
      target: rows.text('target', index),
      shape: rows.text('shape', index),
      ranked: rows.number('ranked', index) === 1,
      shown: rows.number('shown', index) === 1,
      reproduce: rows.text('reproduce', index),
      text: (name) => rows.text(name, index),
      number: (name) => rows.number(name, index),
      value: (name) => rows.at(name, index),
    });
  }

  const past = new Columns(body, header.history, texts);
  const history: HistoryPoint[] = [];
  for (let i = 0; i < past.n; i++) {
    history.push({
      series: past.number('series', i) ?? 0,
      resultId: past.number('result_id', i) ?? 0,
      time: past.number('time', i) ?? 0,
      run: past.text('run', i),
      version: past.text('version', i),
      status: past.text('status', i),
      verification: past.text('verification', i),
      ranked: past.number('ranked', i) === 1,
      shown: past.number('shown', i) === 1,
      p50: past.number('p50', i),
      low: past.number('low', i),
      high: past.number('high', i),
      engineVersion: past.text('engine_version', i),
      effectivePrecision: past.text('effective_precision', i),
      flags: past.text('flags', i),
      interval: past.text('interval', i),
      launchMedians: past.text('launch_p50_ms', i),
      comparable: past.number('comparable', i) ?? -1,
      usable: past.number('usable', i) === 1,
      throughput: past.number('throughput', i),
      memory: past.number('memory', i),
      launches: past.number('launches', i) ?? 0,
      disturbed: past.text('disturbed', i),
    });
  }

  const cells = [...inFile].sort(byCell(header.targets));
  let distributions: Map<number, Distribution[]> | undefined;
  return {
    madeAt: header.made_at,
    source: header.source,
    tool: header.tool,
    detail: header.detail,
    leftOut: header.left_out,
    fields: header.fields,
    cells,
    cellAt: (index) => inFile[index]!,
    // Of two with one task key the newest.
    byKey: new Map([
      ...[...inFile].reverse().map((cell): [string, Cell] => [cell.text('task_key'), cell]),
      ...inFile.map((cell): [string, Cell] => [cell.key, cell]),
    ]),
    series: header.series,
    history,
    distributionsOf(cell) {
      distributions ??= readDistributions(body, header, texts);
      return distributions.get(cell.index) ?? [];
    },
    models: [...new Set(cells.map((cell) => cell.text('model')))],
    targets: header.targets,
    runs: header.runs,
    machines: header.machines,
    peaks: header.peaks,
    analysis: inOrder(header.analysis, header.targets),
    charts: header.charts,
    missingCharts: header.missing_charts ?? {},
    chartsLeftOut: header.charts_left_out ?? 0,
    themes: header.themes,
  };
}

/** The bytes of a deflated document: of the page's own block, or fetched. */
export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
