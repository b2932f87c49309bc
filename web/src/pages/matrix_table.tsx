// SPDX-License-Identifier: Apache-2.0
// The rows of the matrix: groups by category, which fold, and the places of targets.
import { cellWords } from '../cell_words.ts';
import type { AssayDocument, Target } from '../document.ts';
import { counted, plainWords, plusMinus, ratio, withUnit } from '../format.ts';
import type { Line } from '../matrix_lines.ts';
import { winsOf } from '../matrix_view.ts';
import { cellLink, TargetKey } from '../parts.tsx';
import { link } from '../state.ts';
import { noClaimWords } from '../stats.ts';
import { moveFocus } from '../table.tsx';
import { isOfWrongTarget, isUsable } from '../timed.ts';
import { isUnreal, stateOf, states, unrankedBecause } from '../words.ts';

/** 0 at the best, 1 from ten times slower on. */
const heat = (value: number) => Math.min(9, Math.max(0, Math.round((Math.log10(Math.max(value, 1)) / 1) * 9)));

function MatrixCell({ line, target }: { line: Line; target: string }) {
  const cell = line.cells.get(target);
  const grid = { role: 'gridcell', tabIndex: -1 } as const;
  if (!cell) {
    const other = line.elsewhere.get(target);
    return (
      <td
        {...grid}
        class="none"
        title={
          other ? 'measured, but not comparable with this row: see the other row of this model' : 'not part of any run'
        }
      >
        {other ? (
          <a href={cellLink(other)} aria-label="not comparable with this row">
            ·
          </a>
        ) : (
          '·'
        )}
      </td>
    );
  }
  const state = stateOf(cell);
  const p50 = cell.shown ? cell.number('latency_p50_ms') : null;
  const bestP50 = line.best?.number('latency_p50_ms') ?? null;
  const { symbol } = states[state];
  if (p50 === null || state !== 'verified')
    return (
      <td {...grid} class={`state-${state}`}>
        <a href={cellLink(cell)} title={`${cellWords(cell)}: ${state}. ${cell.text('message')}`}>
          <span aria-hidden="true">{symbol}</span>
          <span class="sr">{state}</span>
        </a>
      </td>
    );
  const interval = plusMinus(p50, cell.number('latency_p50_low_ms'), cell.number('latency_p50_high_ms'));
  const time = `${cellWords(cell)}: ${[withUnit(p50, 'ms'), interval].filter(Boolean).join(' ')}`;
  if (!isUsable(cell) || bestP50 === null) {
    const wrong = isOfWrongTarget(cell);
    const why = wrong ? `${cell.target} computes wrong numbers for this model` : unrankedBecause(cell);
    return (
      <td {...grid} class={isUnreal(cell) ? 'hatched-cell' : 'unranked'}>
        <a href={cellLink(cell)} title={`${time}; not ranked: ${why}`}>
          {wrong && (
            <>
              <span aria-hidden="true">{states.wrong.symbol} </span>
              <span class="sr">computes wrong numbers for this model: </span>
            </>
          )}
          <span>{bestP50 ? `(${ratio(p50 / bestP50)})` : withUnit(p50, 'ms')}</span>
        </a>
      </td>
    );
  }
  const times = p50 / bestP50;
  const isBest = cell === line.best;
  const found = line.found.get(cell);
  const claimed = found?.difference === 'slower';
  const words = isBest
    ? line.ranked.length < 2
      ? 'the only ranked one of this row'
      : line.settled
        ? 'the fastest of this row'
        : 'the lowest median of this row; others may be as fast'
    : claimed
      ? `${ratio(times)} the time of the best, shown`
      : found?.difference === 'faster'
        ? `${ratio(times)} the time of the best; faster in paired rounds`
        : `${ratio(times)} the time of the best; ${noClaimWords(found!)}`;
  return (
    <td
      {...grid}
      class={`heat-${heat(times)}${claimed ? ' claimed' : ''}${isBest ? (line.settled ? ' best shown' : ' best') : ''}`}
    >
      <a href={cellLink(cell)} title={`${time}; ${words}`}>
        {isBest ? withUnit(p50, 'ms') : ratio(times)}
      </a>
    </td>
  );
}

/**
 * `folded`: categories whose rows are not seen. A folded group says for how many of its rows each target is shown to be
 * the fastest.
 */
export function MatrixTable({
  document,
  lines,
  targets,
  folded,
  onFold,
}: {
  document: AssayDocument;
  lines: Line[];
  targets: Target[];
  folded: ReadonlySet<string>;
  onFold: (folded: ReadonlySet<string>) => void;
}) {
  const categories = [...new Set(lines.map((line) => line.category))];
  const toggle = (category: string) => {
    const next = new Set(folded);
    if (!next.delete(category)) next.add(category);
    onFold(next);
  };
  return (
    <table class="matrix" role="grid" aria-label="Models by targets" onKeyDown={moveFocus}>
      <thead>
        <tr role="row">
          <th scope="col" role="columnheader" tabIndex={0}>
            Model
          </th>
          {targets.map((target) => (
            <th key={target.key} scope="col" role="columnheader" tabIndex={-1}>
              <TargetKey document={document} target={target.key} />
            </th>
          ))}
        </tr>
      </thead>
      {categories.map((category) => {
        const group = lines.filter((line) => line.category === category);
        const isFolded = folded.has(category);
        return (
          <tbody key={category}>
            {categories.length > 1 && (
              <tr class="group" role="row">
                <th scope="rowgroup" role="rowheader" tabIndex={-1} colSpan={isFolded ? 1 : targets.length + 1}>
                  <button type="button" class="plain" aria-expanded={!isFolded} onClick={() => toggle(category)}>
                    <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span> {plainWords(category) || 'other'}{' '}
                    <small>{counted(new Set(group.map((line) => line.model)).size, 'model')}</small>
                  </button>
                </th>
                {isFolded &&
                  targets.map((target) => {
                    const wins = winsOf(group, target.key);
                    return (
                      <td
                        key={target.key}
                        role="gridcell"
                        tabIndex={-1}
                        title={`${target.key} is shown to be the fastest in ${counted(wins, 'row')} of ${group.length}`}
                      >
                        {wins > 0 && (
                          <>
                            {wins}
                            <span class="sr"> fastest</span>
                          </>
                        )}
                      </td>
                    );
                  })}
              </tr>
            )}
            {!isFolded &&
              group.map((line) => (
                <tr key={`${line.model}\n${line.label}`} role="row">
                  <th scope="row" role="rowheader" tabIndex={-1}>
                    <a href={link('model', line.model)}>
                      <bdi>{line.model}</bdi>
                    </a>
                    {line.label && <small class="under">{line.label}</small>}
                  </th>
                  {targets.map((target) => (
                    <MatrixCell key={target.key} line={line} target={target.key} />
                  ))}
                </tr>
              ))}
          </tbody>
        );
      })}
    </table>
  );
}
