// SPDX-License-Identifier: Apache-2.0
// Models by targets at one shape: how many times slower than the best of the row, or why there is no number.
import { useMemo } from 'preact/hooks';
import { CopyTable } from '../copy_table.tsx';
import type { AssayDocument } from '../document.ts';
import { count, counted, plainWords } from '../format.ts';
import { matrixHeading, matrixLines } from '../matrix_lines.ts';
import { filterOf, foldedGroups, foldText, isFiltered, matching, matrixColumns } from '../matrix_view.ts';
import { distinct } from '../order.ts';
import { Section, Select } from '../parts.tsx';
import { usePrinting } from '../print.ts';
import { changedLink, changeQuery, type Route } from '../state.ts';
import { Wide } from '../wide.tsx';
import { stateOrder, states } from '../words.ts';
import { MatrixTable } from './matrix_table.tsx';

/** What a link names, if anything has it. */
function chosen<T extends string | number>(
  named: string | undefined,
  values: T[],
  otherwise: T,
): { value: T; missing: string } {
  const found = values.find((value) => String(value) === named);
  return {
    value: found ?? otherwise,
    missing: named !== undefined && named !== '' && found === undefined ? named : '',
  };
}

export function Matrix({ document, route }: { document: AssayDocument; route: Route }) {
  const { query } = route;
  const batches = distinct(document.cells.flatMap((cell) => cell.number('batch_size') ?? []));
  const precisions = distinct(document.cells.map((cell) => cell.text('precision')));
  const lengths = distinct(document.cells.flatMap((cell) => cell.number('sequence_length') ?? []));
  const machines = distinct(document.cells.map((cell) => cell.text('machine')));
  const batch = chosen(query.batch, batches, batches[0] ?? 1);
  const precision = chosen(
    query.precision,
    precisions,
    precisions.includes('float32') ? 'float32' : (precisions[0] ?? ''),
  );
  const tokens = chosen<string>(query.tokens, lengths.map(String), '');
  const newest = document.cells.length > 0 ? document.cellAt(0) : undefined;
  const machine = chosen(query.machine, machines, newest?.text('machine') ?? '');
  const missing = [
    batch.missing && `batch ${batch.missing}`,
    precision.missing && `precision ${precision.missing}`,
    tokens.missing && `${tokens.missing} tokens`,
    machine.missing && `machine ${machine.missing}`,
  ].filter(Boolean);
  const lines = useMemo(
    () =>
      matrixLines(document.cells, {
        batch: batch.value,
        tokens: tokens.value === '' ? null : Number(tokens.value),
        precision: precision.value,
        machine: machine.value,
      }),
    [document, batch.value, tokens.value, precision.value, machine.value],
  );
  const targets = document.targets.filter((target) =>
    document.cells.some((cell) => cell.target === target.key && cell.text('machine') === machine.value),
  );
  const filter = filterOf(query);
  const filtered = isFiltered(filter);
  const seen = matching(lines, filter);
  const categories = distinct(lines.map((line) => line.category));
  const models = [...new Set(lines.map((line) => line.model))];
  const groups = [...new Set(seen.map((line) => line.category))];
  const printing = usePrinting();
  const folded = printing ? new Set<string>() : foldedGroups(query.fold, groups, seen.length, filtered);
  const fold = (next: ReadonlySet<string>) => changeQuery(route, { fold: foldText(next) });
  const columns = matrixColumns(targets);
  return (
    <>
      <h1>{seen.length === 0 && filtered ? 'No row matches this filter' : matrixHeading(seen, batch.value)}</h1>
      <div class="tools">
        <Select
          label="Batch"
          value={String(batch.value)}
          options={batches.map(String)}
          onChange={(value) => changeQuery(route, { batch: value })}
        />
        {lengths.length > 1 && (
          <Select
            label="Tokens"
            value={tokens.value}
            options={[['', 'shortest'], ...lengths.map((one): [string, string] => [String(one), String(one)])]}
            onChange={(value) => changeQuery(route, { tokens: value || undefined })}
          />
        )}
        <Select
          label="Precision"
          value={precision.value}
          options={precisions}
          onChange={(value) => changeQuery(route, { precision: value })}
        />
        {machines.length > 1 && (
          <Select
            label="Machine"
            value={machine.value}
            options={machines}
            onChange={(value) => changeQuery(route, { machine: value })}
          />
        )}
        {categories.length > 1 && (
          <Select
            label="Category"
            value={filter.category}
            options={[
              ['', 'all'],
              ...categories.filter((one) => one !== '').map((one): [string, string] => [one, plainWords(one)]),
            ]}
            onChange={(value) => changeQuery(route, { category: value || undefined })}
          />
        )}
        {models.length > 1 && (
          <Select
            label="Model"
            value={filter.model}
            options={[['', 'all'], ...models.map((one): [string, string] => [one, one])]}
            onChange={(value) => changeQuery(route, { model: value || undefined })}
          />
        )}
        {models.length > 1 && (
          <label class="field grow">
            <span>Search in the matrix</span>
            <input
              type="search"
              value={filter.search}
              placeholder="model, category, target"
              onInput={(event) => changeQuery(route, { q: event.currentTarget.value || undefined }, true)}
            />
          </label>
        )}
        {groups.length > 1 && (
          <span class="tools-end">
            {folded.size < groups.length && (
              <button type="button" class="small" onClick={() => fold(new Set(groups))}>
                Fold all
              </button>
            )}
            {folded.size > 0 && (
              <button type="button" class="small" onClick={() => fold(new Set())}>
                Unfold all
              </button>
            )}
          </span>
        )}
      </div>
      {filtered && (
        <p class="note" aria-live="polite">
          {count(seen.length)} of {counted(lines.length, 'row')}{' '}
          <a href={changedLink(route, { q: undefined, category: undefined, model: undefined })}>Show all</a>
        </p>
      )}
      {missing.length > 0 && <p class="note">The link names {missing.join(', ')}, which no cell has.</p>}
      {machine.value !== '' && (
        <p class="note">Times of {machine.value}; those of other machines are not compared with them.</p>
      )}
      <p class="note">
        The lowest ranked median of a row is framed and shown in ms; the others say how many times as long they take, or
        are in ms where the row has no ranked one. Bold, and a solid frame: the difference is shown; else it may be
        chance. In brackets: not ranked; with {states.wrong.symbol}: its runtime computes wrong numbers for the model. A
        symbol says why there is no number. Cells of a model that are not comparable, since more differs than the
        target, have a row each.
      </p>
      {folded.size > 0 && (
        <p class="note">A folded group says for how many of its rows a target is shown to be the fastest.</p>
      )}
      <Wide noun="target">
        <MatrixTable document={document} lines={seen} targets={targets} folded={folded} onFold={fold} />
      </Wide>
      <CopyTable name="the matrix" columns={columns.seen} csv={columns.csv} rows={seen} />
      <Section id="legend" title="Symbols">
        <p class="legend">
          <span class="heat-0 key">1×</span>
          <span class="heat-3 key">2×</span>
          <span class="heat-6 key">5×</span>
          <span class="heat-9 key">10×</span>
          <span>
            <span class="hatched-cell key">
              <span>hatched</span>
            </span>{' '}
            simulated, or emulated in software
          </span>
          {stateOrder
            .filter((state) => state !== 'verified')
            .map((state) => (
              <span key={state} class={`state state-${state}`} title={states[state].meaning}>
                <span class="symbol">{states[state].symbol}</span> {state}
              </span>
            ))}
        </p>
      </Section>
    </>
  );
}
