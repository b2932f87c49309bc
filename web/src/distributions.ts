// SPDX-License-Identifier: Apache-2.0
// The samples of launches: their quantiles and bins over time from 16-bit codes.
import { Columns, type TableHeader, unshuffle } from './columns.ts';
import type { Distribution } from './document.ts';

/** A duration in milliseconds from its 16-bit logarithmic code (history/store/shape_codec.hpp). */
export function decodeMs(code: number, lowNs: number, highNs: number): number {
  if (!(highNs > lowNs)) return lowNs / 1e6;
  return (lowNs * Math.exp((code / 65535) * Math.log(highNs / lowNs))) / 1e6;
}

interface Section {
  at: number;
  bytes: number;
}

interface DistributionsHeader {
  distributions?: TableHeader;
  quantiles?: Section;
  bins?: Section;
}

export function readDistributions(
  body: Uint8Array,
  header: DistributionsHeader,
  texts: string[],
): Map<number, Distribution[]> {
  const table = new Columns(body, header.distributions, texts);
  const codes = (section: Section | undefined) => {
    if (!section) return new Uint16Array();
    const bytes = unshuffle(body.subarray(section.at, section.at + section.bytes), 2);
    return new Uint16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  };
  const quantiles = codes(header.quantiles);
  const bins = codes(header.bins);
  let q = 0;
  let b = 0;
  const take = (from: Uint16Array, at: number, n: number) => {
    const result: number[] = [];
    let last = 0;
    for (let i = 0; i < n; i++) {
      last = (last + from[at + i]!) & 0xffff;
      result.push(last);
    }
    return result;
  };
  const result = new Map<number, Distribution[]>();
  for (let row = 0; row < table.n; row++) {
    const low = table.number('low_ns', row) ?? 0;
    const high = table.number('high_ns', row) ?? 0;
    const k = table.number('quantiles', row) ?? 0;
    const n = table.number('bins', row) ?? 0;
    const ms = (code: number) => decodeMs(code, low, high);
    const shapeQuantiles = take(quantiles, q, k).map(ms);
    q += k;
    const [mins, medians, maxs] = [0, 1, 2].map((part) => take(bins, b + part * n, n)) as [
      number[],
      number[],
      number[],
    ];
    b += 3 * n;
    const distribution: Distribution = {
      launch: table.number('launch', row) ?? 1,
      kind: table.number('kind', row) ?? 0,
      samples: table.number('samples', row) ?? 0,
      steady: table.number('steady', row) ?? 0,
      windowSeconds: (table.number('window_ns', row) ?? 0) / 1e9,
      firstSteadyBin: table.number('first_steady_bin', row) ?? 0,
      quantiles: shapeQuantiles,
      bins: mins.map((min, i) =>
        min > maxs[i]! ? null : { min: ms(min), median: ms(medians[i]!), max: ms(maxs[i]!) },
      ),
    };
    const cell = table.number('cell', row) ?? 0;
    const list = result.get(cell);
    if (list) list.push(distribution);
    else result.set(cell, [distribution]);
  }
  return result;
}
