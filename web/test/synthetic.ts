// SPDX-License-Identifier: Apache-2.0
// A document of invented results, so that the page can be developed and tested without measuring: the same seed makes
// the same document. Models, runtimes and causes of failure are such as happen.
import { readFileSync } from 'node:fs';
import { compareTogether, noClaimWords, type Timed } from '../src/stats.ts';
import { type ColumnType, DocumentWriter } from './document_writer.ts';

type Value = string | number | null;
type Row = Record<string, Value>;

export interface SyntheticOptions {
  seed?: number;
  models?: number;
  batches?: number[];
  runs?: number;
  /** Quantiles and bins of each launch. */
  quantiles?: number;
  bins?: number;
}

const families: [string, string, string[]][] = [
  ['embedding', 'text encoders', ['bert', 'distilbert', 'roberta', 'albert', 'electra', 'mpnet', 'deberta-v2']],
  ['text_generation', 'text decoders', ['gpt2', 'llama', 'qwen2', 'opt', 'bloom', 'phi', 'gemma', 'mistral']],
  ['text_generation', 'encoder-decoders', ['t5', 'bart', 'marian', 'pegasus']],
  ['vision', 'vision models', ['vit', 'resnet', 'deit', 'swin', 'convnext', 'beit', 'segformer', 'detr']],
  ['audio', 'audio models', ['whisper', 'wav2vec2', 'hubert', 'clap']],
  ['multimodal', 'vision and text', ['clip', 'blip', 'siglip', 'llava']],
];

const targets = [
  {
    key: 'cpu',
    hardware: 'cpu',
    engine: 'onnxruntime',
    device: 'CPU',
    device_name: 'AMD EPYC 7B13',
    version: '1.31.1',
  },
  {
    key: 'openvino',
    hardware: 'openvino',
    engine: 'openvino',
    device: 'CPU',
    device_name: 'AMD EPYC 7B13',
    version: '2026.4.1',
  },
  { key: 'cuda', hardware: 'cuda', engine: 'onnxruntime', device: '', device_name: '', version: '' },
  {
    key: 'webgpu',
    hardware: 'webgpu',
    engine: 'onnxruntime',
    device: 'swiftshader',
    device_name: 'SwiftShader',
    version: '1.31.1',
  },
];

function random(seed: number) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const hex = (n: number) => Array.from({ length: n }, () => Math.floor(uniform() * 16).toString(16)).join('');
  return { uniform, normal, hex };
}

export function readFields(): { name: string; type: string; unit: string; meaning: string }[] {
  const text = readFileSync(new URL('../../src/core/result/fields.def', import.meta.url), 'utf8');
  return [...text.matchAll(/^FIELD\((\w+), (\w+), .*?, "([^"]*)", "([^"]*)"\)$/gm)].map((found) => ({
    type: found[1]!,
    name: found[2]!,
    unit: found[3]!,
    meaning: found[4]!,
  }));
}

const precise = [
  'latency_p50_ms',
  'latency_p50_ns',
  'window_ns',
  'throughput_ips',
  'parameter_count',
  'flops',
  'bytes',
];
const columnType = (name: string, type: string): ColumnType =>
  precise.includes(name) ? 'f64' : type === 'Number' ? 'f32' : type === 'Count' ? 'f64' : 'text';

const timed = (row: Row): Timed => ({
  run: row.run_id as string,
  launches: row.launch_p50_ms as string,
  launchNumber: null,
  p50: row.latency_p50_ms as number,
});

export function synthetic(options: SyntheticOptions = {}): Uint8Array {
  const { seed = 1, models = 12, batches = [1, 4, 8], runs: runCount = 4, quantiles = 64, bins = 100 } = options;
  const { uniform, normal, hex } = random(seed);
  const fields = readFields();
  const runs = Array.from({ length: runCount }, (_, i) => ({
    run_id: `run${runCount - i}-${hex(8)}`,
    started: new Date(Date.UTC(2026, 2, 2, 12) - i * 6 * 86400e3).toISOString(),
    command: 'assay suite --config benchmark_config.json',
    host: 'bench-1',
    machine: 'AMD EPYC 7B13, 2 cores',
    tool_version: '0.1.0',
    git_commit: hex(40),
    environment: { governor: 'performance', load: 0.12 + 0.1 * i, threads: 2, doctor: { score: 74 - i, findings: [] } },
    cells: 0,
    score: 74 - i * 3,
  }));
  const rows: Row[] = [];
  const shapeRows: { row: number; launch: number; low: number; high: number; q: number[]; b: number[] }[] = [];

  const names = families.flatMap(([family, category, list]) => list.map((name) => ({ family, category, name })));
  const chosen = Array.from({ length: models }, (_, i) => {
    const entry = names[(i * 11) % names.length]!;
    return { ...entry, name: i < names.length ? entry.name : `${entry.name}-${Math.floor(i / names.length) + 1}` };
  });
  chosen.forEach(({ family, category, name }, m) => {
    const base = Math.exp(1.6 + 1.2 * normal());
    const parameters = Math.round(base * 9e6);
    const tokens = ['embedding', 'text_generation', 'multimodal'].includes(family);
    for (const [t, target] of targets.entries()) {
      const speed = t === 0 ? 1 : t === 1 ? Math.exp(-0.3 + 0.25 * normal()) : 3 + uniform();
      for (const batch of batches) {
        const index = rows.length;
        const row: Row = {};
        for (const field of fields) row[field.name] = field.type === 'Count' || field.type === 'Number' ? null : '';
        Object.assign(row, {
          framework: target.engine,
          model: name,
          model_id: `zoo:${name}`,
          family,
          category,
          architecture: name.replace(/-\d+$/, ''),
          model_class: 'Model',
          weights: 'seeded',
          size: 'small',
          flags: 'seeded',
          device: target.device,
          device_type: target.hardware,
          device_name: target.device_name,
          engine: target.engine,
          engine_version: target.version,
          hardware: target.hardware,
          batch_size: batch,
          sequence_length: tokens ? 128 : null,
          precision: 'float32',
          effective_precision: 'float32',
          dtype: 'float32',
          input_shape: tokens ? `input_ids (${batch}, 128); attention_mask (${batch}, 128)` : `(${batch}, 3, 224, 224)`,
          timestamp: runs[0]!.started,
          run_id: runs[0]!.run_id,
          attempt_id: hex(32),
          task_key: hex(32),
          series_key: hex(32),
          host: 'bench-1',
          hardware_id: 'a1b2c3d4',
          tool_version: '0.1.0',
          git_commit: runs[0]!.git_commit,
          method_version: 3,
          parameter_count: parameters,
          model_size_mb: parameters / 250000,
          planned_launches: 3,
          streams: 1,
          threads: null,
          effective_threads: 2,
          contract: 'e2e_host',
          shapes: 'static',
          seed: 42,
          data_source: 'synthetic',
          process: 'fresh',
          engine_options: '',
          effective_options: 'graph_optimization_level=all; intra_op_threads=2',
          kernels: 'mlas',
          reference: 'onnxruntime basic',
          status: 'completed',
          verification: 'verified',
          result_id: 1000 + index,
        });
        const fate = uniform();
        if (target.hardware === 'cuda') {
          Object.assign(row, {
            status: 'unavailable',
            verification: 'unverified',
            reason_code: 'no_hardware',
            message: 'no NVIDIA driver: /proc/driver/nvidia/version does not exist',
            hint: 'run on a machine with an NVIDIA GPU and its driver',
          });
        } else if (m % 9 === 4 && t === 1) {
          Object.assign(row, {
            status: 'wrong',
            verification: 'wrong',
            reason_code: 'wrong_output',
            message: 'output last_hidden_state differs from the reference: rms error 0.31, limit 0.001',
            max_abs_error: 1.7,
            error_limit: 0.02,
            rms_error: 0.31,
            rms_limit: 0.001,
            worst_output: 'last_hidden_state',
            worst_element: '[0, 17, 3] of set 2',
            hint: '`assay verify` with --precision float32 shows whether the conversion is the cause',
          });
        } else if (fate < 0.03) {
          const seconds = (uniform() * 30).toFixed(1);
          Object.assign(row, {
            status: 'failed',
            verification: 'unverified',
            reason_code: 'worker_died',
            message: `the worker ended by signal 9 (killed) after ${seconds} s; the machine had 0.2 GB of free memory`,
            hint: 'use a smaller batch, or more memory',
          });
        } else if (t === 1 && category === 'audio models' && batch > 1) {
          Object.assign(row, {
            status: 'unsupported',
            verification: 'unverified',
            reason_code: 'unsupported',
            message: "openvino has no kernel for operator 'STFT' (opset 17)",
            hint: 'run it with --engines onnxruntime',
          });
        } else if (batch >= 8 && parameters > 2.5e8) {
          Object.assign(row, {
            status: 'skipped',
            verification: 'unverified',
            reason_code: 'no_time',
            message: 'estimated at 14 s a run; the time limit is 10 s',
            hint: 'use a larger --timeout',
          });
        }
        if (row.status === 'completed' || row.status === 'wrong')
          measure(row, base * speed * batch ** 0.85, index, batch, target.hardware === 'webgpu');
        if (t === 3 && row.status === 'completed') row.flags = 'seeded,software';
        if (family === 'text_generation' && row.latency_p50_ms) {
          const p50 = row.latency_p50_ms as number;
          Object.assign(row, {
            output_tokens: 32,
            ttft_p50_ms: p50 * 0.2,
            ttft_p50_low_ms: p50 * 0.197,
            ttft_p50_high_ms: p50 * 0.204,
            tpot_p50_ms: (p50 * 0.8) / 31,
            tpot_p50_low_ms: (p50 * 0.79) / 31,
            tpot_p50_high_ms: (p50 * 0.81) / 31,
            tokens_per_second: 31000 / (p50 * 0.8),
          });
        }
        rows.push(row);
      }
    }
  });

  function measure(row: Row, median: number, index: number, batch: number, quick: boolean) {
    const launches = quick ? 1 : 3;
    const medians: number[] = [];
    for (let launch = 1; launch <= launches; launch++) {
      const centre = median * Math.exp(0.008 * normal());
      const samples = Array.from(
        { length: 300 },
        (_, i) =>
          centre *
          Math.exp(
            0.012 * normal() + (uniform() < 0.015 ? 0.4 * uniform() : 0) + (i < 12 ? 0.25 * Math.exp(-i / 4) : 0),
          ),
      );
      const steady = samples.slice(15).sort((a, b) => a - b);
      medians.push(steady[Math.floor(steady.length / 2)]!);
      const low = Math.min(...samples) * 1e6;
      const high = Math.max(...samples) * 1e6;
      const code = (ms: number) => Math.round((65535 * Math.log((ms * 1e6) / low)) / Math.log(high / low));
      const q = Array.from({ length: quantiles }, (_, i) =>
        code(steady[Math.round((i / (quantiles - 1)) * (steady.length - 1))]!),
      );
      const parts = Array.from({ length: bins }, (_, i) =>
        samples.slice(Math.floor((i * 300) / bins), Math.floor(((i + 1) * 300) / bins)).sort((a, b) => a - b),
      );
      const b = [
        ...parts.map((part) => code(part[0]!)),
        ...parts.map((part) => code(part[Math.floor(part.length / 2)]!)),
        ...parts.map((part) => code(part[part.length - 1]!)),
      ];
      shapeRows.push({ row: index, launch, low, high, q, b });
    }
    const logs = medians.map(Math.log);
    const centre = logs.reduce((a, b) => a + b) / launches;
    const spread = launches > 1 ? Math.sqrt(logs.reduce((a, b) => a + (b - centre) ** 2, 0) / (launches - 1)) : null;
    const half = spread === null ? 0.004 : (4.303 * spread) / Math.sqrt(3);
    const p50 = Math.exp(centre);
    Object.assign(row, {
      launches,
      iterations: 285 * launches,
      latency_p50_ms: p50,
      latency_p50_ns: Math.round(p50 * 1e6),
      latency_p50_low_ms: p50 * Math.exp(-half),
      latency_p50_high_ms: p50 * Math.exp(half),
      latency_p50_interval: launches > 1 ? 'launches' : 'one_process',
      launch_p50_ms: medians.map((x, i) => `${i + 1}:${x}`).join(' '),
      launch_spread: spread,
      latency_p90_ms: p50 * 1.02,
      latency_p95_ms: p50 * 1.03,
      latency_p99_ms: p50 * 1.2,
      latency_mean_ms: p50 * 1.005,
      latency_std_ms: p50 * 0.03,
      latency_min_ms: p50 * 0.96,
      latency_max_ms: p50 * 1.5,
      latency_p95_low_ms: p50 * 1.025,
      latency_p95_high_ms: p50 * 1.04,
      latency_p99_low_ms: p50 * 1.1,
      latency_p99_high_ms: p50 * 1.45,
      latency_p99_quality: 'few_samples(n=855<1843)',
      latency_p50_quality: 'ok',
      latency_p90_quality: 'ok',
      latency_p95_quality: 'ok',
      throughput_ips: (1000 * batch) / p50,
      memory_mb: (row.model_size_mb as number) * 1.4 + 60 + 4 * batch,
      memory_load_mb: (row.model_size_mb as number) * 2.1 + 60,
      memory_model_mb: (row.model_size_mb as number) * 1.3,
      memory_source: 'process',
      runtime_load_ms: 18,
      model_load_time: p50 / 20,
      first_inference_ms: p50 * 2.2,
      compilation_time_ms: p50 * 9,
      warmup_iterations: 10,
      warmup_time_ms: p50 * 10,
      window_ns: p50 * 300e6,
      steady_from: 15,
      steady_class: 'warmup',
      stop_reason: 'precision_reached',
      relative_half_width: half,
      autocorrelation_time: 1.4,
      outliers: 4,
      checked: '2 input sets',
      agreed_by: 'openvino',
      flops: (row.parameter_count as number) * 2 * batch,
      flops_counted: 1,
    });
    if (row.status === 'completed')
      Object.assign(row, {
        max_abs_error: 2e-5,
        error_limit: 1e-3,
        rms_error: 3e-7 * (1 + uniform() * 10),
        rms_limit: 1e-4,
        honest_error: 4e-7,
        cosine_similarity: 1,
        worst_output: 'last_hidden_state',
        worst_element: '[0, 3, 11] of set 1',
      });
  }

  const ranked = rows.map((row) => row.status === 'completed' && !(row.flags as string).includes('software'));
  const writer = new DocumentWriter();
  const shapeOf = (row: Row) => `batch_${row.batch_size}${row.sequence_length ? `_seq_${row.sequence_length}` : ''}`;
  const cellName = (row: Row) => `${row.model} ${shapeOf(row)}`;
  const reproduce = (row: Row) => {
    const cell = `--model-id ${row.model_id} --device ${row.hardware} --engine ${row.engine} --precision float32`;
    const lengths = row.sequence_length ? ` --sequence-lengths ${row.sequence_length}` : '';
    return `assay bench ${cell} --batch-sizes ${row.batch_size}${lengths} --launches 3`;
  };
  const cellNames = [...new Set(rows.flatMap((row) => [cellName(row), cellName({ ...row, batch_size: 1 })]))];
  const targetOf = (row: Row) => targets.find((t) => t.hardware === row.hardware && t.engine === row.engine)!.key;
  const column = (name: string, type: ColumnType, values: Value[]) => writer.column(name, type, values);
  const cells = {
    n: rows.length,
    columns: [
      ...fields.map((field) =>
        column(
          field.name,
          columnType(field.name, field.type),
          rows.map((row) => row[field.name]!),
        ),
      ),
      column(
        'result_id',
        'f64',
        rows.map((row) => row.result_id!),
      ),
      column('ranked', 'u8', ranked.map(Number)),
      column(
        'shown',
        'u8',
        rows.map((row) => Number(row.status === 'completed')),
      ),
      column(
        'machine',
        'text',
        rows.map(() => ''),
      ),
      column(
        'comparable',
        'f64',
        rows.map((row) => cellNames.indexOf(cellName(row))),
      ),
      column(
        'alike',
        'f64',
        rows.map((row) => cellNames.indexOf(cellName({ ...row, batch_size: 1 }))),
      ),
      column(
        'usable',
        'u8',
        rows.map((row, i) =>
          Number(
            ranked[i] &&
              row.latency_p50_ms !== null &&
              !rows.some((one) => one.status === 'wrong' && one.model === row.model && one.hardware === row.hardware),
          ),
        ),
      ),
      column('target', 'text', rows.map(targetOf)),
      column('shape', 'text', rows.map(shapeOf)),
      column('reproduce', 'text', rows.map(reproduce)),
    ],
  };

  const series = rows.map((row) => row.series_key as string);
  const points = rows.flatMap((row, s) =>
    row.latency_p50_ms === null
      ? []
      : runs
          .map((run, i) => {
            const p50 =
              (row.latency_p50_ms as number) *
              (i === 0 ? 1 : Math.exp(0.01 * normal()) * (s % 11 === 3 && i > 1 ? 0.9 : 1));
            return {
              series: s,
              result_id: i === 0 ? row.result_id! : 0,
              time: Date.parse(run.started) / 1000,
              run: run.run_id,
              version: `${row.engine} ${i > 1 && row.engine === 'openvino' ? '2026.3.0' : row.engine_version}, assay 0.1.0`,
              status: row.status!,
              verification: row.verification!,
              engine_version: i > 1 && row.engine === 'openvino' ? '2026.3.0' : row.engine_version!,
              flags: row.flags!,
              interval: row.latency_p50_interval!,
              effective_precision: row.effective_precision!,
              comparable: cellNames.indexOf(cellName(row)),
              usable: Number(ranked[s]),
              ranked: Number(ranked[s]),
              shown: Number(row.status === 'completed'),
              p50,
              low: p50 * 0.99,
              high: p50 * 1.011,
              ips: (1000 * (row.batch_size as number)) / p50,
              mb: row.memory_mb!,
              launches: row.launches!,
              disturbed: i === 2 ? 'noisy' : '',
            };
          })
          .reverse(),
  );
  const historyColumn = (name: string, type: ColumnType, key: keyof (typeof points)[number]) =>
    column(
      name,
      type,
      points.map((point) => point[key] as Value),
    );
  const history = {
    n: points.length,
    columns: [
      historyColumn('series', 'f64', 'series'),
      historyColumn('result_id', 'f64', 'result_id'),
      historyColumn('time', 'f64', 'time'),
      historyColumn('run', 'text', 'run'),
      historyColumn('version', 'text', 'version'),
      historyColumn('status', 'text', 'status'),
      historyColumn('verification', 'text', 'verification'),
      historyColumn('ranked', 'u8', 'ranked'),
      historyColumn('shown', 'u8', 'shown'),
      historyColumn('p50', 'f64', 'p50'),
      historyColumn('low', 'f32', 'low'),
      historyColumn('high', 'f32', 'high'),
      historyColumn('throughput', 'f32', 'ips'),
      historyColumn('memory', 'f32', 'mb'),
      historyColumn('launches', 'f64', 'launches'),
      historyColumn('engine_version', 'text', 'engine_version'),
      historyColumn('flags', 'text', 'flags'),
      historyColumn('interval', 'text', 'interval'),
      historyColumn('effective_precision', 'text', 'effective_precision'),
      historyColumn('comparable', 'f64', 'comparable'),
      historyColumn('usable', 'u8', 'usable'),
      historyColumn('disturbed', 'text', 'disturbed'),
    ],
  };

  const delta = (codes: number[]) => codes.map((code, i) => (code - (i === 0 ? 0 : codes[i - 1]!)) & 0xffff);
  const thirds = (codes: number[]) => [0, 1, 2].flatMap((part) => delta(codes.slice(part * bins, (part + 1) * bins)));
  const distributions = {
    n: shapeRows.length,
    columns: [
      column(
        'cell',
        'f64',
        shapeRows.map((s) => s.row),
      ),
      column(
        'launch',
        'f64',
        shapeRows.map((s) => s.launch),
      ),
      column(
        'kind',
        'u8',
        shapeRows.map(() => 0),
      ),
      column(
        'samples',
        'f64',
        shapeRows.map(() => 300),
      ),
      column(
        'steady',
        'f64',
        shapeRows.map(() => 285),
      ),
      column(
        'low_ns',
        'f64',
        shapeRows.map((s) => s.low),
      ),
      column(
        'high_ns',
        'f64',
        shapeRows.map((s) => s.high),
      ),
      column(
        'window_ns',
        'f64',
        shapeRows.map((s) => (rows[s.row]!.latency_p50_ms as number) * 300e6),
      ),
      column(
        'first_steady_bin',
        'u16',
        shapeRows.map(() => Math.floor(bins * 0.05)),
      ),
      column(
        'quantiles',
        'u16',
        shapeRows.map(() => quantiles),
      ),
      column(
        'bins',
        'u16',
        shapeRows.map(() => bins),
      ),
    ],
  };
  const quantileCodes = writer.codes(shapeRows.flatMap((s) => delta(s.q)));
  const binCodes = writer.codes(shapeRows.flatMap((s) => thirds(s.b)));

  return writer.finish({
    made_at: '2026-03-02T12:30:00Z',
    source: 'benchmark_db.duckdb',
    tool: 'assay 0.1.0',
    detail: quantiles === 64 ? 'full' : `${quantiles} quantiles and ${bins} bins of each launch`,
    left_out: 0,
    fields: fields.map(({ name, unit, meaning }) => ({ name, unit, meaning })),
    cells,
    history,
    distributions,
    quantiles: quantileCodes,
    bins: binCodes,
    series,
    runs: runs.map((run, i) => ({ ...run, cells: i === 0 ? rows.length : points.length / runCount })),
    machines: [
      {
        hardware_id: 'a1b2c3d4',
        host: 'bench-1',
        processor: 'AMD EPYC 7B13',
        info: { cpu: { model: 'AMD EPYC 7B13', cores: 2, simd: 'avx2' }, memory_gb: 23.5, os: 'Debian GNU/Linux 12' },
        first_seen: runs[runCount - 1]!.started,
        last_seen: runs[0]!.started,
      },
    ],
    peaks: [
      {
        hardware_id: 'a1b2c3d4',
        hardware: 'cpu',
        device: 'CPU',
        precision: 'float32',
        engine: 'openvino',
        engine_version: '2026.4.1',
        flops_per_s: 1.4e11,
        bytes_per_s: 2.1e10,
        threads: 2,
        measured_at: runs[0]!.started,
      },
    ],
    targets: targets.map(({ key, hardware, engine }) => ({ key, hardware, engine })),
    charts: {},
    analysis: analysis(rows, ranked, targetOf, points.length > 0),
  });
}

function analysis(rows: Row[], ranked: boolean[], targetOf: (row: Row) => string, withHistory: boolean) {
  const state = (row: Row) =>
    row.status !== 'completed' ? (row.status as string) : row.verification === 'verified' ? 'verified' : 'unverified';
  const states = (list: Row[]) => {
    const counts: Record<string, number> = {
      verified: 0,
      unverified: 0,
      wrong: 0,
      failed: 0,
      unsupported: 0,
      unavailable: 0,
      skipped: 0,
    };
    for (const row of list) counts[state(row)]! += 1;
    return counts;
  };
  const best = (candidates: Row[], perItem: boolean) => {
    const time = (row: Row) => (row.latency_p50_ms as number) / (perItem ? (row.batch_size as number) : 1);
    const sorted = [...candidates].sort((a, b) => time(a) - time(b));
    const row = sorted[0];
    if (!row) return null;
    const runnerUp = sorted.find((other) => targetOf(other) !== targetOf(row));
    const says = {
      cell: rows.indexOf(row),
      target: targetOf(row),
      p50_ms: row.latency_p50_ms,
      throughput_ips: row.throughput_ips,
      shape: `batch ${row.batch_size}${row.sequence_length ? `, ${row.sequence_length} tokens` : ''}`,
    };
    if (!runnerUp)
      return {
        ...says,
        runner_up: null,
        runner_up_target: '',
        claimed: false,
        ratio: 1,
        low: null,
        high: null,
        words: 'the only verified choice here',
        of: 1,
      };
    const scale = (r: Row): Timed => ({
      ...timed(r),
      p50: time(r),
      launches: (r.launch_p50_ms as string)
        .split(' ')
        .map((part) => {
          const [n, ms] = part.split(':');
          return `${n}:${Number(ms) / (perItem ? (r.batch_size as number) : 1)}`;
        })
        .join(' '),
    });
    const found = compareTogether([{ baseline: scale(row), candidate: scale(runnerUp) }], sorted.length);
    const claimed = found.difference === 'slower';
    const other = targetOf(runnerUp);
    const words = claimed
      ? `${found.ratio.toFixed(2)}× as fast as ${other} (95 %: ${found.low!.toFixed(2)} to ${found.high!.toFixed(2)})`
      : noClaimWords(found).replace(/^(no difference shown|not compared)/, `$1 with ${other}`);
    return {
      ...says,
      runner_up: rows.indexOf(runnerUp),
      runner_up_target: other,
      claimed,
      ratio: found.ratio,
      low: found.low,
      high: found.high,
      words,
      of: sorted.length,
    };
  };
  const names = [...new Set(rows.map((row) => row.model as string))];
  const models = names.map((model) => {
    const mine = rows.filter((row) => row.model === model);
    const rankedRows = mine.filter((row) => ranked[rows.indexOf(row)]);
    const batch = Math.min(...rankedRows.map((row) => row.batch_size as number));
    const latencyRows = rankedRows.filter((row) => row.batch_size === batch);
    const memory = [...latencyRows].sort((a, b) => (a.memory_mb as number) - (b.memory_mb as number))[0];
    const first = mine[0]!;
    return {
      model,
      machine: '',
      model_id: first.model_id,
      size: first.size,
      family: first.family,
      category: first.category,
      architecture: first.architecture,
      latency: best(latencyRows, false),
      throughput: best(rankedRows, true),
      least_memory: memory ? rows.indexOf(memory) : null,
      least_memory_target: memory ? targetOf(memory) : '',
      least_memory_mb: memory ? memory.memory_mb : null,
      states: states(mine),
    };
  });
  const groups = new Map<string, Row[]>();
  for (const row of rows.filter((r) => r.status !== 'completed')) {
    const key = `${row.reason_code} ${(row.message as string).replace(/[\d.]+/g, '#')}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const order = ['wrong', 'failed', 'unsupported', 'skipped', 'unavailable'];
  const failures = [...groups.values()]
    .sort((a, b) => order.indexOf(a[0]!.status as string) - order.indexOf(b[0]!.status as string))
    .map((list) => ({
      status: list[0]!.status,
      reason_code: list[0]!.reason_code,
      cause: list[0]!.message,
      hint: list[0]!.hint,
      cells: list.map((row) => rows.indexOf(row)),
      where: [...new Set(list.map((row) => `${row.model} on ${targetOf(row)}`))],
    }));
  const measured = rows.filter((row) => row.latency_p50_ms !== null && ranked[rows.indexOf(row)]);
  const change = (row: Row, what: string, words: string, ratio: number | null, beyond = false) => ({
    what,
    series: row.series_key,
    cell: rows.indexOf(row),
    cells: 1,
    quantity: ratio ? 'latency_p50_ms' : '',
    unit: ratio ? 'ms' : '',
    before: ratio ? (row.latency_p50_ms as number) / ratio : null,
    after: ratio ? row.latency_p50_ms : null,
    ratio,
    beyond_spread: beyond,
    words: `${row.model} on ${targetOf(row)}, batch ${row.batch_size}: ${words}`,
  });
  const wrong = rows.find((row) => row.status === 'wrong');
  const changes = !withHistory
    ? []
    : [
        ...(wrong ? [change(wrong, 'newly_wrong', 'was verified in the run before, is wrong now', null)] : []),
        ...measured.slice(3, 5).map((row) => {
          const [now, factor] = [row.latency_p50_ms as number, 1.11];
          const moved = `${(now / factor).toFixed(2)} → ${now.toFixed(2)} ms (× ${factor})`;
          const words = `${moved}, beyond the spread of the 6 runs before (± 2.1 %); not confirmed`;
          return change(row, 'moved', words, factor, true);
        }),
        ...measured
          .slice(7, 8)
          .map((row) => change(row, 'fixed', 'failed (worker_died) in the run before, is verified now', null)),
      ];
  const choices = models
    .filter((line) => line.latency)
    .map((line) => {
      const target = targetOf(rows[line.latency!.cell]!);
      const other = line.latency!.runner_up === null ? '' : targetOf(rows[line.latency!.runner_up]!);
      return {
        architecture: line.architecture,
        category: line.category,
        machine: '',
        best: target,
        runner_up: other,
        value: rows[line.latency!.cell]!.latency_p50_ms,
        claimed: line.latency!.claimed,
        ratio: line.latency!.ratio,
        low: line.latency!.low,
        high: line.latency!.high,
        cells: 1,
        words: line.latency!.claimed
          ? `${target} is ${line.latency!.words}`
          : `${target} has the lowest latency; ${line.latency!.words}`,
        how_sure: '3 rounds, 1 cell',
        left_out: ['cuda: unavailable (no_hardware)'],
      };
    });
  const opportunities = models
    .filter((line) => line.throughput && rows[line.throughput.cell]!.batch_size !== 1)
    .slice(0, 6)
    .map((line) => {
      const better = rows[line.throughput!.cell]!;
      const gain = 'does 1.40 times as many items a second as batch 1 (95 %: 1.35 to 1.46)';
      return {
        kind: 'batch',
        cell: line.latency!.cell,
        better: line.throughput!.cell,
        factor: 1.4,
        low: 1.35,
        high: 1.46,
        claimed: true,
        machine: '',
        words: `${line.model}: batch ${better.batch_size} on ${targetOf(better)} ${gain}`,
      };
    });
  return {
    models,
    failures,
    states: states(rows),
    changes: { last_run: changes, week: changes.slice(0, 2), month: [] },
    choices,
    opportunities,
    efficiency: [
      {
        machine: '',
        target: 'cpu',
        category: 'text encoders',
        precision: 'float32',
        share: 0.41,
        cells: 6,
        counted_whole: true,
        peak_of: 'openvino 2026.4.1, 2 threads, 2026-03-02: 140 GFLOP/s',
      },
      {
        machine: '',
        target: 'openvino',
        category: 'text encoders',
        precision: 'float32',
        share: 0.62,
        cells: 6,
        counted_whole: true,
        peak_of: 'openvino 2026.4.1, 2 threads, 2026-03-02: 140 GFLOP/s',
      },
    ],
    no_opportunity: opportunities.length === 0 ? 'No gain was found.' : '',
    efficiency_missing: ['no measured peak of cuda on this machine: `assay doctor --peak` measures it'],
    sure: [
      'The machine scored 74 of 100: frequencies changed by 3 % while it was idle.',
      '41 of 46 cells reached the precision of 1 % that was set.',
      'Differences from 3 % on would have been shown for half of the pairs; the worst pair needs 12 %.',
    ],
  };
}
