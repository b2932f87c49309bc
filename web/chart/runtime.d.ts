// SPDX-License-Identifier: Apache-2.0
// Types of runtime.js, as far as the page uses it without ECharts.
import type { Measure } from './words.js';
/** An option of ECharts, or a part of one. */
// biome-ignore lint/suspicious/noExplicitAny: An option is JSON, and each kind of chart has other parts in it.
export type Option = any;
export function resolve(option: Option, tokens: Record<string, string>, measure: Measure): Option;
