// SPDX-License-Identifier: Apache-2.0
// A table as Markdown or CSV.
import type { Value } from './document.ts';
import { number } from './format.ts';
import type { Column } from './rows.ts';

export const plain = (value: Value) => (value === null ? '' : String(value));

export function toMarkdown<Row>(columns: Column<Row>[], rows: Row[]): string {
  const cell = (text: string) => text.replace(/\|/g, '\\|').replace(/\s+/g, ' ');
  const title = (column: Column<Row>) => cell(column.unit ? `${column.title} (${column.unit})` : column.title);
  const line = (parts: string[]) => `| ${parts.join(' | ')} |\n`;
  return (
    line(columns.map(title)) +
    line(columns.map((column) => (column.numeric ? '---:' : '---'))) +
    rows
      .map((row) =>
        line(
          columns.map((column) => {
            const value = column.value(row);
            return cell(
              typeof value !== 'number'
                ? plain(value)
                : column.unit || !Number.isInteger(value)
                  ? number(value, 4)
                  : String(value),
            );
          }),
        ),
      )
      .join('')
  );
}

/** RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe. */
export function toCsv<Row>(columns: Column<Row>[], rows: Row[]): string {
  const cell = (value: Value) => {
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : plain(value);
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  const line = (values: Value[]) => `${values.map(cell).join(',')}\r\n`;
  return (
    line(columns.map((column) => column.id)) +
    rows.map((row) => line(columns.map((column) => column.value(row)))).join('')
  );
}
