// SPDX-License-Identifier: Apache-2.0
// The page: reads its document, follows the link, and knows the keys.
import { type ComponentChild, render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Boundary } from './boundary.tsx';
import { setColours } from './colours.ts';
import type { AssayDocument } from './document.ts';
import { Help } from './help.tsx';
import { follow, Missing, NoAnswer, type Progress, Running, Stale } from './live.tsx';
import { Advice } from './pages/advice.tsx';
import { AllCells } from './pages/all_cells.tsx';
import { CellPage } from './pages/cell.tsx';
import { Charts } from './pages/charts.tsx';
import { Compare } from './pages/compare.tsx';
import { History } from './pages/history.tsx';
import { Machines } from './pages/machines.tsx';
import { Matrix } from './pages/matrix.tsx';
import { ModelPage } from './pages/model.tsx';
import { Overview } from './pages/overview.tsx';
import { fromBase64, inflate, readDocument } from './read_document.ts';
import { Search } from './search.tsx';
import { link, linkOf, parseRoute } from './state.ts';
import { notReadable } from './words.ts';

const pages = [
  ['', 'Overview', 'o'],
  ['matrix', 'Matrix', 'm'],
  ['cells', 'Cells', 'a'],
  ['compare', 'Compare', 'c'],
  ['charts', 'Charts', 'p'],
  ['advice', 'Advice', 'r'],
  ['history', 'History', 'h'],
  ['machines', 'Machines', 'k'],
] as const;

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const remember = (theme?: Theme): Theme => {
  try {
    if (theme) sessionStorage.setItem('theme', theme);
    return (sessionStorage.getItem('theme') as Theme | null) ?? 'system';
  } catch {
    return theme ?? 'system';
  }
};

function usePage() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return parseRoute(hash);
}

function App({ document: data }: { document: AssayDocument }) {
  const route = usePage();
  const [theme, setTheme] = useState<Theme>(remember);
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const place = `${route.page}/${route.argument}`;
  const last = useRef(place);

  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    remember(theme);
  }, [theme]);
  useEffect(() => {
    const title = document.querySelector('main h1')?.textContent ?? '';
    document.title = `${title.slice(0, 80)} · assay`;
    if (last.current !== place) {
      last.current = place;
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    if (route.query.at) document.getElementById(route.query.at)?.scrollIntoView();
  }, [place, route.query.at]);
  useEffect(() => {
    let waiting = false;
    const key = (event: KeyboardEvent) => {
      const typing =
        event.target instanceof HTMLInputElement ||
        event.target instanceof HTMLSelectElement ||
        event.target instanceof HTMLTextAreaElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector('dialog[open]')) {
        if (event.key === '?') setHelp(false);
        return;
      }
      if (waiting) {
        waiting = false;
        const page = pages.find(([, , letter]) => letter === event.key);
        if (page) location.hash = link(page[0]);
        return;
      }
      const step = (by: number) => {
        const at = data.byKey.get(parseRoute(location.hash).argument);
        const next = at && data.cells[data.cells.indexOf(at) + by];
        if (parseRoute(location.hash).page === 'cell' && next) location.hash = link('cell', next.key);
      };
      if (event.key === '/') {
        event.preventDefault();
        document.getElementById('search')?.focus();
      } else if (event.key === 'g') {
        waiting = true;
        setTimeout(() => {
          waiting = false;
        }, 1500);
      } else if (event.key === '[') step(-1);
      else if (event.key === ']') step(1);
      else if (event.key === 't')
        setTheme((now) =>
          now === 'dark' || (now === 'system' && matchMedia('(prefers-color-scheme: dark)').matches) ? 'light' : 'dark',
        );
      else if (event.key === '?') setHelp(true);
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [data]);

  const props = { document: data, route };
  const page =
    data.cells.length === 0 ? (
      <Empty source={data.source} />
    ) : route.page === '' ? (
      <Overview {...props} />
    ) : route.page === 'matrix' ? (
      <Matrix {...props} />
    ) : route.page === 'cells' ? (
      <AllCells {...props} />
    ) : route.page === 'model' ? (
      <ModelPage {...props} />
    ) : route.page === 'cell' ? (
      <CellPage {...props} />
    ) : route.page === 'compare' ? (
      <Compare {...props} />
    ) : route.page === 'charts' ? (
      <Charts {...props} />
    ) : route.page === 'advice' ? (
      <Advice {...props} />
    ) : route.page === 'history' ? (
      <History {...props} />
    ) : route.page === 'machines' ? (
      <Machines {...props} />
    ) : (
      <>
        <h1>There is no page “{route.page}”</h1>
        <p>
          <a href={link('')}>Overview</a>
        </p>
      </>
    );
  const current = (name: string) =>
    route.page === name || (name === 'cells' && route.page === 'cell') || (name === '' && route.page === 'model')
      ? 'page'
      : undefined;
  return (
    <>
      <a
        class="skip"
        href={linkOf(route)}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        To the content
      </a>
      <header>
        <a class="brand" href={link('')}>
          assay
        </a>
        <nav aria-label="Pages">
          {pages.map(([name, words]) => (
            <a key={name} href={link(name)} aria-current={current(name)}>
              {words}
            </a>
          ))}
        </nav>
        <Search document={data} />
        <button type="button" class="small" aria-label="Keys" title="Keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
        <button
          type="button"
          class="small theme"
          title="Theme: as the system, light or dark (t)"
          onClick={() => setTheme(themes[(themes.indexOf(theme) + 1) % 3]!)}
        >
          {theme === 'system' ? 'Theme' : theme}
        </button>
      </header>
      <main ref={main} tabIndex={-1} key={place}>
        <Boundary place={linkOf(route)}>{page}</Boundary>
      </main>
      {help && <Help onClose={() => setHelp(false)} />}
    </>
  );
}

function Empty({ source }: { source: string }) {
  return (
    <>
      <h1>Nothing was measured yet</h1>
      <p>{source} has no results. This measures the small set of models on every runtime of this machine:</p>
      <pre>
        <code>assay run --models-set small</code>
      </pre>
    </>
  );
}

/** The page of a server: it changes while something is measured. */
function live(root: HTMLElement, put: (page: ComponentChild) => void, show: (deflated: Uint8Array) => Promise<void>) {
  const strip = document.createElement('div');
  strip.setAttribute('role', 'status');
  root.before(strip);
  let progress: Progress | undefined;
  let answers = true;
  let stale: string | undefined;
  const lines = () => (
    <>
      {stale !== undefined && <Stale why={stale} />}
      {progress && <Running progress={progress} />}
    </>
  );
  const draw = () => render(answers ? lines() : <NoAnswer />, strip);
  return follow({
    document: show,
    missing: (words) => put(<Missing words={words} />),
    stale: (why) => {
      stale = why;
      draw();
    },
    progress: (now) => {
      progress = now;
      draw();
    },
    connected: (yes) => {
      answers = yes;
      draw();
    },
  });
}

async function start() {
  const root = document.getElementById('page')!;
  let opening = true;
  const put = (page: ComponentChild) => {
    if (opening) root.textContent = '';
    opening = false;
    render(page, root);
  };
  const show = async (deflated: Uint8Array) => {
    try {
      if (typeof DecompressionStream === 'undefined') throw new Error(notReadable);
      const data = readDocument(await inflate(deflated));
      setColours(data.themes);
      put(<App document={data} />);
      performance.mark('assay-ready');
    } catch (error) {
      put(`The page cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const block = document.getElementById('assay-document');
  const packed = block?.textContent?.trim();
  block?.remove();
  if (packed) await show(fromBase64(packed));
  else await live(root, put, show);
}

void start();
