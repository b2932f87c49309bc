// SPDX-License-Identifier: Apache-2.0
// Why something is not there, and which command brings it.
import type { AssayDocument } from './document.ts';
import { counted } from './format.ts';

type Document = Pick<AssayDocument, 'missingCharts' | 'chartsLeftOut'>;

/**
 * "No generation was measured: `assay run` measures it." of what C++ says of a chart without data; '' if it is not
 * missing.
 */
export function missingWords(document: Document, kind: string): string {
  const words = document.missingCharts[kind]?.missing ?? '';
  return words && `${words[0]!.toUpperCase()}${words.slice(1)}.`;
}

/** '' if none was left out. */
export function leftOutWords({ chartsLeftOut }: Document): string {
  if (chartsLeftOut === 0) return '';
  const are = `${counted(chartsLeftOut, 'chart')} ${chartsLeftOut === 1 ? 'is' : 'are'}`;
  return `${are} not in this file, to keep it small: \`assay serve\` shows everything.`;
}

/** `why`: the most frequent reason. */
export const nothingRanked = (why: string) =>
  [
    `No result is ranked${why ? `: ${why}` : ''}.`,
    '`assay run --launches 5` measures each cell in more processes;',
    '`assay doctor` says what disturbs this machine.',
  ].join(' ');
