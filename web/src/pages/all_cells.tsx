// SPDX-License-Identifier: Apache-2.0
// Every cell; columns, filters and order are in the link.
import { useMemo } from 'preact/hooks';
import type { AssayDocument, Cell } from '../document.ts';
import { counted, number } from '../format.ts';
import { keysOf } from '../order.ts';
import { CellState, cellLink, Median, TargetName } from '../parts.tsx';
import { resultOf, shownValue } from '../results.ts';
import type { Column } from '../rows.ts';
import { changeQuery, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { stateOf, unrankedBecause } from '../words.ts';

type Ordered = Pick<AssayDocument, 'models' | 'targets'>;

const standardColumns = ({ models, targets }: Ordered): Column<Cell>[] => [
  { id: 'model', title: 'Model', choice: models, value: (cell) => cell.text('model') },
  {
    id: 'target',
    title: 'Target',
    choice: keysOf(targets),
    meaning: 'Hardware and runtime',
    value: (cell) => cell.target,
    view: (cell) => <TargetName cell={cell} />,
  },
  { id: 'machine', title: 'Machine', choice: true, value: (cell) => cell.text('machine') },
  { id: 'batch_size', title: 'Batch', choice: true, numeric: true, value: (cell) => cell.number('batch_size') },
  {
    id: 'sequence_length',
    title: 'Tokens',
    choice: true,
    numeric: true,
    meaning: 'Sequence length',
    value: (cell) => cell.number('sequence_length'),
  },
  { id: 'precision', title: 'Precision', choice: true, value: (cell) => cell.text('precision') },
  { id: 'state', title: 'State', choice: true, value: stateOf, view: (cell) => <CellState cell={cell} /> },
  {
    id: 'latency_p50_ms',
    title: 'Median',
    unit: 'ms',
    numeric: true,
    meaning: 'Median latency, with its 95 % interval; less is better',
    value: (cell) => resultOf(cell, 'latency_p50_ms'),
    view: (cell) => <Median cell={cell} />,
  },
  {
    id: 'throughput_ips',
    title: 'Items/s',
    numeric: true,
    meaning: 'Items over the time of all samples, so from the mean and not from the median; more is better',
    value: (cell) => resultOf(cell, 'throughput_ips'),
  },
  {
    id: 'memory_mb',
    title: 'Memory',
    unit: 'MB',
    numeric: true,
    meaning: 'Peak memory in the steady phase',
    value: (cell) => resultOf(cell, 'memory_mb'),
  },
  {
    id: 'reason',
    title: 'Note',
    meaning: 'Why it did not run, or is not ranked',
    value: (cell) => cell.text('message') || unrankedBecause(cell),
    view: (cell) => {
      const note = cell.text('message') || unrankedBecause(cell);
      return note ? (
        <small class="clip two-lines" title={note}>
          {note}
        </small>
      ) : (
        ''
      );
    },
  },
];

const standardIds = new Set(standardColumns({ models: [], targets: [] }).map((column) => column.id));

/**
 * Without those that say nothing: the precision if all have the same, tokens and notes if there are none; there is no
 * column for the machine if there is one only.
 */
export function columnsOf(document: Ordered, cells: Cell[]): Column<Cell>[] {
  const says = (column: Column<Cell>) => {
    const values = new Set(cells.map(column.value));
    return column.id === 'precision'
      ? values.size > 1
      : !['sequence_length', 'reason', 'machine'].includes(column.id) ||
          [...values].some((value) => value !== null && value !== '');
  };
  return standardColumns(document)
    .filter((column) => column.id !== 'machine' || says(column))
    .map((column) => (says(column) ? column : { ...column, hidden: true }));
}

export function AllCells({ document, route }: { document: AssayDocument; route: Route }) {
  const extra = (route.query.columns ?? '').split(',').filter(Boolean);
  const columns = useMemo(
    () => [
      ...columnsOf(document, document.cells),
      ...document.fields
        .filter((field) => extra.includes(field.name))
        .map(
          (field): Column<Cell> => ({
            id: field.name,
            title: field.name,
            unit: field.unit,
            meaning: field.meaning,
            value: (cell) => shownValue(cell, field),
            numeric: document.cells.some((cell) => typeof cell.value(field.name) === 'number'),
            view: (cell) => {
              const value = shownValue(cell, field);
              return typeof value === 'number' ? number(value) : <small class="clip">{value}</small>;
            },
          }),
        ),
    ],
    [document, extra.join(',')],
  );
  return (
    <>
      <h1>
        {counted(document.cells.length, 'cell')}:{' '}
        {counted(document.cells.filter((cell) => stateOf(cell) === 'verified').length, 'verified', 'verified')}
      </h1>
      <p class="note">
        A cell is one model on one target with one shape and precision. Its name leads to everything that is known of
        it.
      </p>
      <DataTable
        caption="All cells"
        noun="cell"
        columns={columns}
        rows={document.cells}
        route={route}
        search
        link={cellLink}
        tools={
          <label class="field">
            <span>Add a column</span>
            <select
              value=""
              onChange={(event) => changeQuery(route, { columns: [...extra, event.currentTarget.value].join(',') })}
            >
              <option value="">choose</option>
              {document.fields
                .filter((field) => !standardIds.has(field.name) && !extra.includes(field.name))
                .map((field) => (
                  <option key={field.name} value={field.name} title={field.meaning}>
                    {field.name}
                  </option>
                ))}
            </select>
          </label>
        }
      />
      {extra.length > 0 && (
        <p class="note">
          Added:{' '}
          {extra.map((name) => (
            <button
              key={name}
              type="button"
              class="small"
              onClick={() =>
                changeQuery(route, { columns: extra.filter((one) => one !== name).join(',') || undefined })
              }
            >
              {name} ✕
            </button>
          ))}
        </p>
      )}
    </>
  );
}
