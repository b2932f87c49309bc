// SPDX-License-Identifier: Apache-2.0
// Types of entry.mjs, as far as the page uses it.
export interface Drawn {
  setOption(option: unknown, how?: { notMerge?: boolean }): void;
  resize(size: { width: number; height: number }): void;
  on(event: 'click', handler: (event: { seriesIndex: number; dataIndex: number }) => void): void;
  renderToSVGString(): string;
  dispose(): void;
}
export function init(
  box: Element | null,
  theme: null,
  how: { renderer: 'svg'; ssr?: boolean; width: number; height: number },
): Drawn;
export { resolve } from './runtime.js';
