// SPDX-License-Identifier: Apache-2.0
// The rows of a table: sorted, filtered, searched and paged by TanStack Table, as the link says.
import {
  columnFilteringFeature,
  constructTable,
  createFilteredRowModel,
  createPaginatedRowModel,
  createSortedRowModel,
  filterFns,
  globalFilteringFeature,
  rowPaginationFeature,
  rowSortingFeature,
  sortFns,
  tableFeatures,
} from '@tanstack/table-core';
import { storeReactivityBindings } from '@tanstack/table-core/store-reactivity-bindings';
import type { ComponentChildren } from 'preact';
import type { Value } from './document.ts';
import { byWord } from './order.ts';
import { plain } from './table_text.ts';

export interface Column<Row> {
  id: string;
  title: string;
  unit?: string;
  meaning?: string;
  /** What is sorted, searched, filtered and copied. */
  value: (row: Row) => Value;
  /** What is seen; else the value. */
  view?: (row: Row) => ComponentChildren;
  /**
   * A list of its values filters the rows: these first and in this order, also where the rows are sorted by them; the
   * others by name.
   */
  choice?: true | readonly string[];
  /** Only filters and is copied. */
  hidden?: boolean;
  /** Numbers stand right. */
  numeric?: boolean;
}

const features = tableFeatures({
  coreReactivityFeature: storeReactivityBindings(),
  columnFilteringFeature,
  globalFilteringFeature,
  rowSortingFeature,
  rowPaginationFeature,
  filteredRowModel: createFilteredRowModel(),
  sortedRowModel: createSortedRowModel(),
  paginatedRowModel: createPaginatedRowModel(),
  sortFns,
  filterFns,
});

export interface TableState {
  sort: { id: string; desc: boolean } | null;
  search: string;
  choices: Record<string, string>;
  page: number;
}

/** What the link says of the table `name`: its keys begin with the name. */
export function tableState(query: Record<string, string>, name: string): TableState {
  const sort = query[`${name}sort`] ?? '';
  const choices: Record<string, string> = {};
  const prefix = `${name}f.`;
  for (const [key, value] of Object.entries(query))
    if (key.startsWith(prefix)) choices[key.slice(prefix.length)] = value;
  return {
    sort: sort ? { id: sort.replace(/^-/, ''), desc: sort.startsWith('-') } : null,
    search: query[`${name}q`] ?? '',
    choices,
    page: Math.max(1, Number(query[`${name}p`] ?? 1) || 1),
  };
}

function listed<Row>({ choice, value }: Column<Row>) {
  const words = byWord(choice as readonly string[]);
  return (a: { original: Row }, b: { original: Row }) => words(plain(value(a.original)), plain(value(b.original)));
}

/** The rows that are seen, and all that match; sorted, filtered and paged. */
export function selectRows<Row extends object>(
  rows: Row[],
  columns: Column<Row>[],
  state: TableState,
  pageSize: number,
) {
  const table = constructTable<typeof features, Row>({
    features,
    data: rows,
    columns: columns.map((column) => ({
      id: column.id,
      // Absent values sort last in both directions.
      accessorFn: (row: Row) => column.value(row) ?? undefined,
      sortUndefined: 'last',
      sortFn: column.numeric ? 'basic' : Array.isArray(column.choice) ? listed(column) : 'alphanumeric',
      filterFn: 'equalsString',
    })),
    state: {
      sorting: state.sort && columns.some((column) => column.id === state.sort!.id) ? [state.sort] : [],
      globalFilter: state.search,
      columnFilters: Object.entries(state.choices)
        .filter(([id]) => columns.some((column) => column.id === id))
        .map(([id, value]) => ({ id, value })),
      pagination: { pageIndex: state.page - 1, pageSize },
    },
    globalFilterFn: 'includesString',
    getColumnCanGlobalFilter: () => true,
  });
  const originals = (model: { rows: { original: Row }[] }) => model.rows.map((row) => row.original);
  return { seen: originals(table.getRowModel()), matching: originals(table.getSortedRowModel()) };
}
