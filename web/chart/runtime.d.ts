// SPDX-License-Identifier: Apache-2.0
// Types of runtime.js, as far as the page uses it without ECharts.
import type { Measure } from './words.js';
export function resolve(option: unknown, tokens: Record<string, string>, measure: Measure): any;
