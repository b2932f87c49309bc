// SPDX-License-Identifier: Apache-2.0
// Types of runtime.js, as far as the page uses it without ECharts.
export function formatNumber(value: number | null): string;
export function resolve(option: unknown, tokens: Record<string, string>, measure: (words: string, font: string) => number): any;
