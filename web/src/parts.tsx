// SPDX-License-Identifier: Apache-2.0
// Small pieces that pages share.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AssayDocument, Cell, States } from './document.ts';
import { counted, number, plusMinus } from './format.ts';
import { resultOf } from './results.ts';
import { link } from './state.ts';
import { isUnreal, type State, stateOf, stateOrder, states } from './words.ts';

export { cellWords, shapeWords } from './cell_words.ts';

/** The class that sets the colour of a hardware; unknown ones are grey. */
export const hardwareClass = (hardware: string) => `hw hw-${hardware.replace(/[^a-z0-9]/g, '')}`;

/** "cpu" with its engine in small type, in the colour of the hardware. */
export function TargetName({ cell, bare }: { cell: Cell; bare?: boolean }) {
  const engine = cell.text('engine');
  return (
    <span
      class={`target ${hardwareClass(cell.text('hardware'))}`}
      title={`${engine} on ${cell.text('device_name') || cell.text('hardware')}`}
    >
      <span class={isUnreal(cell) ? 'swatch hatched' : 'swatch'} aria-hidden="true" />
      <span class="target-key">{cell.target}</span>
      {!bare && !cell.target.includes(engine) && <small>{engine}</small>}
    </span>
  );
}

/** The name of a target that only an analysis names. */
export function TargetKey({ document, target }: { document: AssayDocument; target: string }) {
  const known = document.targets.find((one) => one.key === target);
  return (
    <span class={`target ${hardwareClass(known?.hardware ?? target)}`}>
      <span class="swatch" aria-hidden="true" />
      <span class="target-key">{target}</span>
      {known && !target.includes(known.engine) && <small>{known.engine}</small>}
    </span>
  );
}

export function StateMark({ state, note }: { state: State; note?: string }) {
  return (
    <span class={`state state-${state}`} title={states[state].meaning + (note ? `\n${note}` : '')}>
      <span class="symbol" aria-hidden="true">
        {states[state].symbol}
      </span>{' '}
      {state}
    </span>
  );
}

/** "✓ 12 ≠ 1": the counts that are not zero. */
export function StateCounts({ counts }: { counts: States }) {
  return (
    <span class="counts">
      {stateOrder
        .filter((state) => counts[state] > 0)
        .map((state) => (
          <span
            key={state}
            class={`state state-${state}`}
            title={`${counted(counts[state], 'cell')} ${state}. ${states[state].meaning}`}
          >
            <span class="symbol" aria-hidden="true">
              {states[state].symbol}
            </span>
            <span class="sr">{state} </span>
            {counts[state]}
          </span>
        ))}
    </span>
  );
}

/** What changed since the run before: verdicts, what is new or gone, and moves beyond what earlier runs varied by. */
export const importantChanges = (document: AssayDocument) =>
  document.analysis.changes.last_run.filter(
    (change) =>
      ['newly_wrong', 'newly_failed', 'gone', 'fixed', 'new'].includes(change.what) ||
      (change.what === 'moved' && change.beyond_spread),
  );

/**
 * A sentence of C++; what stands in `backticks` is a command or a name, and no line ends within a number with its unit.
 */
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text
        .replace(/([\d±]) (?=[\d%]|ms\b|MB\b)/g, '$1\u00a0')
        .split('`')
        .map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}
    </>
  );
}

/** An earlier result has no page of its own: it is in the history of its series. */
export const cellLink = (cell: Cell) =>
  cell.earlier ? link('history', cell.text('series_key')) : link('cell', cell.key);

/** In the place of a number that is absent, or wrong. */
function NoResult({ cell }: { cell: Cell }) {
  const state = stateOf(cell);
  return (
    <span class="quiet" title={states[state].meaning}>
      {state === 'wrong' ? `${states.wrong.symbol} wrong` : '–'}
    </span>
  );
}

/** The median in ms with its interval: "4.00 ± 0.5 %". */
export function Median({ cell }: { cell: Cell }) {
  const p50 = resultOf(cell, 'latency_p50_ms');
  if (p50 === null) return <NoResult cell={cell} />;
  const interval = plusMinus(p50, cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms'));
  const one = cell.text('latency_p50_interval') === 'one_process';
  return (
    <span class="value">
      {number(p50)}{' '}
      {interval && (
        <small
          class={one ? 'hollow' : ''}
          title={
            one
              ? '95 % interval of the median within one process; another process may give another median'
              : '95 % interval of the median, over launches'
          }
        >
          {interval}
          {one ? ' (one process)' : ''}
        </small>
      )}
    </span>
  );
}

/** `of`: what a screen reader says is copied, where a page has several. */
export function Copy({ text, label = 'Copy', of }: { text: string | (() => string); label?: string; of?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    const value = typeof text === 'string' ? text : text();
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      const area = document.createElement('textarea');
      area.value = value;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-label={of && !done ? `${label}: ${of}` : undefined}>
      {done ? 'Copied' : label}
    </button>
  );
}

export function Section({
  id,
  title,
  note,
  children,
}: {
  id: string;
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** Name and value, one line each. Lines without a value are left out. */
export function Facts({ facts }: { facts: [string, ComponentChildren, string?][] }) {
  const shown = facts.filter(([, value]) => value !== '' && value !== null && value !== undefined && value !== '–');
  return (
    <dl class="facts">
      {shown.map(([name, value, meaning]) => (
        <div key={name} class={typeof value === 'string' && value.length > 44 ? 'long' : undefined}>
          <dt title={meaning}>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Select({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: (string | [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => {
          const [key, words] = typeof option === 'string' ? [option, option] : option;
          return (
            <option key={key} value={key}>
              {words}
            </option>
          );
        })}
      </select>
    </label>
  );
}

/** The state of a cell with its reason. */
export function CellState({ cell }: { cell: Cell }) {
  const reason = cell.text('reason_code');
  return <StateMark state={stateOf(cell)} note={[reason, cell.text('message')].filter(Boolean).join(': ')} />;
}
