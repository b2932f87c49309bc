// SPDX-License-Identifier: Apache-2.0
// Which hardware for which architecture, and what would help most. All sentences are C++'s.
import type { AssayDocument, Choice, Efficiency, Opportunity } from '../document.ts';
import { counted, number, plainWords } from '../format.ts';
import { missingWords, nothingRanked } from '../missing.ts';
import { keysOf } from '../order.ts';
import { cellLink, Prose, Section, TargetKey } from '../parts.tsx';
import type { Column } from '../rows.ts';
import type { Route } from '../state.ts';
import { DataTable } from '../table.tsx';
import { whyUnranked } from '../words.ts';

/** Two are measured, and no difference is shown. */
const isOpen = (choice: Choice) => !choice.claimed && choice.runner_up !== '';

const overWhat =
  'Times are geometric means over all cells (model, batch, length and precision) that every compared target has ' +
  'ranked. The overview compares the smallest shape only, so that it may show a difference where none is shown here.';

/** Only if there are several. */
const machineColumn = <Row extends { machine: string }>(rows: Row[]): Column<Row>[] =>
  rows.some((row) => row.machine !== '')
    ? [{ id: 'machine', title: 'Machine', choice: true, value: (row) => row.machine }]
    : [];

function adviceTitle(choices: Choice[]): string {
  const shown = choices.filter((choice) => choice.claimed).length;
  if (choices.length === 0) return 'Nothing can be recommended yet';
  if (shown === 0) return `No best hardware is shown for any of ${counted(choices.length, 'architecture')}`;
  return `The best hardware is shown for ${shown} of ${counted(choices.length, 'architecture')}`;
}

export function Advice({ document, route }: { document: AssayDocument; route: Route }) {
  const { choices, opportunities, efficiency, efficiency_missing } = document.analysis;
  const choiceColumns: Column<Choice>[] = [
    { id: 'architecture', title: 'Architecture', value: (choice) => choice.architecture },
    ...machineColumn(choices),
    { id: 'category', title: 'Category', choice: true, value: (choice) => plainWords(choice.category) },
    {
      id: 'use',
      title: 'Use',
      choice: keysOf(document.targets),
      value: (choice) => (isOpen(choice) ? `${choice.best} or ${choice.runner_up}` : choice.best),
      view: (choice) =>
        !choice.best ? (
          '–'
        ) : (
          <span class="use">
            <TargetKey document={document} target={choice.best} />
            {isOpen(choice) && (
              <>
                <span class="quiet"> or </span>
                <TargetKey document={document} target={choice.runner_up} />
              </>
            )}
          </span>
        ),
    },
    { id: 'words', title: 'Why', value: (choice) => choice.words, view: (choice) => <Prose text={choice.words} /> },
    {
      id: 'how_sure',
      title: 'How sure',
      value: (choice) => choice.how_sure,
      view: (choice) => <small class="unbroken">{choice.how_sure}</small>,
    },
    {
      id: 'left_out',
      title: 'Not compared',
      value: (choice) => choice.left_out.join('; '),
      view: (choice) => (choice.left_out.length > 0 ? <small>{choice.left_out.join('; ')}</small> : ''),
    },
  ];
  const opportunityColumns: Column<Opportunity>[] = [
    {
      id: 'words',
      title: 'What',
      value: (one) => one.words,
      view: (one) => (
        <>
          <Prose text={one.words} />
          {one.cell !== null && (
            <>
              {' '}
              <a href={cellLink(document.cellAt(one.cell))}>the cell</a>
            </>
          )}
        </>
      ),
    },
    ...machineColumn(opportunities),
    { id: 'kind', title: 'Kind', choice: true, value: (one) => one.kind },
    {
      id: 'factor',
      title: 'Factor',
      numeric: true,
      value: (one) => one.factor,
      view: (one) => `${number(one.factor)}×`,
    },
    {
      id: 'interval',
      title: '95 % interval',
      value: (one) => (one.low === null ? '' : `${number(one.low)} to ${number(one.high)}`),
    },
    {
      id: 'shown',
      title: 'Shown',
      choice: true,
      value: (one) => (one.claimed ? 'shown' : 'not shown'),
      view: (one) => <span class="unbroken">{one.claimed ? 'shown' : 'not shown'}</span>,
    },
  ];
  const efficiencyColumns: Column<Efficiency>[] = [
    {
      id: 'target',
      title: 'Target',
      choice: keysOf(document.targets),
      value: (one) => one.target,
      view: (one) => <TargetKey document={document} target={one.target} />,
    },
    ...machineColumn(efficiency),
    { id: 'category', title: 'Category', choice: true, value: (one) => plainWords(one.category) },
    { id: 'precision', title: 'Precision', choice: true, value: (one) => one.precision },
    { id: 'share', title: 'Share of the peak', unit: '%', numeric: true, value: (one) => one.share * 100 },
    { id: 'cells', title: 'Cells', numeric: true, value: (one) => one.cells },
    {
      id: 'peak_of',
      title: 'Peak',
      value: (one) => one.peak_of,
      view: (one) => (
        <small>
          {one.peak_of}
          {one.counted_whole ? '' : '; not all operators were counted'}
        </small>
      ),
    },
  ];
  return (
    <>
      <h1>{adviceTitle(choices)}</h1>
      <Section id="choices" title="Which hardware for which architecture" note={overWhat}>
        <DataTable
          name="c"
          caption="Hardware by architecture"
          noun="architecture"
          columns={choiceColumns}
          rows={choices}
          route={route}
          empty={
            <Prose
              text={
                missingWords(document, 'architecture_performance_matrix') || nothingRanked(whyUnranked(document.cells))
              }
            />
          }
        />
      </Section>
      <Section id="opportunities" title="What would help most">
        {opportunities.length === 0 ? (
          <p class="empty">
            <Prose text={document.analysis.no_opportunity} />
          </p>
        ) : (
          <DataTable
            name="o"
            caption="Opportunities"
            noun="opportunity"
            columns={opportunityColumns}
            rows={opportunities}
            route={route}
            pageSize={12}
          />
        )}
      </Section>
      <Section id="efficiency" title="How much of the measured peak is reached">
        {efficiency.length > 0 && (
          <DataTable
            name="e"
            caption="Efficiency"
            noun="line"
            columns={efficiencyColumns}
            rows={efficiency}
            route={route}
          />
        )}
        {efficiency_missing.map((sentence) => (
          <p key={sentence} class="note">
            <Prose text={sentence} />
          </p>
        ))}
        {efficiency.length === 0 && efficiency_missing.length === 0 && (
          <p class="empty">
            No peak of this machine is stored; <code>assay doctor --peak</code> measures it.
          </p>
        )}
      </Section>
    </>
  );
}
