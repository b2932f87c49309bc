// SPDX-License-Identifier: Apache-2.0
// The opposite of src/read_document.ts, for tests: columns become a document as src/show/dashboard/pack.cpp writes it.

export type ColumnType = 'f64' | 'f32' | 'i32' | 'u16' | 'u8' | 'text';
type Value = string | number | null;

const widths = { f64: 8, f32: 4, i32: 4, u16: 2, u8: 1, text: 4 } as const;

function shuffle(bytes: Uint8Array, width: number): Uint8Array {
  const n = bytes.length / width;
  const result = new Uint8Array(bytes.length);
  for (let row = 0; row < n; row++)
    for (let plane = 0; plane < width; plane++) result[plane * n + row] = bytes[row * width + plane]!;
  return result;
}

export class DocumentWriter {
  readonly texts: string[] = [''];
  private readonly known = new Map([['', 0]]);
  private readonly sections: Uint8Array[] = [];
  private at = 0;

  section(bytes: Uint8Array): { at: number; bytes: number } {
    const place = { at: this.at, bytes: bytes.length };
    this.sections.push(bytes);
    this.at += bytes.length;
    return place;
  }

  codes(values: number[]): { at: number; bytes: number } {
    return this.section(shuffle(new Uint8Array(Uint16Array.from(values).buffer), 2));
  }

  private index(text: string): number {
    let index = this.known.get(text);
    if (index === undefined) {
      index = this.texts.length;
      this.texts.push(text);
      this.known.set(text, index);
    }
    return index;
  }

  column(name: string, type: ColumnType, values: Value[]): object {
    if (values.length > 0 && values.every((value) => value === values[0]))
      return { name, type: 'value', value: values[0] };
    const array =
      type === 'text'
        ? Uint32Array.from(values, (value) => this.index((value as string | null) ?? ''))
        : type === 'f64'
          ? Float64Array.from(values, (value) => (value as number | null) ?? NaN)
          : type === 'f32'
            ? Float32Array.from(values, (value) => (value as number | null) ?? NaN)
            : type === 'i32'
              ? Int32Array.from(values, (value) => (value as number | null) ?? -2147483648)
              : type === 'u16'
                ? Uint16Array.from(values as number[])
                : Uint8Array.from(values as number[]);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    return { name, type, ...this.section(shuffle(bytes, widths[type])) };
  }

  finish(header: object): Uint8Array {
    const encoder = new TextEncoder();
    let text = JSON.stringify({ schema: 'assay-dashboard 1', ...header, text: this.texts });
    text += ' '.repeat((8 - ((encoder.encode(text).length + 12) % 8)) % 8);
    const head = encoder.encode(text);
    const bytes = new Uint8Array(12 + head.length + this.at);
    bytes.set(encoder.encode('ASSAYDD1'));
    new DataView(bytes.buffer).setUint32(8, head.length, true);
    bytes.set(head, 12);
    let at = 12 + head.length;
    for (const section of this.sections) {
      bytes.set(section, at);
      at += section.length;
    }
    return bytes;
  }
}
