// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run } from '../src/document.ts';
import { environmentDifferences, reasonsOf } from '../src/environments.ts';
import { factsOf } from '../src/machine_facts.ts';

const run = (given: Partial<Run>): Run => ({
  run_id: 'r',
  started: '',
  command: 'assay run',
  host: 'h',
  machine: 'm',
  tool_version: '1',
  git_commit: 'c',
  environment: null,
  cells: 1,
  score: null,
  ...given,
});

test('only what differs is said, of trees by its path, of assay doctor by what it looked at', () => {
  const a = run({
    environment: {
      governor: 'performance',
      doctor: {
        findings: [
          { item: 'governor', value: 'performance' },
          { item: 'load', value: '0.1' },
        ],
      },
      threads: 2,
    },
    tool_version: '1',
  });
  const b = run({
    environment: { governor: 'powersave', doctor: { findings: [{ item: 'load', value: '2' }] }, threads: 2 },
    tool_version: '2',
  });
  assert.deepEqual(environmentDifferences(a, b), {
    known: true,
    differences: [
      { what: 'version of assay', a: '1', b: '2' },
      { what: 'governor', a: 'performance', b: 'powersave' },
      { what: 'assay doctor: governor', a: 'performance', b: '' },
      { what: 'assay doctor: load', a: '0.1', b: '2' },
    ],
  });
  assert.deepEqual(environmentDifferences(a, a), { known: true, differences: [] });
});

test('a peak of the machine is told in its unit', () => {
  const peaks = (flops_per_s: number) =>
    run({
      environment: {
        governor: 'performance',
        peaks: [{ hardware: 'cpu', precision: 'float32', engine: 'openvino', flops_per_s }],
      },
    });
  assert.deepEqual(environmentDifferences(peaks(147802526062.48114), peaks(99e9)).differences, [
    { what: 'peak of cpu in float32 by openvino', a: '148 GFLOP/s', b: '99.0 GFLOP/s' },
  ]);
  assert.deepEqual(environmentDifferences(peaks(99e9), peaks(99e9 + 1)).differences, []);
});

test('machines and environments are told in words, with units', () => {
  const info = {
    platform: 'Linux',
    gpu_count: 1,
    gpus: [{ name: 'NVIDIA H100', memory_gb: 80, compute_capability: '9.0', driver: null }],
    memory_gb: 23.47,
    memory_mb: 23470,
    cpu_cores: 2,
    cuda_version: null,
    cuda_available: true,
    cpu: { numa_nodes: 1 },
  };
  assert.deepEqual(factsOf(info), [
    ['cores', '2'],
    ['memory', '23.5\u00a0GiB'],
    ['GPUs', '1'],
    ['models of the GPUs', 'NVIDIA H100, 80.0\u00a0GiB, compute capability 9.0'],
    ['CUDA usable', 'yes'],
    ['platform', 'Linux'],
    ['cpu, numa nodes', '1'],
  ]);
  assert.deepEqual(factsOf({ gpu_count: 0, gpus: [], nothing: null }), [['GPUs', '0']]);
  const found = (memory_gb: number, why: string) =>
    run({
      environment: {
        system_info: { memory_gb },
        available_hardware: {
          cpu: { available: true, devices: ['EPYC'] },
          cuda: { available: false, why, devices: [] },
        },
      },
    });
  assert.deepEqual(environmentDifferences(found(16, 'no driver'), found(24, 'no GPU')).differences, [
    { what: 'memory', a: '16.0\u00a0GiB', b: '24.0\u00a0GiB' },
    { what: 'hardware cuda', a: 'not usable: no driver', b: 'not usable: no GPU' },
  ]);
});

test('of a run without an environment nothing of it is called different', () => {
  const a = run({ environment: { governor: 'performance' }, score: 74, host: 'one' });
  assert.deepEqual(environmentDifferences(a, run({ host: 'two' })), {
    known: false,
    differences: [{ what: 'host', a: 'one', b: 'two' }],
  });
  assert.deepEqual(environmentDifferences(run({ environment: {} }), a).known, false);
});

test('what lowered the score of a run is said, the worst first, and what was ok is not', () => {
  const findings = [
    { item: 'swap', value: '12 MiB used', verdict: 'warn' },
    { item: 'clock_source', value: 'tsc', verdict: 'ok' },
    { item: 'memory_free', value: '0.9 GiB', verdict: 'bad' },
  ];
  assert.equal(
    reasonsOf(run({ environment: { doctor: { findings } } })),
    'bad memory free: 0.9 GiB; warn swap: 12 MiB used',
  );
  assert.equal(reasonsOf(run({})), '');
});
