// SPDX-License-Identifier: Apache-2.0
// The page of one chart (src/show/dashboard/chart_page.hpp): puts the interactive chart in the place of each static
// picture. Title, notes and table are already in the page, which shows the pictures where this script does not run.
import { render } from 'preact';
import { Chart } from './chart.tsx';
import { setColours } from './colours.ts';
import type { PageChart, Themes } from './document.ts';

interface PageData {
  themes: Themes;
  charts: (PageChart & { name: string })[];
}

const { themes, charts }: PageData = JSON.parse(document.getElementById('page-data')!.textContent!);
setColours(themes);
const pictures = document.querySelectorAll('figure[data-picture]');
charts.forEach((chart, at) => {
  const place = document.createElement('div');
  pictures[at]!.after(place);
  // The heading of the page has the words that its only picture, or the first of several, would have.
  render(
    <Chart
      chart={{ ...chart, notes: [] }}
      themes={themes}
      name={chart.name}
      title=""
      {...(at === 0 ? { subtitle: '' } : {})}
    />,
    place,
  );
  pictures[at]!.remove();
});
performance.mark('assay-ready');
