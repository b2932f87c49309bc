// SPDX-License-Identifier: Apache-2.0
// The one order of models and targets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Analysis, Target } from '../src/document.ts';
import { byCell, distinct, inOrder } from '../src/order.ts';
import { cell } from './cells.ts';

const targets = ['cpu', 'cpu@libtorch', 'openvino'].map((key) => ({ key }) as Target);

test('cells stand by category and model, then by target as C++ lists them, then by size', () => {
  const one = (model: string, target: string, batch_size: number, category = 'vision') =>
    cell({ key: `${model} ${target} ${batch_size}`, model, target, batch_size, category });
  const cells = [
    one('resnet50', 'openvino', 1),
    one('resnet101', 'cpu', 8),
    one('resnet50', 'cpu@libtorch', 1),
    one('resnet50', 'cpu', 16),
    one('resnet50', 'cpu', 4),
    one('whisper', 'cpu', 1, 'audio'),
    one('resnet50', 'npu', 1),
  ];
  assert.deepEqual(
    [...cells].sort(byCell(targets)).map(({ key }) => key),
    [
      'whisper cpu 1',
      'resnet50 cpu 4',
      'resnet50 cpu 16',
      'resnet50 cpu@libtorch 1',
      'resnet50 openvino 1',
      'resnet50 npu 1',
      'resnet101 cpu 8',
    ],
  );
});

test('of two cells that only their time tells apart the newer one stays first', () => {
  const cells = [cell({ key: 'newer', target: 'cpu' }), cell({ key: 'older', target: 'cpu' })];
  assert.deepEqual(
    cells.sort(byCell(targets)).map(({ key }) => key),
    ['newer', 'older'],
  );
});

test('answers that are lists of models and targets have the same order, and ranks stay', () => {
  const analysis = {
    models: [
      { model: 'vit', category: 'vision', machine: '' },
      { model: 'bert', category: 'text', machine: 'b' },
      { model: 'bert', category: 'text', machine: 'a' },
    ],
    choices: [
      { architecture: 'vit', category: 'vision', machine: '' },
      { architecture: 'clap', category: '', machine: '' },
    ],
    efficiency: [
      { target: 'openvino', category: 'a', machine: '' },
      { target: 'cpu', category: 'b', machine: '' },
    ],
    opportunities: [{ kind: 'z' }, { kind: 'a' }],
  } as unknown as Analysis;
  const found = inOrder(analysis, targets);
  assert.deepEqual(
    found.models.map(({ model, machine }) => model + machine),
    ['berta', 'bertb', 'vit'],
  );
  assert.deepEqual(
    found.choices.map(({ architecture }) => architecture),
    ['clap', 'vit'],
  );
  assert.deepEqual(
    found.efficiency.map(({ target }) => target),
    ['cpu', 'openvino'],
  );
  assert.deepEqual(found.opportunities, analysis.opportunities);
});

test('choices are listed words in their order, then others by name; numbers by size', () => {
  assert.deepEqual(distinct(['openvino', 'npu 10', 'npu 9', 'cpu'], ['cpu', 'openvino']), [
    'cpu',
    'openvino',
    'npu 9',
    'npu 10',
  ]);
  assert.deepEqual(distinct([16, 4, 4]), [4, 16]);
});
