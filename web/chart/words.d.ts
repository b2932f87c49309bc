// SPDX-License-Identifier: Apache-2.0
// Types of words.js, as far as the page uses it.
/** The width of a text in pixels; `font` is a size: "12px". */
export type Measure = (words: string, font: string) => number;
export function formatNumber(value: number | null): string;
export function nameLines(name: string, width: number, font: string, measure: Measure): string[];
export function wrapped(words: string, width: number, font: string, measure: Measure): string[];
