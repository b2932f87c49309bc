// SPDX-License-Identifier: Apache-2.0
// What a document contains, as the page sees it: src/show/dashboard writes it, read_document.ts reads it. Only types.
import type { Option } from '../chart/runtime.js';

export type Value = string | number | null;

export interface Field {
  name: string;
  unit: string;
  meaning: string;
}

/** A cell: every field of a result by its name, and what C++ derived from it. Absent numbers are null, texts "". */
export interface Cell {
  /** Its row in the file: the newest cell has 0. */
  index: number;
  /** What links call it: the row's number in the database, else its task key. */
  key: string;
  target: string;
  shape: string;
  ranked: boolean;
  /** Whether its numbers may be shown as results: it ran, and they are not wrong. */
  shown: boolean;
  reproduce: string;
  /** An earlier result of a series: the document has of it what its history needs, and no page. */
  earlier?: true;
  text(name: string): string;
  number(name: string): number | null;
  value(name: string): Value;
}

export interface Distribution {
  launch: number;
  kind: number;
  samples: number;
  steady: number;
  windowSeconds: number;
  firstSteadyBin: number;
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
  /** As of a cell. */
  shown: boolean;
  p50: number | null;
  low: number | null;
  high: number | null;
  /** Fields of the result by these names; `launchMedians` is launch_p50_ms, of an earlier result only. */
  engineVersion: string;
  effectivePrecision: string;
  flags: string;
  interval: string;
  launchMedians: string;
  /** As of a cell. */
  comparable: number;
  usable: boolean;
  throughput: number | null;
  memory: number | null;
  launches: number;
  /** "score 38 of 100 (load), noisy"; "" if nothing is known to have disturbed it. */
  disturbed: string;
}

/** The form of a target's points in charts: one for each engine of a hardware. */
export type Marker = 'circle' | 'diamond' | 'rect' | 'triangle' | 'pin';

export interface Target {
  key: string;
  hardware: string;
  engine: string;
  marker: Marker;
}

/**
 * The best cell of a model and by how much; `cell` and `runner_up` are indices of cells, null of what the document
 * leaves out.
 */
export interface Best {
  cell: number | null;
  target: string;
  p50_ms: number | null;
  throughput_ips: number | null;
  /** "batch 4, 128 tokens" */
  shape: string;
  runner_up: number | null;
  /** "": there is nothing to compare with. */
  runner_up_target: string;
  claimed: boolean;
  ratio: number;
  low: number | null;
  high: number | null;
  /** "2.00× as fast as cpu (95 %: 1.95 to 2.05)", "no difference shown with cpu (± 6 %)" */
  words: string;
  of: number;
}

export type States = Record<
  'verified' | 'unverified' | 'wrong' | 'failed' | 'unsupported' | 'unavailable' | 'skipped',
  number
>;

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
  least_memory_target: string;
  least_memory_mb: number | null;
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
  /** How many cells; `cell` is the first. */
  cells: number;
  /** Of a move: the column that differs and its unit; else "". */
  quantity: string;
  unit: string;
  before: number | null;
  after: number | null;
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
  /** Why there is none; "" if there is one. */
  no_opportunity: string;
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

/** Every number of a chart, with what it is. */
export interface ChartTable {
  columns: { heading: string; unit: string }[];
  rows: Value[][];
}

/** A chart of src/show/chart (src/show/dashboard/charts.hpp). */
export interface PageChart {
  title: string;
  subtitle: string;
  summary: string;
  notes: string[];
  width: number;
  height: number;
  option: Option;
  /** Absent of charts whose rows the page fills in. */
  table?: ChartTable;
  /** Its words are not those in its option: the page has filled it in. */
  filled?: boolean;
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
  /** In the order of order.ts, as models and targets. */
  cells: Cell[];
  /** By the row in the file, which the analysis names. */
  cellAt(index: number): Cell;
  /** By the key of links, and by the task key. */
  byKey: Map<string, Cell>;
  series: string[];
  history: HistoryPoint[];
  distributionsOf(cell: Cell): Distribution[];
  /** Names. */
  models: string[];
  targets: Target[];
  runs: Run[];
  machines: Machine[];
  peaks: Peak[];
  analysis: Analysis;
  charts: Record<string, PageChart>;
  /** Charts of the whole history without data: their question, what is missing, and the command that measures it. */
  missingCharts: Record<string, { title: string; missing: string }>;
  /** So many charts the document has not, because it would be too large. */
  chartsLeftOut: number;
  themes: Themes;
}
