// SPDX-License-Identifier: Apache-2.0
// What should I use, how sure is that, what is broken, what changed?
import type { AssayDocument, Best, Cell, Change, ModelLine } from '../document.ts';
import { count, counted, plainWords, plusMinus, when, withUnit } from '../format.ts';
import { logarithmic, Marks, Point, spanLog } from '../marks.tsx';
import { keysOf } from '../order.ts';
import { headline, higherUnranked, modelCount, notVerified, stateWords } from '../overview_words.ts';
import {
  cellLink,
  cellWords,
  importantChanges,
  Prose,
  Section,
  StateCounts,
  StateMark,
  shapeWords,
  TargetKey,
  TargetName,
} from '../parts.tsx';
import { resultOf } from '../results.ts';
import type { Column } from '../rows.ts';
import { changeQuery, link, linkOf, type Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { isUnreal, nothingChanged, type State, unrankedBecause, whyUnranked } from '../words.ts';

function Sure({ best }: { best: Best }) {
  if (best.claimed)
    return (
      <span class="sure shown" title="The launches of both, compared round by round, show the difference.">
        shown
      </span>
    );
  if (best.runner_up_target === '') return <span class="sure only">one choice</span>;
  return (
    <span class="sure open" title="What was measured does not show a difference.">
      not shown
    </span>
  );
}

/** A higher throughput that is not ranked. */
function Higher({ document, line }: { document: AssayDocument; line: ModelLine }) {
  const higher = higherUnranked(document.cells, line);
  return higher ? (
    <a class="under" href={cellLink(higher)} title={`${higher.target}: not ranked: ${unrankedBecause(higher)}`}>
      <small>
        {withUnit(higher.number('throughput_ips'), '')} at {shapeWords(higher)}, not ranked
      </small>
    </a>
  ) : null;
}

/** The medians of all targets of a model at one cell, on one logarithmic scale. */
function Strip({ document, cell }: { document: AssayDocument; cell: Cell }) {
  const same = document.cells.filter(
    (other) => other.number('comparable') === cell.number('comparable') && resultOf(other, 'latency_p50_ms') !== null,
  );
  const ends = same.flatMap((other) =>
    ['latency_p50_ms', 'latency_p50_low_ms', 'latency_p50_high_ms'].map((name) => other.number(name) ?? 0),
  );
  const place = logarithmic(spanLog(ends, 0.08));
  const markers = new Map(document.targets.map((target) => [target.key, target.marker]));
  const words = same.map((other) => `${other.target} ${withUnit(other.number('latency_p50_ms'), 'ms')}`).join(', ');
  return (
    <Marks label={`Medians, less is better: ${words}`}>
      <line class="axis" x1="0%" x2="100%" y1={15} y2={15} />
      {same.map((other) => {
        const low = other.number('latency_p50_low_ms');
        const high = other.number('latency_p50_high_ms');
        const median = withUnit(other.number('latency_p50_ms'), 'ms');
        return (
          <g key={other.key} class={`hw hw-${other.text('hardware')}`}>
            <Point
              at={place(other.number('latency_p50_ms')!)}
              low={low && place(low)}
              high={high && place(high)}
              marker={markers.get(other.target)!}
              crossed={isUnreal(other)}
              hollow={!other.ranked || other.text('latency_p50_interval') === 'one_process'}
              title={`${other.target}: ${median}${other.ranked ? '' : ' (not ranked)'}`}
            />
          </g>
        );
      })}
    </Marks>
  );
}

function modelColumns(document: AssayDocument): Column<ModelLine>[] {
  const cellAt = (index: number | null) => (index === null ? null : document.cellAt(index));
  const cell = (best: Best | null) => cellAt(best?.cell ?? null);
  const shapeOf = (best: Best) => {
    const known = cell(best);
    return known ? shapeWords(known) : best.shape;
  };
  const name = (index: number | null, target: string) => {
    const known = cellAt(index);
    return known ? <TargetName cell={known} /> : <TargetKey document={document} target={target} />;
  };
  return [
    {
      id: 'model',
      title: 'Model',
      value: (line) => line.model,
      view: (line) => (
        <>
          <span class="model-name">{line.model}</span>{' '}
          <small class="under">
            {plainWords(line.category)}
            {line.size && line.size !== 'as_is' ? `, ${line.size}` : ''}
          </small>
        </>
      ),
    },
    ...(document.analysis.models.some((line) => line.machine !== '')
      ? [{ id: 'machine', title: 'Machine', choice: true as const, value: (line: ModelLine) => line.machine }]
      : []),
    { id: 'category', title: 'Category', choice: true, hidden: true, value: (line) => plainWords(line.category) },
    {
      id: 'use',
      title: 'Use for latency',
      choice: keysOf(document.targets),
      meaning: 'The target with the lowest median, where the difference is shown',
      value: (line) =>
        !line.latency
          ? line.states.verified > 0
            ? 'nothing ranked'
            : 'nothing verified'
          : line.latency.claimed || line.latency.runner_up_target === ''
            ? line.latency.target
            : `${line.latency.target} or ${line.latency.runner_up_target}`,
      view: (line) => {
        if (!line.latency && line.states.verified > 0)
          return (
            <span class="quiet">
              nothing ranked:{' '}
              {whyUnranked(
                document.cells.filter(
                  (one) => one.text('model') === line.model && one.text('machine') === line.machine,
                ),
              ) || 'no time'}
            </span>
          );
        if (!line.latency) return <span class="quiet">nothing verified: {stateWords(line.states)}</span>;
        const { latency } = line;
        return (
          <span class="use">
            {name(latency.cell, latency.target)}
            {!latency.claimed && latency.runner_up_target && (
              <>
                <span class="quiet"> or </span>
                {name(latency.runner_up, latency.runner_up_target)}
              </>
            )}
          </span>
        );
      },
    },
    {
      id: 'latency',
      title: 'Median',
      unit: 'ms',
      numeric: true,
      meaning: 'Median latency of the target on the left at the shape below it; less is better',
      value: (line) => line.latency?.p50_ms ?? null,
      view: (line) => {
        const best = cell(line.latency);
        if (!line.latency) return '–';
        const { p50_ms: p50 } = line.latency;
        const under = <small class="under">{shapeOf(line.latency)}</small>;
        if (!best)
          return (
            <span class="stack">
              <span title="The cell is not in this file">{withUnit(p50, '')}</span>
              {under}
            </span>
          );
        return (
          <span class="stack">
            <a class="split" href={cellLink(best)}>
              <span>{withUnit(p50, '')}</span>{' '}
              <small>{plusMinus(p50, best.number('latency_p50_low_ms'), best.number('latency_p50_high_ms'))}</small>
            </a>
            {under}
          </span>
        );
      },
    },
    {
      id: 'shape',
      title: 'Shape of median and memory',
      hidden: true,
      value: (line) => (line.latency ? shapeOf(line.latency) : ''),
    },
    {
      id: 'sure',
      title: 'How sure',
      choice: true,
      value: (line) =>
        !line.latency
          ? ''
          : line.latency.claimed
            ? 'shown'
            : line.latency.runner_up_target === ''
              ? 'one choice'
              : 'not shown',
      view: (line) =>
        line.latency ? (
          <span>
            <Sure best={line.latency} />{' '}
            <small>
              <Prose text={line.latency.words} />
            </small>
          </span>
        ) : (
          <span class="quiet">–</span>
        ),
    },
    {
      id: 'targets',
      title: 'All targets',
      unit: 'less is left',
      meaning:
        'Medians with intervals on a logarithmic scale, less is better; hollow: not ranked, or one process; ' +
        'crossed: simulated, or emulated in software',
      value: () => null,
      view: (line) => {
        const best = cell(line.latency);
        return best ? <Strip document={document} cell={best} /> : '';
      },
    },
    {
      id: 'throughput',
      title: 'Most items/s',
      numeric: true,
      meaning:
        'The highest ranked throughput of all shapes, with its target and shape; below it a higher one that is not ranked',
      value: (line) => line.throughput?.throughput_ips ?? null,
      view: (line) => {
        if (!line.throughput) return '–';
        const best = cell(line.throughput);
        const { throughput_ips, target, words } = line.throughput;
        const under = <small class="under">{shapeOf(line.throughput)}</small>;
        if (!best)
          return (
            <span class="stack">
              <span title="The cell is not in this file">
                {withUnit(throughput_ips, '')} <small>{target}</small>
              </span>
              {under}
            </span>
          );
        return (
          <span class="stack">
            <a class="split" href={cellLink(best)} title={words}>
              <span>{withUnit(throughput_ips, '')}</span> <small>{target}</small>
            </a>
            {under}
            <span class="under">
              <Sure best={line.throughput} />
            </span>
            <Higher document={document} line={line} />
          </span>
        );
      },
    },
    {
      id: 'throughput_shape',
      title: 'Most items/s, target and shape',
      hidden: true,
      value: (line) => (line.throughput ? `${line.throughput.target}, ${shapeOf(line.throughput)}` : ''),
    },
    {
      id: 'throughput_sure',
      title: 'Most items/s, how sure',
      hidden: true,
      value: (line) => line.throughput?.words ?? '',
    },
    {
      id: 'memory',
      title: 'Least memory',
      unit: 'MB',
      numeric: true,
      meaning: 'The lowest peak at the shape of the median; that others need more is not claimed',
      value: (line) => line.least_memory_mb,
      view: (line) => {
        const best = cellAt(line.least_memory);
        if (!best && line.least_memory_mb !== null)
          return (
            <span title="The cell is not in this file">
              {withUnit(line.least_memory_mb, '')} <small>{line.least_memory_target}</small>
            </span>
          );
        return best ? (
          <a class="split" href={cellLink(best)}>
            <span>{withUnit(best.number('memory_mb'), '')}</span> <small>{best.target}</small>
          </a>
        ) : (
          '–'
        );
      },
    },
    {
      id: 'cells',
      title: 'Cells',
      meaning: 'Cells of this model by state',
      value: (line) => line.states.wrong * 1000 + line.states.failed,
      view: (line) => <StateCounts counts={line.states} />,
    },
  ];
}

const changeWords: Record<string, string> = {
  newly_wrong: 'newly wrong',
  newly_failed: 'newly failed',
  gone: 'gone',
  fixed: 'fixed',
  moved: 'moved',
  new: 'new',
  not_comparable: 'not compared',
  version: 'other version',
};

/** A value that differs, but not beyond what earlier runs varied by, or too few runs show what that is. */
const isOnlyOther = (change: Change) => change.what === 'moved' && !change.beyond_spread;

/** The first part says what changed and leads to the cell; the others say how sure that is. */
function ChangeWords({ document, change }: { document: AssayDocument; change: Change }) {
  const [what, ...rest] = change.words.split('; ');
  return (
    <>
      {change.cell === null ? what : <a href={cellLink(document.cellAt(change.cell))}>{what}</a>}
      {rest.length > 0 && <small>; {rest.join('; ')}</small>}
    </>
  );
}

function ChangeList({ document, changes }: { document: AssayDocument; changes: Change[] }) {
  const order = [...changes].sort((a, b) => Number(isOnlyOther(a)) - Number(isOnlyOther(b)));
  return (
    <ul class="changes">
      {order.map((change, i) => (
        <li key={i} class={`change change-${change.what}`}>
          <span class="tag">
            {isOnlyOther(change)
              ? change.quantity === 'memory_mb'
                ? 'other memory'
                : change.quantity === 'throughput_ips'
                  ? 'other throughput'
                  : 'other time'
              : (changeWords[change.what] ?? change.what)}
          </span>{' '}
          <ChangeWords document={document} change={change} />{' '}
          <a class="quiet" href={link('history', change.series)}>
            history
          </a>
        </li>
      ))}
    </ul>
  );
}

const shownMeans =
  'The best of the verified and ranked results at the smallest common shape. “Shown” means that the launches of both ' +
  'runtimes, compared round by round, show a difference; otherwise what was measured does not tell them apart, and a ' +
  'figure such as (± 25 %) is the smallest difference that it would have shown. More launches show smaller ones.';

/** Of values that are others than before without a claim; '' if there are none. */
function otherWords(n: number): string {
  if (n === 0) return '';
  const are = n === 1 ? 'is another one' : 'are other ones';
  return ` ${counted(n, 'value')} ${are}; that may be the state of the machine.`;
}

export function Overview({ document, route }: { document: AssayDocument; route: Route }) {
  const { analysis } = document;
  const since = (route.query.since ?? 'last_run') as keyof typeof analysis.changes;
  const changes = analysis.changes[since] ?? [];
  const latest = document.runs[0];
  const bad = notVerified(analysis.states);
  const important = importantChanges(document);
  const others = analysis.changes.last_run.filter(isOnlyOther).length;
  return (
    <>
      <h1>{headline(document)}</h1>
      <div class="facts3">
        <div>
          <h2>What ran, what failed</h2>
          <p class="big">
            <StateCounts counts={analysis.states} />
          </p>
          <p>
            {bad === '' ? (
              'Every cell ran and was verified.'
            ) : (
              <>
                {bad}
                {analysis.failures.length === 0 ? (
                  '. '
                ) : (
                  <>
                    ; {counted(analysis.failures.length, 'cause')}.{' '}
                    <a href={linkOf({ ...route, query: { ...route.query, at: 'failed' } })}>Causes and what to do</a>.{' '}
                  </>
                )}
                {analysis.states.unverified > 0 && (
                  <>
                    <a href={link('cells', '', { 'f.state': 'unverified' })}>Cells whose outputs could not be judged</a>
                    .
                  </>
                )}
              </>
            )}
          </p>
        </div>
        <div>
          <h2>What changed since the run before</h2>
          <p class="big">{important.length === 0 ? 'nothing' : counted(important.length, 'change')}</p>
          <p>
            {important.length === 0 ? (
              document.runs.length < 2 ? (
                'There is no run before.'
              ) : (
                `${nothingChanged}${otherWords(others)}`
              )
            ) : (
              <>
                {Object.entries(changeWords)
                  .map(([what, words]) => ({ words, n: important.filter((change) => change.what === what).length }))
                  .filter(({ n }) => n > 0)
                  .map(({ words, n }) => `${n} ${words}`)
                  .join(', ')}
                . <a href={linkOf({ ...route, query: { ...route.query, at: 'changed' } })}>Which</a>
              </>
            )}
          </p>
        </div>
        <div>
          <h2>How sure</h2>
          <p class="big">
            {count(analysis.models.filter((line) => line.latency?.claimed).length)} of{' '}
            {counted(analysis.models.length, 'choice')} shown
          </p>
          <ul>
            {analysis.sure.slice(0, 2).map((sentence) => (
              <li key={sentence}>
                <Prose text={sentence} />
              </li>
            ))}
          </ul>
          {analysis.sure.length > 2 && (
            <details>
              <summary>more</summary>
              <ul>
                {analysis.sure.slice(2).map((sentence) => (
                  <li key={sentence}>
                    <Prose text={sentence} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      </div>
      <Section id="models" title="Which runtime for which model" note={shownMeans}>
        <DataTable
          caption="Which runtime for which model"
          noun={modelCount(analysis.models) === analysis.models.length ? 'model' : 'line'}
          columns={modelColumns(document)}
          rows={analysis.models}
          route={route}
          search={analysis.models.length > 8}
          pageSize={100}
          link={(line) => link('model', line.model, { machine: line.machine })}
        />
      </Section>
      <Section id="failed" title="What failed, and why">
        {analysis.failures.length === 0 ? (
          <p>
            Nothing failed
            {analysis.states.unverified > 0 &&
              `; the outputs of ${counted(analysis.states.unverified, 'cell')} could not be judged`}
            .
          </p>
        ) : (
          <div class="failures">
            {analysis.failures.map((failure, i) => (
              <article key={i} class={`failure failure-${failure.status}`}>
                <h3>
                  <StateMark state={failure.status as State} /> <span>{counted(failure.cells.length, 'cell')}</span>{' '}
                  <code>{failure.reason_code}</code>
                </h3>
                <p class="cause">
                  <Prose text={failure.cause} />
                </p>
                {failure.hint && (
                  <p class="hint">
                    <b>What to do:</b> <Prose text={failure.hint} />
                  </p>
                )}
                <details open={failure.where.length <= 4}>
                  <summary>
                    {failure.where.length <= 4
                      ? 'Where'
                      : `Where: ${failure.where.slice(0, 3).join('; ')} and ${failure.where.length - 3} more`}
                  </summary>
                  <ul class="where">
                    {failure.cells.slice(0, 200).map((index) => {
                      const cell = document.cellAt(index);
                      return (
                        <li key={index}>
                          <a href={cellLink(cell)}>{cellWords(cell)}</a>
                        </li>
                      );
                    })}
                  </ul>
                </details>
              </article>
            ))}
          </div>
        )}
      </Section>
      <Section id="changed" title="What changed">
        <p class="switch" role="group" aria-label="Compared with">
          {(
            [
              ['last_run', 'since the run before'],
              ['week', 'in 7 days'],
              ['month', 'in 30 days'],
            ] as const
          ).map(([key, words]) => (
            <button
              key={key}
              type="button"
              aria-pressed={since === key}
              onClick={() => changeQuery(route, { since: key === 'last_run' ? undefined : key })}
            >
              {words}
            </button>
          ))}
        </p>
        {changes.length === 0 ? (
          <p class="empty">Nothing changed.</p>
        ) : (
          <ChangeList document={document} changes={changes} />
        )}
      </Section>
      <p class="note">
        {counted(document.cells.length, 'cell')} of {counted(modelCount(analysis.models), 'model')} on{' '}
        {counted(document.machines.length, 'machine')}
        {latest && (
          <>
            ; newest run {when(latest.started)} UTC on {latest.host}
          </>
        )}
        . Made {when(document.madeAt)} UTC by {document.tool} from {document.source}.
        {document.leftOut > 0 && ` ${count(document.leftOut)} older cells are not in this file.`}
        {document.detail !== 'full' && (
          <>
            {' '}
            To keep the file small it has {document.detail}; <code>assay serve</code> shows everything.
          </>
        )}
      </p>
    </>
  );
}
