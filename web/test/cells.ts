// SPDX-License-Identifier: Apache-2.0
// Cells of a test: what is not given is as of a ranked cell that was measured in seven rounds.
import type { Cell, Value } from '../src/document.ts';

/** Medians of seven rounds about `ms`. */
export const rounds = (ms: number, spread = 0.002) =>
  Array.from({ length: 7 }, (_, i) => `${i + 1}:${ms * (1 + spread * (((i * 3) % 7) - 3))}`).join(' ');

export function cell(given: Record<string, Value>): Cell {
  const ms = (given.latency_p50_ms as number | undefined) ?? 4;
  const values: Record<string, Value> = {
    model: 'bert',
    hardware: String(given.target ?? 'cpu'),
    engine: 'onnxruntime',
    run_id: 'run-1',
    status: 'completed',
    verification: 'verified',
    flags: '',
    precision: 'float32',
    effective_precision: 'float32',
    batch_size: 1,
    sequence_length: 128,
    streams: 1,
    hardware_id: 'a',
    machine: '',
    category: 'text_encoders',
    latency_p50_ms: ms,
    latency_p50_low_ms: ms * 0.99,
    latency_p50_high_ms: ms * 1.01,
    launch_p50_ms: rounds(ms),
    launches: 7,
    comparable: 1,
    alike: 1,
    usable: 1,
    shown: 1,
    ranked: 1,
    shape: 'batch_1',
    ...given,
  };
  const value = (name: string) => values[name] ?? null;
  return {
    index: 0,
    key: String(values.key ?? `${values.target} ${values.model}`),
    target: String(values.target ?? 'cpu'),
    shape: String(values.shape),
    ranked: values.ranked === 1,
    shown: values.shown === 1,
    reproduce: '',
    text: (name) => (typeof value(name) === 'string' ? (value(name) as string) : ''),
    number: (name) => (typeof value(name) === 'number' ? (value(name) as number) : null),
    value,
  };
}
