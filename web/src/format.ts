// SPDX-License-Identifier: Apache-2.0
// Numbers and times as text: three significant digits, thin thousands separators, absent as a dash.

const thin = '\u2009';

/** 1234.5 → "1 230", 0.01234 → "0.0123": that many significant digits, no exponent between 1e-6 and 1e9. */
export function number(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-6) return value.toExponential(digits - 1);
  const rounded = Number(value.toPrecision(digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  const [whole, part] = rounded.toFixed(decimals).split('.') as [string, string | undefined];
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, thin);
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** "text encoders" of "text_encoders". */
export const plainWords = (name: string) => name.replaceAll('_', ' ');

/** A count, in full. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, thin);
}

/** "1 cell", "2 cells". */
export function counted(
  n: number,
  noun: string,
  plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : noun.endsWith('s') ? noun : `${noun}s`,
): string {
  return `${count(n)} ${n === 1 ? noun : plural}`;
}

export const withUnit = (value: number | null | undefined, unit: string) =>
  value === null || value === undefined ? '–' : unit === '' ? number(value) : `${number(value)}\u00a0${unit}`;

/** Whole numbers without a unit are counts. */
export const fieldText = (value: number, unit: string) =>
  unit === '' && Number.isInteger(value) ? count(value) : withUnit(value, unit);

/** A ratio of times: "1.36×", "12×". */
export const ratio = (value: number | null | undefined) =>
  value === null || value === undefined ? '–' : `${value < 9.995 ? value.toFixed(2) : number(value)}×`;

/** "+1.2 %" of 0.012. */
export function signedPercent(share: number): string {
  const size = Math.abs(share) * 100;
  return size < 0.05 ? '0 %' : `${share < 0 ? '−' : '+'}${size < 10 ? size.toFixed(1) : number(size)} %`;
}

/** "2026-03-02 12:00" of an ISO time in UTC or of seconds since 1970. */
export function when(time: string | number): string {
  const text = typeof time === 'number' ? new Date(time * 1000).toISOString() : time;
  return text.replace('T', ' ').replace(/(:\d\d)(:\d\d)?(\.\d+)?(Z|\+00:00)?$/, '$1');
}

/** The half width of an interval over the value: "± 1.2 %". */
export function plusMinus(value: number | null, low: number | null, high: number | null): string {
  if (value === null || low === null || high === null || !(value > 0)) return '';
  const share = (Math.max(value - low, high - value) / value) * 100;
  return `±\u00a0${share < 0.095 ? '<\u2009' : ''}${share < 0.095 ? '0.1' : Number(share.toPrecision(2))}\u00a0%`;
}
