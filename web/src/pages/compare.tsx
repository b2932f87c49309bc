// SPDX-License-Identifier: Apache-2.0
// Any two selections: a forest of the cells that both have, the mean over them, and what is not compared.
import { useMemo } from 'preact/hooks';
import { distinctNames, shapeWords } from '../cell_words.ts';
import { Chart } from '../chart.tsx';
import type { AssayDocument, Cell } from '../document.ts';
import { earlierCells } from '../earlier.ts';
import { type Difference, environmentDifferences } from '../environments.ts';
import { forest, meanName } from '../forest.ts';
import { counted, ratio, when, withUnit } from '../format.ts';
import { distinct, keysOf } from '../order.ts';
import {
  type Alone,
  type Choice,
  choiceText,
  claimWords,
  commonWords,
  contrastOf,
  heading,
  type Key,
  keys,
  keyValue,
  notRankedWords,
  type Pairing,
  pairUp,
  pairWords,
  parseChoice,
  type Row,
  sideName,
  tally,
} from '../pairs.ts';
import { cellLink, Section, TargetName } from '../parts.tsx';
import type { Column } from '../rows.ts';
import { changeQuery, type Route } from '../state.ts';
import { enoughRounds, fewRoundsFactor } from '../stats.ts';
import { DataTable } from '../table.tsx';
import { hasTime, isUsable } from '../timed.ts';

const percentOfFew = Math.round((fewRoundsFactor - 1) * 100);

/** Runs are chosen by their date, the newest first; versions of several runtimes by the runtime, too. */
function optionsOf(document: AssayDocument, results: Cell[], key: Key): [string, string][] {
  const order = key === 'run_id' ? document.runs.map((run) => run.run_id) : keysOf(document.targets);
  const values = distinct(
    results.map((cell) => keyValue(cell, key)).filter((value) => value !== ''),
    order,
  );
  const words = (value: string) => {
    const started = key === 'run_id' && document.runs.find((run) => run.run_id === value)?.started;
    if (started) return `${when(started)} (${value})`;
    const engines =
      key === 'engine_version'
        ? distinct(results.filter((cell) => keyValue(cell, key) === value).map((cell) => cell.text('engine')))
        : [];
    return engines.length > 0 ? `${value} (${engines.join(', ')})` : value;
  };
  return values.map((value) => [value, words(value)]);
}

function Side({
  document,
  results,
  label,
  choice,
  onChange,
}: {
  document: AssayDocument;
  results: Cell[];
  label: string;
  choice: Choice;
  onChange: (choice: Choice) => void;
}) {
  return (
    <fieldset>
      <legend>{label}</legend>
      {keys.map(([key, name]) => {
        const options = optionsOf(document, results, key);
        const chosen = choice[key];
        // What a link names and nothing has is still shown.
        if (chosen !== undefined && !options.some(([value]) => value === chosen)) options.push([chosen, chosen]);
        if (options.length < 2 && key !== 'target' && chosen === undefined) return null;
        return (
          <label key={key} class="field">
            <span>{name}</span>
            <select
              value={chosen ?? ''}
              onChange={(event) => onChange({ ...choice, [key]: event.currentTarget.value || undefined })}
            >
              <option value="">{key === 'run_id' || key === 'engine_version' ? 'the newest' : 'any'}</option>
              {options.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
        );
      })}
    </fieldset>
  );
}

const timeOf = (cell: Cell, perItem: boolean) =>
  cell.number('latency_p50_ms')! / (perItem ? (cell.number('batch_size') ?? 1) * (cell.number('streams') ?? 1) : 1);

/** `more`: what tells it from pairs of the same model and shape. `notRanked`: why; '' of a ranked pair. */
interface Named extends Row {
  words: string;
  more: string;
  notRanked: string;
}

function pairColumns(
  document: AssayDocument,
  nameA: string,
  nameB: string,
  { contrast, perItem }: Pairing,
  rows: Row[],
): Column<Named>[] {
  const several = (value: (row: Row) => string) => new Set(rows.map(value)).size > 1;
  const time = (side: 'a' | 'b', name: string): Column<Named> => ({
    id: side,
    title: name,
    unit: perItem ? 'ms per item' : 'ms',
    numeric: true,
    value: (row) => timeOf(row[side], perItem),
    view: (row) => (
      <a href={cellLink(row[side])} title={shapeWords(row[side])}>
        {withUnit(timeOf(row[side], perItem), '')}
      </a>
    ),
  });
  return [
    {
      id: 'model',
      title: 'Model',
      choice: document.models,
      value: (row) => row.a.text('model'),
      view: (row) => <bdi>{row.a.text('model')}</bdi>,
    },
    {
      id: 'target',
      title: 'Target',
      choice: keysOf(document.targets),
      hidden: contrast.includes('target') || !several(({ a }) => a.target),
      value: (row) => row.a.target,
      view: (row) => <TargetName cell={row.a} />,
    },
    { id: 'shape', title: 'Shape', choice: true, value: (row) => shapeWords(row.a, contrast) + row.more },
    {
      id: 'machine',
      title: 'Machine',
      choice: true,
      hidden: contrast.includes('machine') || !several(({ a }) => a.text('machine')),
      value: (row) => row.a.text('machine'),
    },
    time('a', nameA),
    time('b', nameB),
    {
      id: 'ratio',
      title: 'Ratio',
      numeric: true,
      meaning: `Time of ${nameB} over that of ${nameA}; below 1: ${nameB} takes less time`,
      value: (row) => row.found.ratio,
      view: (row) => ratio(row.found.ratio),
    },
    {
      id: 'interval',
      title: '95 % interval',
      meaning: 'Over paired rounds; else that of one median over that of the other',
      value: ({ found, ofMedians }) =>
        found.low !== null
          ? `${ratio(found.low)} to ${ratio(found.high)}`
          : ofMedians
            ? `${ratio(ofMedians.low)} to ${ratio(ofMedians.high)} (of medians)`
            : '',
    },
    {
      id: 'claim',
      title: 'What is shown',
      choice: true,
      value: (row) => claimWords(row.found, nameA, nameB).split(' (')[0]!,
      view: (row) => row.notRanked || claimWords(row.found, nameA, nameB),
    },
    { id: 'not_ranked', title: 'Why it is not ranked', hidden: true, value: (row) => row.notRanked },
  ];
}

/** Of the cell, and of the other side's where that has a time too. */
const ofBoth = ({ side, cell, other }: Alone, words: (cell: Cell) => string) =>
  [...new Set([cell, ...(side === 'both' ? [other!] : [])].map(words))].join(' and ');

const aloneColumns = (document: AssayDocument, machines: boolean): Column<Alone>[] => [
  { id: 'side', title: 'Side', choice: true, value: ({ side }) => side },
  {
    id: 'model',
    title: 'Model',
    choice: document.models,
    value: ({ cell }) => cell.text('model'),
    view: ({ cell }) => (
      <a href={cellLink(cell)}>
        <bdi>{cell.text('model')}</bdi>
      </a>
    ),
  },
  {
    id: 'target',
    title: 'Target',
    choice: keysOf(document.targets),
    value: (row) => ofBoth(row, (cell) => cell.target),
    view: ({ side, cell, other }) => (
      <>
        <TargetName cell={cell} />
        {side === 'both' && other!.target !== cell.target && (
          <>
            {' '}
            <TargetName cell={other!} />
          </>
        )}
      </>
    ),
  },
  { id: 'shape', title: 'Shape', choice: true, value: (row) => ofBoth(row, (cell) => shapeWords(cell)) },
  {
    id: 'machine',
    title: 'Machine',
    choice: true,
    hidden: !machines,
    value: (row) => ofBoth(row, (cell) => cell.text('machine')),
  },
  {
    id: 'why',
    title: 'Why it is not compared',
    choice: true,
    meaning: 'What each side has of the cell',
    value: ({ why }) => why,
    view: ({ why, other }) => (other ? <a href={cellLink(other)}>{why}</a> : why),
  },
];

const environmentColumns: Column<Difference>[] = [
  { id: 'what', title: 'What', value: ({ what }) => what },
  { id: 'a', title: 'A', value: ({ a }) => a },
  { id: 'b', title: 'B', value: ({ b }) => b },
];

/** If each side is of one run, and these are two. */
function Environments({ document, rows, route }: { document: AssayDocument; rows: Row[]; route: Route }) {
  const runs = (['a', 'b'] as const).map((side) => new Set(rows.map((row) => row[side].text('run_id'))));
  const [a, b] = runs.map((ids) => (ids.size === 1 ? document.runs.find((run) => ids.has(run.run_id)) : undefined));
  if (!a || !b || a === b) return null;
  const { differences, known } = environmentDifferences(a, b);
  return (
    <Section id="environments" title="How the two runs differ">
      {!known && (
        <p class="note">The environment of {a.environment ? 'B' : b.environment ? 'A' : 'both'} is not stored.</p>
      )}
      {differences.length > 0 ? (
        <DataTable
          name="e"
          caption="How the two runs differ"
          noun="difference"
          columns={environmentColumns}
          rows={differences}
          route={route}
          pageSize={20}
        />
      ) : (
        <p class="empty">Nothing else is known to differ.</p>
      )}
    </Section>
  );
}

/** Without a choice: the first two targets that are ranked. */
function choices(document: AssayDocument, route: Route): [Choice, Choice] {
  const [first, second] = document.targets.filter((target) =>
    document.cells.some((cell) => isUsable(cell) && cell.target === target.key),
  );
  const side = (text: string | undefined, target: { key: string } | undefined): Choice =>
    text !== undefined ? parseChoice(text) : target ? { target: target.key } : {};
  return [side(route.query.a, first), side(route.query.b, second)];
}

function Nothing({ document }: { document: AssayDocument }) {
  const usable = document.cells.filter(isUsable);
  const targets = new Set(usable.map((cell) => cell.target));
  if (targets.size > 1) return null;
  return (
    <p class="note">
      {targets.size === 0 ? 'No cell has a time that is ranked.' : `Only ${[...targets][0]} has times that are ranked.`}{' '}
      {document.cells.some((cell) => hasTime(cell) && !isUsable(cell)) ? (
        <>
          Other times are too disturbed or too uncertain to be ranked: <code>assay doctor</code> says what disturbs
          timings; more launches (<code>--launches</code>) make them more certain.
        </>
      ) : (
        <>
          <code>assay run --hardware all</code> measures on all hardware.
        </>
      )}
    </p>
  );
}

export function Compare({ document, route }: { document: AssayDocument; route: Route }) {
  const [a, b] = choices(document, route);
  const place = `${choiceText(a)} ${choiceText(b)}`;
  const earlier = useMemo(() => earlierCells(document), [document]);
  const results = useMemo(() => [...document.cells, ...earlier], [document]);
  const pairing = useMemo(() => pairUp(document.cells, a, b, earlier), [document, place]);
  const { rows, unranked, alone, together, contrast, perItem, leftOut } = pairing;
  const words = {
    nameA: sideName(a, contrast),
    nameB: sideName(b, contrast),
    common: commonWords(a, b, contrast),
    perItem,
  };
  const { nameA, nameB } = words;
  const named = useMemo(() => {
    const all = [...rows, ...unranked];
    const of = new Map(all.map((row) => [row.a, row]));
    const names = distinctNames(
      all.map((row) => row.a),
      (cell) => pairWords(of.get(cell)!, contrast, all),
    );
    return all.map(
      (row, i): Named => ({
        ...row,
        words: names[i]!,
        more: names[i]!.slice(pairWords(row, contrast, all).length),
        notRanked: notRankedWords(row, nameA, nameB),
      }),
    );
  }, [pairing]);
  const picture = useMemo(
    () =>
      named.length === 0
        ? null
        : forest(
            named.map((row) => ({
              words: row.words,
              found: row.found,
              ofMedians: row.ofMedians,
              notRanked: row.notRanked,
              hardwareA: row.a.text('hardware'),
              hardwareB: row.b.text('hardware'),
            })),
            together,
            words,
            document.themes.light,
          ),
    [named],
  );
  const columns = useMemo(() => pairColumns(document, nameA, nameB, pairing, named), [named]);
  const few = rows.some(
    ({ found }) =>
      found.difference === 'not_shown' && found.rounds < enoughRounds && (found.low! > 1 || found.high! < 1),
  );
  const set = (side: 'a' | 'b') => (choice: Choice) =>
    changeQuery(route, { a: choiceText(a) || 'any', b: choiceText(b) || 'any', [side]: choiceText(choice) || 'any' });
  const shown = tally(rows);
  return (
    <>
      <h1>{heading(a, b, pairing)}</h1>
      {rows.length > 0 && (
        <p>
          Cell by cell: {nameB} is faster in {shown.faster}, {nameA} in {shown.slower}; in {shown.notShown} no
          difference is shown
          {shown.notCompared > 0 && (
            <>
              , {shown.notCompared} {shown.notCompared === 1 ? 'is' : 'are'} not compared
            </>
          )}
          .{leftOut > 0 && ` The mean is over the ${counted(rows.length - leftOut, 'cell')} with common rounds.`}
        </p>
      )}
      {unranked.length > 0 && (
        <p class="note">
          {counted(unranked.length, 'cell')} that both sides have {unranked.length === 1 ? 'is' : 'are'} not ranked: the
          picture draws {unranked.length === 1 ? 'it' : 'them'} dashed, the table says why, and no mean and no sentence
          is made of {unranked.length === 1 ? 'it' : 'them'}.
        </p>
      )}
      {together?.evidence === 'different_things' && (
        <p class="note">
          The two sides differ in{' '}
          {contrastOf(a, b)
            .map((key) => keys.find(([one]) => one === key)![1].toLowerCase())
            .join(' and ')}
          . A ratio would not say which of them it comes from, so that nothing is called faster: choose one of them to
          differ.
        </p>
      )}
      {together?.evidence === 'different_runs' && (
        <p class="note">
          Over all, {nameB} takes {ratio(together.ratio)} the time of {nameA}. Nothing is claimed: times are called
          different only by launches in paired rounds of one run; between two runs the machine may have changed, too.
        </p>
      )}
      <div class="sides">
        <Side document={document} results={results} label="A" choice={a} onChange={set('a')} />
        <Side document={document} results={results} label="B" choice={b} onChange={set('b')} />
        <button
          type="button"
          onClick={() => changeQuery(route, { a: choiceText(b) || 'any', b: choiceText(a) || 'any' })}
        >
          Swap A and B
        </button>
      </div>
      {rows.length === 0 && <Nothing document={document} />}
      {picture && (
        <>
          <Chart
            key={`${nameA} ${nameB}`}
            chart={picture}
            themes={document.themes}
            name="comparison"
            linkOf={(row) => {
              const found = row.group === meanName ? undefined : named.find((one) => one.words === row.group);
              return found && cellLink(found.b);
            }}
          />
          {contrast.includes('precision') && (
            <p class="note">Outputs of another precision differ; each is verified with the limit of its precision.</p>
          )}
          {few && (
            <p class="note">
              Some are “not shown” although their interval does not contain 1: with fewer than {enoughRounds} launches a
              difference is claimed only from {percentOfFew} % on, and with more certainty than the interval’s 95 %.{' '}
              <code>--launches {enoughRounds}</code> shows smaller ones.
            </p>
          )}
          <Section id="pairs" title="Cells that both have">
            <DataTable caption="Cells that both have" noun="cell" columns={columns} rows={named} route={route} />
          </Section>
        </>
      )}
      {named.length > 0 && <Environments document={document} rows={named} route={route} />}
      {alone.length > 0 && (
        <Section id="alone" title="Cells that are not compared">
          <DataTable
            name="o"
            caption="Cells that are not compared"
            noun="cell"
            columns={aloneColumns(document, new Set(document.cells.map((cell) => cell.text('machine'))).size > 1)}
            rows={alone}
            route={route}
            pageSize={20}
          />
        </Section>
      )}
    </>
  );
}
