// SPDX-License-Identifier: Apache-2.0
// The buttons that copy a table as Markdown and as CSV; DataTable has its own for the rows that match.
import type { Value } from './document.ts';
import { Copy } from './parts.tsx';
import type { Column } from './rows.ts';
import { toCsv, toMarkdown } from './table_text.ts';

/** `name`: of the table, for a screen reader. `csv`: other columns than those of Markdown. */
export function CopyTable<Row>({
  name,
  columns,
  csv = columns,
  rows,
}: {
  name: string;
  columns: Column<Row>[];
  csv?: Column<Row>[];
  rows: Row[];
}) {
  return (
    <p class="copy-table">
      <Copy text={() => toMarkdown(columns, rows)} label="Copy as Markdown" of={name} />
      <Copy text={() => toCsv(csv, rows)} label="Copy as CSV" of={name} />
    </p>
  );
}

/** Columns of rows that are lists of values. */
export function listColumns(heads: readonly { title: string; unit?: string; numeric?: boolean }[]): Column<Value[]>[] {
  return heads.map(({ title, unit, numeric }, i) => ({
    id:
      [title, unit]
        .filter(Boolean)
        .join(' ')
        .toLowerCase()
        .replace(/[^a-z0-9%]+/g, '_')
        .replace(/^_|_$/g, '') || 'name',
    title,
    unit,
    numeric,
    value: (row) => row[i] ?? null,
  }));
}
