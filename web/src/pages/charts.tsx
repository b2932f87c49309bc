// SPDX-License-Identifier: Apache-2.0
// The pictures of the whole history, each an answer to a question: those that `assay plot` writes into files.
import { Chart } from '../chart.tsx';
import type { AssayDocument } from '../document.ts';
import { counted, plainWords } from '../format.ts';
import { leftOutWords, missingWords } from '../missing.ts';
import { Prose } from '../parts.tsx';
import { link, type Route } from '../state.ts';

/** The names of one kind, page by page. */
export const pagesOf = (document: AssayDocument, wanted: string) =>
  wholeCharts(document).find(([kind]) => kind === wanted)?.[1] ?? [];

/** Kinds in their order, each with its pages: those without a slash belong to no model and no cell. */
export function wholeCharts(document: AssayDocument) {
  const kinds = new Map<string, string[]>();
  for (const name of Object.keys(document.charts)) {
    if (name.includes('/')) continue;
    const kind = name.replace(/_\d+$/, '');
    kinds.set(
      kind,
      [...(kinds.get(kind) ?? []), name].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })),
    );
  }
  return [...kinds].sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
}

const order = [
  'hardware_comparison',
  'relative_speedup',
  'category_comparison',
  'model_performance',
  'architecture_comparison',
  'architecture_performance_matrix',
  'memory_usage',
  'memory_scaling',
  'hardware_efficiency',
  'verification',
  'optimization_opportunities',
  'machine_noise',
];

export function Charts({ document, route }: { document: AssayDocument; route: Route }) {
  const kinds = wholeCharts(document);
  const wanted = (kind: string) => route.argument === '' || kind === route.argument;
  const chosen = kinds.filter(([kind]) => wanted(kind));
  const absent = order.filter((kind) => wanted(kind) && kind in document.missingCharts);
  const leftOut = leftOutWords(document);
  return (
    <>
      <h1>{counted(kinds.length, 'picture')} of these results</h1>
      <nav class="kinds" aria-label="Charts">
        <a href={link('charts')} aria-current={route.argument === '' ? 'page' : undefined}>
          all
        </a>
        {kinds.map(([kind]) => (
          <a key={kind} href={link('charts', kind)} aria-current={route.argument === kind ? 'page' : undefined}>
            {plainWords(kind)}
          </a>
        ))}
      </nav>
      {chosen.map(([kind, names]) => (
        <section key={kind} aria-label={plainWords(kind)}>
          {names.map((name) => (
            <Chart
              key={name}
              chart={document.charts[name]!}
              themes={document.themes}
              name={name}
              linkOf={(row) => {
                const model = [row.group, row.series].find((word) =>
                  document.cells.some((cell) => cell.text('model') === word),
                );
                return model && link('model', model);
              }}
            />
          ))}
        </section>
      ))}
      {absent.map((kind) => (
        <section key={kind} aria-label={plainWords(kind)}>
          <h2>{document.missingCharts[kind]!.title}</h2>
          <p class="empty">
            <Prose text={missingWords(document, kind)} />
          </p>
        </section>
      ))}
      {leftOut ? (
        <p class="empty">
          <Prose text={leftOut} />
        </p>
      ) : (
        chosen.length + absent.length === 0 && <p class="empty">There is no picture “{route.argument}”.</p>
      )}
    </>
  );
}
