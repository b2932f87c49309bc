// SPDX-License-Identifier: Apache-2.0
// The columns of a document: sections of bytes become values by row (src/show/dashboard/pack.hpp says how they are
// stored).
import type { Value } from './document.ts';

interface ColumnHeader {
  name: string;
  type: 'f64' | 'f32' | 'i32' | 'u16' | 'u8' | 'text' | 'value';
  at?: number;
  bytes?: number;
  value?: Value;
}

export interface TableHeader {
  n: number;
  columns: ColumnHeader[];
}

type Column = { at(row: number): Value };

const leastInt = -2147483648;
const widths = { f64: 8, f32: 4, i32: 4, u16: 2, u8: 1, text: 4 } as const;

/** Bytes by significance become bytes by row. */
export function unshuffle(bytes: Uint8Array, width: number): Uint8Array {
  if (width === 1) return bytes;
  const n = bytes.length / width;
  const result = new Uint8Array(bytes.length);
  for (let plane = 0; plane < width; plane++) {
    const from = plane * n;
    for (let row = 0; row < n; row++) result[row * width + plane] = bytes[from + row]!;
  }
  return result;
}

function readColumn(body: Uint8Array, header: ColumnHeader, texts: string[]): Column {
  if (header.type === 'value') {
    const value = header.value ?? null;
    return { at: () => value };
  }
  const bytes = unshuffle(body.subarray(header.at!, header.at! + header.bytes!), widths[header.type]);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  switch (header.type) {
    case 'text': {
      const indices = new Uint32Array(buffer);
      return { at: (row) => texts[indices[row]!] ?? '' };
    }
    case 'i32': {
      const numbers = new Int32Array(buffer);
      return { at: (row) => (numbers[row] === leastInt ? null : numbers[row]!) };
    }
    case 'u16': {
      const numbers = new Uint16Array(buffer);
      return { at: (row) => numbers[row]! };
    }
    case 'u8': {
      const numbers = new Uint8Array(buffer);
      return { at: (row) => numbers[row]! };
    }
    default: {
      const numbers = header.type === 'f64' ? new Float64Array(buffer) : new Float32Array(buffer);
      return { at: (row) => (Number.isFinite(numbers[row]) ? numbers[row]! : null) };
    }
  }
}

export class Columns {
  readonly n: number;
  private readonly columns = new Map<string, Column>();
  constructor(body: Uint8Array, header: TableHeader | undefined, texts: string[]) {
    this.n = header?.n ?? 0;
    for (const column of header?.columns ?? []) this.columns.set(column.name, readColumn(body, column, texts));
  }
  at(name: string, row: number): Value {
    return this.columns.get(name)?.at(row) ?? null;
  }
  number(name: string, row: number): number | null {
    const value = this.at(name, row);
    return typeof value === 'number' ? value : null;
  }
  text(name: string, row: number): string {
    const value = this.at(name, row);
    return typeof value === 'string' ? value : '';
  }
}
