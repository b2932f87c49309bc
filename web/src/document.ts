// SPDX-License-Identifier: Apache-2.0
// Reads the document (src/dashboard/pack.hpp; docs/dashboard.md, "The document"). Nothing here knows the page.

export type Value = string | number | null;

export interface Field {
  name: string;
  unit: string;
  meaning: string;
}

/** A cell: every field of a result by its name, and what C++ derived from it. Absent numbers are null, texts "". */
export interface Cell {
  index: number;
  /** What links call it: the row's number in the database, else its task key. */
  key: string;
  target: string;
  shape: string;
  ranked: boolean;
  reproduce: string;
  text(name: string): string;
  number(name: string): number | null;
  value(name: string): Value;
}

export interface Shape {
  launch: number;
  kind: number;
  samples: number;
  steady: number;
  windowSeconds: number;
  firstSteadyBin: number;
  wholeWindow: boolean;
  /** Milliseconds, rising. */
  quantiles: number[];
  /** Milliseconds; null in an empty bin. */
  bins: ({ min: number; median: number; max: number } | null)[];
}

export interface HistoryPoint {
  series: number;
  resultId: number;
  time: number;
  run: string;
  version: string;
  status: string;
  verification: string;
  ranked: boolean;
  p50: number | null;
  low: number | null;
  high: number | null;
  throughput: number | null;
  memory: number | null;
  launches: number;
}

export interface Target {
  key: string;
  hardware: string;
  engine: string;
}

/** The best cell of a model and by how much; `cell` and `runner_up` are indices of cells. */
export interface Best {
  cell: number;
  runner_up: number | null;
  claimed: boolean;
  ratio: number;
  low: number | null;
  high: number | null;
  /** "2.00× as fast as cpu (95 %: 1.95 to 2.05)", "no difference shown with cpu (± 6 %)" */
  words: string;
  of: number;
}

export type States = Record<
  'verified' | 'unverified' | 'wrong' | 'failed' | 'unsupported' | 'unavailable' | 'skipped', number>;

export interface ModelLine {
  model: string;
  machine: string;
  model_id: string;
  size: string;
  family: string;
  category: string;
  architecture: string;
  latency: Best | null;
  throughput: Best | null;
  least_memory: number | null;
  states: States;
}

export interface Failure {
  status: string;
  reason_code: string;
  cause: string;
  hint: string;
  cells: number[];
  where: string[];
}

export interface Change {
  what: string;
  series: string;
  cell: number | null;
  words: string;
  before_ms: number | null;
  after_ms: number | null;
  ratio: number | null;
  beyond_spread: boolean;
}

export interface Choice {
  architecture: string;
  category: string;
  machine: string;
  best: string;
  runner_up: string;
  value: number | null;
  claimed: boolean;
  ratio: number;
  low: number | null;
  high: number | null;
  cells: number;
  words: string;
  how_sure: string;
  left_out: string[];
}

export interface Opportunity {
  kind: string;
  cell: number | null;
  better: number | null;
  factor: number;
  low: number | null;
  high: number | null;
  claimed: boolean;
  machine: string;
  words: string;
}

export interface Efficiency {
  machine: string;
  target: string;
  category: string;
  precision: string;
  share: number;
  cells: number;
  counted_whole: boolean;
  peak_of: string;
}

export interface Analysis {
  models: ModelLine[];
  failures: Failure[];
  states: States;
  changes: { last_run: Change[]; week: Change[]; month: Change[] };
  choices: Choice[];
  opportunities: Opportunity[];
  efficiency: Efficiency[];
  efficiency_missing: string[];
  sure: string[];
}

export interface Run {
  run_id: string;
  started: string;
  command: string;
  host: string;
  machine: string;
  tool_version: string;
  git_commit: string;
  environment: unknown;
  cells: number;
  score: number | null;
}

export interface Machine {
  hardware_id: string;
  host: string;
  processor: string;
  info: unknown;
  first_seen: string;
  last_seen: string;
}

export interface Peak {
  hardware_id: string;
  hardware: string;
  device: string;
  precision: string;
  engine: string;
  engine_version: string;
  flops_per_s: number;
  bytes_per_s: number;
  threads: number;
  measured_at: string;
}

/** A chart of src/chart (src/dashboard/charts.hpp). */
export interface PageChart {
  title: string;
  subtitle: string;
  summary: string;
  notes: string[];
  width: number;
  height: number;
  option: any;
}

/** Colours by name. */
export type Themes = Record<'light' | 'dark', Record<string, string>>;

export interface AssayDocument {
  madeAt: string;
  source: string;
  tool: string;
  detail: string;
  leftOut: number;
  fields: Field[];
  cells: Cell[];
  byKey: Map<string, Cell>;
  series: string[];
  history: HistoryPoint[];
  shapesOf(cell: Cell): Shape[];
  targets: Target[];
  runs: Run[];
  machines: Machine[];
  peaks: Peak[];
  analysis: Analysis;
  charts: Record<string, PageChart>;
  themes: Themes;
}

interface ColumnHeader {
  name: string;
  type: 'f64' | 'f32' | 'i32' | 'u16' | 'u8' | 'text' | 'value';
  at?: number;
  bytes?: number;
  value?: Value;
}

interface TableHeader {
  n: number;
  columns: ColumnHeader[];
}

type Column = { at(row: number): Value };

const leastInt = -2147483648;
const widths = { f64: 8, f32: 4, i32: 4, u16: 2, u8: 1, text: 4 } as const;

/** Bytes by significance become bytes by row. */
export function unshuffle(bytes: Uint8Array, width: number): Uint8Array {
  if (width === 1) return bytes;
  const n = bytes.length / width;
  const result = new Uint8Array(bytes.length);
  for (let plane = 0; plane < width; plane++) {
    const from = plane * n;
    for (let row = 0; row < n; row++) result[row * width + plane] = bytes[from + row]!;
  }
  return result;
}

function readColumn(body: Uint8Array, header: ColumnHeader, texts: string[]): Column {
  if (header.type === 'value') {
    const value = header.value ?? null;
    return { at: () => value };
  }
  const bytes = unshuffle(body.subarray(header.at!, header.at! + header.bytes!), widths[header.type]);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  switch (header.type) {
    case 'text': {
      const indices = new Uint32Array(buffer);
      return { at: (row) => texts[indices[row]!] ?? '' };
    }
    case 'i32': {
      const numbers = new Int32Array(buffer);
      return { at: (row) => (numbers[row] === leastInt ? null : numbers[row]!) };
    }
    case 'u16': {
      const numbers = new Uint16Array(buffer);
      return { at: (row) => numbers[row]! };
    }
    case 'u8': {
      const numbers = new Uint8Array(buffer);
      return { at: (row) => numbers[row]! };
    }
    default: {
      const numbers = header.type === 'f64' ? new Float64Array(buffer) : new Float32Array(buffer);
      return { at: (row) => (Number.isFinite(numbers[row]) ? numbers[row]! : null) };
    }
  }
}

class Columns {
  readonly n: number;
  private readonly columns = new Map<string, Column>();
  constructor(body: Uint8Array, header: TableHeader | undefined, texts: string[]) {
    this.n = header?.n ?? 0;
    for (const column of header?.columns ?? []) this.columns.set(column.name, readColumn(body, column, texts));
  }
  at(name: string, row: number): Value {
    return this.columns.get(name)?.at(row) ?? null;
  }
  number(name: string, row: number): number | null {
    const value = this.at(name, row);
    return typeof value === 'number' ? value : null;
  }
  text(name: string, row: number): string {
    const value = this.at(name, row);
    return typeof value === 'string' ? value : '';
  }
}

/** A duration in milliseconds from its 16-bit logarithmic code (store/shape_codec.hpp). */
export function decodeMs(code: number, lowNs: number, highNs: number): number {
  if (!(highNs > lowNs)) return lowNs / 1e6;
  return (lowNs * Math.exp((code / 65535) * Math.log(highNs / lowNs))) / 1e6;
}

function readShapes(body: Uint8Array, header: any, texts: string[]): Map<number, Shape[]> {
  const table = new Columns(body, header.shapes, texts);
  const codes = (section: { at: number; bytes: number } | undefined) => {
    if (!section) return new Uint16Array();
    const bytes = unshuffle(body.subarray(section.at, section.at + section.bytes), 2);
    return new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  };
  const quantiles = codes(header.quantiles);
  const bins = codes(header.bins);
  let q = 0;
  let b = 0;
  const take = (from: Uint16Array, at: number, n: number) => {
    const result: number[] = [];
    let last = 0;
    for (let i = 0; i < n; i++) {
      last = (last + from[at + i]!) & 0xffff;
      result.push(last);
    }
    return result;
  };
  const result = new Map<number, Shape[]>();
  for (let row = 0; row < table.n; row++) {
    const low = table.number('low_ns', row) ?? 0;
    const high = table.number('high_ns', row) ?? 0;
    const k = table.number('quantiles', row) ?? 0;
    const n = table.number('bins', row) ?? 0;
    const ms = (code: number) => decodeMs(code, low, high);
    const shapeQuantiles = take(quantiles, q, k).map(ms);
    q += k;
    const [mins, medians, maxs] = [0, 1, 2].map((part) => take(bins, b + part * n, n)) as [number[], number[], number[]];
    b += 3 * n;
    const shape: Shape = {
      launch: table.number('launch', row) ?? 1,
      kind: table.number('kind', row) ?? 0,
      samples: table.number('samples', row) ?? 0,
      steady: table.number('steady', row) ?? 0,
      windowSeconds: (table.number('window_ns', row) ?? 0) / 1e9,
      firstSteadyBin: table.number('first_steady_bin', row) ?? 0,
      wholeWindow: table.number('whole_window', row) === 1,
      quantiles: shapeQuantiles,
      bins: mins.map((min, i) =>
        min > maxs[i]! ? null : { min: ms(min), median: ms(medians[i]!), max: ms(maxs[i]!) }),
    };
    const cell = table.number('cell', row) ?? 0;
    const list = result.get(cell);
    if (list) list.push(shape);
    else result.set(cell, [shape]);
  }
  return result;
}

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
  const cells: Cell[] = [];
  for (let index = 0; index < rows.n; index++) {
    const id = rows.number('result_id', index) ?? 0;
    cells.push({
      index,
      key: id > 0 ? String(id) : rows.text('task_key', index),
      target: rows.text('target', index),
      shape: rows.text('shape', index),
      ranked: rows.number('ranked', index) === 1,
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
      p50: past.number('p50', i),
      low: past.number('low', i),
      high: past.number('high', i),
      throughput: past.number('throughput', i),
      memory: past.number('memory', i),
      launches: past.number('launches', i) ?? 0,
    });
  }

  let shapes: Map<number, Shape[]> | undefined;
  return {
    madeAt: header.made_at,
    source: header.source,
    tool: header.tool,
    detail: header.detail,
    leftOut: header.left_out,
    fields: header.fields,
    cells,
    byKey: new Map(cells.map((cell) => [cell.key, cell])),
    series: header.series,
    history,
    shapesOf(cell) {
      shapes ??= readShapes(body, header, texts);
      return shapes.get(cell.index) ?? [];
    },
    targets: header.targets,
    runs: header.runs,
    machines: header.machines,
    peaks: header.peaks,
    analysis: header.analysis,
    charts: header.charts,
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
