// SPDX-License-Identifier: Apache-2.0
// A table that sorts, filters, searches, pages and copies; what it shows is in the link.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { distinctKeys } from './distinct_keys.ts';
import { count, counted, fieldText, number } from './format.ts';
import { useNarrow } from './narrow.ts';
import { distinct } from './order.ts';
import { Copy } from './parts.tsx';
import { usePrinting } from './print.ts';
import { type Column, selectRows, tableState } from './rows.ts';
import { changedLink, changeQuery, type Route } from './state.ts';
import { plain, toCsv, toMarkdown } from './table_text.ts';

const fewCards = 10;

/** Arrow keys move the focus between cells, Home and End to the ends of a row; Enter follows the link of the row. */
export function moveFocus(event: KeyboardEvent) {
  const cell = (event.target as HTMLElement).closest<HTMLElement>('td,th');
  if (!cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const row = cell.parentElement as HTMLTableRowElement;
  const rows = [...row.closest('table')!.rows];
  const at = rows.indexOf(row);
  const column = [...row.cells].indexOf(cell as HTMLTableCellElement);
  if (event.key === 'Enter' && event.target === cell) {
    ((cell.querySelector('a,button') as HTMLElement | null) ?? (row.querySelector('a') as HTMLElement | null))?.click();
    return;
  }
  // A row that is one cell, of a group, is passed over.
  const beside = (step: number) => {
    let next = at + step;
    while (rows[next] && !rows[next]!.cells[column]) next += step;
    return rows[next]?.cells[column];
  };
  const to =
    event.key === 'ArrowDown'
      ? beside(1)
      : event.key === 'ArrowUp'
        ? beside(-1)
        : event.key === 'ArrowRight'
          ? row.cells[column + 1]
          : event.key === 'ArrowLeft'
            ? row.cells[column - 1]
            : event.key === 'Home'
              ? row.cells[0]
              : event.key === 'End'
                ? row.cells[row.cells.length - 1]
                : undefined;
  if (!to) return;
  event.preventDefault();
  for (const other of row.closest('table')!.querySelectorAll('[tabindex="0"]')) other.setAttribute('tabindex', '-1');
  to.setAttribute('tabindex', '0');
  to.focus();
}

export function DataTable<Row extends object>({
  name = '',
  caption,
  columns,
  rows,
  route,
  pageSize = 50,
  search,
  link,
  tools,
  noun = 'row',
  empty,
}: {
  name?: string;
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  route: Route;
  pageSize?: number;
  search?: boolean;
  link?: (row: Row) => string;
  tools?: ComponentChildren;
  noun?: string;
  /** Without any row: why, and what to do. */
  empty?: ComponentChildren;
}) {
  const state = tableState(route.query, name);
  const key = JSON.stringify(state);
  const printing = usePrinting();
  const { seen: onPage, matching } = useMemo(
    () => selectRows(rows, columns, state, pageSize),
    [rows, columns, key, pageSize],
  );
  // On a phone a row is as tall as a card: a few at a time, and more on request.
  const narrow = useNarrow();
  const [most, setMost] = useState(fewCards);
  useEffect(() => setMost(fewCards), [key]);
  const seen = printing ? matching : narrow ? onPage.slice(0, most) : onPage;
  const table = useRef<HTMLTableElement>(null);
  /** Keys of this table as those of the link; a change leads to the first page. */
  const named = (changes: Record<string, string | undefined>) =>
    Object.fromEntries(Object.entries({ p: undefined, ...changes }).map(([id, value]) => [name + id, value]));
  const change = (changes: Record<string, string | undefined>, replace = false) =>
    changeQuery(route, named(changes), replace);
  const unfiltered = {
    q: undefined,
    ...Object.fromEntries(Object.keys(state.choices).map((id) => [`f.${id}`, undefined])),
  };
  const choices = columns
    .filter((column) => column.choice)
    .map((column) => ({
      column,
      values: distinct(
        rows.map((row) => plain(column.value(row))),
        column.choice === true ? [] : column.choice,
      ),
    }))
    .filter(({ column, values }) => values.length > 1 || state.choices[column.id]);
  const visible = columns.filter((column) => !column.hidden);
  const keys = distinctKeys(seen.map((row, at) => (link ? link(row) : String(at))));
  const pages = Math.max(1, Math.ceil(matching.length / pageSize));
  const filtered = state.search !== '' || Object.keys(state.choices).length > 0;
  const sortBy = (column: Column<Row>) => {
    const mine = state.sort?.id === column.id;
    change({ sort: !mine ? column.id : state.sort!.desc ? undefined : `-${column.id}` });
  };
  return (
    <div class="table">
      <div class="tools">
        {search && (
          <label class="field grow">
            <span>Search in this table</span>
            <input
              type="search"
              value={state.search}
              placeholder="model, runtime, reason"
              onInput={(event) => change({ q: event.currentTarget.value || undefined }, true)}
            />
          </label>
        )}
        {choices.map(({ column, values }) => (
          <label key={column.id} class="field">
            <span>{column.title}</span>
            <select
              value={state.choices[column.id] ?? ''}
              onChange={(event) => change({ [`f.${column.id}`]: event.currentTarget.value || undefined })}
            >
              <option value="">all</option>
              {values.map((value) => (
                <option key={value} value={value}>
                  {value === '' ? '(none)' : value}
                </option>
              ))}
            </select>
          </label>
        ))}
        {tools}
        <span class="tools-end">
          <Copy text={() => toMarkdown(columns, matching)} label="Copy as Markdown" />
          <Copy text={() => toCsv(columns, matching)} label="Copy as CSV" />
        </span>
      </div>
      <p class="note" aria-live="polite">
        {filtered ? `${count(matching.length)} of ${counted(rows.length, noun)}` : counted(rows.length, noun)}
        {filtered && (
          <>
            {' '}
            <a href={changedLink(route, named(unfiltered))}>Show all</a>
          </>
        )}
      </p>
      <div class="scroll">
        <table ref={table} class="cards" role="grid" aria-label={caption} onKeyDown={moveFocus}>
          <thead>
            <tr role="row">
              {visible.map((column) => (
                <th
                  key={column.id}
                  scope="col"
                  role="columnheader"
                  class={column.numeric ? 'numeric' : ''}
                  title={column.meaning}
                  aria-sort={state.sort?.id === column.id ? (state.sort.desc ? 'descending' : 'ascending') : 'none'}
                >
                  <button type="button" class="plain" onClick={() => sortBy(column)}>
                    {column.title}
                    {column.unit && <small> {column.unit}</small>}
                    <span class="arrow" aria-hidden="true">
                      {state.sort?.id === column.id ? (state.sort.desc ? ' ▼' : ' ▲') : ''}
                    </span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {seen.map((row, at) => (
              <tr role="row" key={keys[at]}>
                {visible.map((column, i) => {
                  const value = column.value(row);
                  const shown = column.view
                    ? column.view(row)
                    : typeof value === 'number'
                      ? column.unit
                        ? number(value)
                        : fieldText(value, '')
                      : (value ?? '–');
                  return (
                    <td
                      key={column.id}
                      role="gridcell"
                      data-title={column.unit ? `${column.title} (${column.unit})` : column.title}
                      tabIndex={at === 0 && i === 0 ? 0 : -1}
                      class={column.numeric ? 'numeric' : ''}
                    >
                      {i === 0 && link ? <a href={link(row)}>{shown}</a> : shown}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
        {seen.length === 0 && (
          <p class="empty">{filtered ? `No ${noun} matches this filter.` : (empty ?? `There is no ${noun}.`)}</p>
        )}
      </div>
      {narrow && !printing && seen.length < onPage.length && (
        <p class="more">
          <button type="button" onClick={() => setMost(most + fewCards)}>
            Show {Math.min(fewCards, onPage.length - seen.length)} more
          </button>{' '}
          <span class="quiet">
            {seen.length} of {counted(onPage.length, noun)}
            {pages > 1 && ' of this page'}
          </span>
        </p>
      )}
      {pages > 1 && (
        <nav class="pages" aria-label={`Pages of ${caption}`}>
          <button type="button" disabled={state.page <= 1} onClick={() => change({ p: String(state.page - 1) })}>
            Previous
          </button>
          <span>
            Page {state.page} of {pages}
          </span>
          <button type="button" disabled={state.page >= pages} onClick={() => change({ p: String(state.page + 1) })}>
            Next
          </button>
        </nav>
      )}
    </div>
  );
}
