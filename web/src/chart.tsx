// SPDX-License-Identifier: Apache-2.0
// A chart of src/show/chart in the page: the same option as that of the SVG file, drawn by ECharts with
// web/chart/runtime.js. What it says in words (title, notes, legend, numbers) is text of the page.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Drawn, init, resolve } from '../chart/entry.mjs';
import type { Option } from '../chart/runtime.js';
import { fit, type PlainRow, rowAt, withWords } from './chart_layout.ts';
import { CopyTable, listColumns } from './copy_table.tsx';
import type { ChartTable, PageChart, Themes } from './document.ts';
import { count, number } from './format.ts';
import { Prose } from './parts.tsx';
import { isPrinting, onPrint } from './print.ts';

let pen: CanvasRenderingContext2D | null | undefined;

/** The width of a text in pixels; `font` is a size: "12px". */
function measure(words: string, font: string): number {
  pen ??= document.createElement('canvas').getContext('2d');
  if (!pen) return words.length * 7;
  pen.font = `${font} 'DejaVu Sans', Verdana, sans-serif`;
  return pen.measureText(words).width;
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return (
    !isPrinting() && (chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches))
  );
};

/** Every chart that is on the page draws itself anew when the theme or the medium changes. */
const onPage = new Set<(whole: boolean) => void>();
const drawAll = (whole: boolean) => {
  for (const draw of onPage) draw(whole);
};
onPrint(drawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawAll(false));
new MutationObserver(() => drawAll(false)).observe(document.documentElement, { attributeFilter: ['data-theme'] });

function optionFor(option: Option, tokens: Record<string, string>, hidden: ReadonlySet<string>) {
  const made = resolve(option, tokens, measure);
  made.backgroundColor = 'transparent';
  made.tooltip = {
    ...made.tooltip,
    confine: true,
    backgroundColor: tokens.background,
    borderColor: tokens['ink-3'],
    borderWidth: 1,
    padding: [6, 8],
    textStyle: { color: tokens.ink, fontSize: 12, lineHeight: 17 },
  };
  if (made.legend) made.legend.selected = Object.fromEntries([...hidden].map((name) => [name, false]));
  return made;
}

/** The picture as a file: as `assay plot` makes it, but for the widths of texts, which are this browser's. */
function svgText(chart: PageChart, themes: Themes): string {
  const drawn = init(null, null, { renderer: 'svg', ssr: true, width: chart.width, height: chart.height });
  try {
    drawn.setOption(resolve(chart.option, themes.light, measure));
    return drawn.renderToSVGString();
  } finally {
    drawn.dispose();
  }
}

function save(name: string, href: string) {
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
}

const dataUrl = (svg: string) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

async function savePng(name: string, svg: string, width: number, height: number) {
  const image = new Image();
  image.src = dataUrl(svg);
  await image.decode();
  const canvas = document.createElement('canvas');
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height);
  save(name, canvas.toDataURL('image/png'));
}

interface Target {
  name: string;
  icon: string;
  colour: string;
  dash: string;
  filled: boolean;
}

const tokenClass = (value: Option) =>
  typeof value?.$colour === 'string' ? value.$colour.replace(/[^a-z0-9-]/g, '') : 'ink-2';
const targetsOf = (chart: PageChart): Target[] =>
  (chart.option.legend?.data ?? []).map((entry: Option) => ({
    name: entry.name,
    icon: entry.icon,
    colour: tokenClass(entry.itemStyle.borderColor ?? entry.lineStyle?.color),
    dash: Array.isArray(entry.lineStyle?.type) ? entry.lineStyle.type.join(' ') : '',
    filled: tokenClass(entry.itemStyle.color) !== 'background',
  }));

const icons: Record<string, string> = {
  diamond: 'M14 1L19 6L14 11L9 6Z',
  rect: 'M10 2H18V10H10Z',
  triangle: 'M14 1L19 10H9Z',
  pin: 'M14 11L19 2H9Z',
};

function Legend({
  targets,
  hidden,
  onToggle,
}: {
  targets: Target[];
  hidden: ReadonlySet<string>;
  onToggle: (name: string) => void;
}) {
  return (
    <p class="legend chart-legend">
      {targets.map((target) => (
        <button
          key={target.name}
          type="button"
          class="plain"
          aria-pressed={!hidden.has(target.name)}
          title={hidden.has(target.name) ? 'show' : 'hide'}
          onClick={() => onToggle(target.name)}
        >
          <svg class={`hw hw-${target.colour}`} width={28} height={12} aria-hidden="true">
            <path class="line" d="M0 6H28" stroke-dasharray={target.dash} />
            {icons[target.icon] ? (
              <path class={target.filled ? 'mark' : 'mark hollow'} d={icons[target.icon]} />
            ) : (
              <circle class={target.filled ? 'mark' : 'mark hollow'} cx={14} cy={6} r={4} />
            )}
          </svg>{' '}
          {target.name}
        </button>
      ))}
    </p>
  );
}

/** Every number of a chart; a text column is one that has a text. */
function Numbers({ table: { columns, rows }, name }: { table: ChartTable; name: string }) {
  const numeric = columns.map((_, i) => rows.every((row) => typeof row[i] !== 'string'));
  return (
    <>
      <div class="scroll numbers" tabIndex={0} role="group" aria-label={`Numbers of ${name}`}>
        <table>
          <thead>
            <tr>
              {columns.map(({ heading, unit }, i) => (
                <th key={i} scope="col" class={numeric[i] ? 'numeric' : ''}>
                  {heading}
                  {unit && <small> {unit}</small>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((value, i) => (
                  <td key={i} class={numeric[i] ? 'numeric' : ''}>
                    {typeof value === 'string' ? value : Number.isInteger(value) ? count(value) : number(value, 4)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <CopyTable
        name={`numbers of ${name}`}
        columns={listColumns(columns.map(({ heading, unit }, i) => ({ title: heading, unit, numeric: numeric[i] })))}
        rows={rows}
      />
    </>
  );
}

/**
 * `name`: of files that are saved. `title`, `subtitle`: instead of the chart's, where the page around it says what it
 * is of; "": nothing is said.
 * `linkOf`: where a click on a mark leads.
 */
export function Chart({
  chart,
  themes,
  name,
  title,
  subtitle = chart.subtitle,
  linkOf,
  children,
}: {
  chart: PageChart;
  themes: Themes;
  name: string;
  title?: string;
  subtitle?: string;
  linkOf?: (row: PlainRow) => string | undefined;
  children?: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const drawn = useRef<Drawn | null>(null);
  const now = useRef({ chart, hidden, linkOf });
  now.current = { chart, hidden, linkOf };
  const redraw = useRef<(whole: boolean) => void>(() => {});

  useEffect(() => {
    const element = box.current!;
    let near = false;
    redraw.current = (whole) => {
      if (!near && !whole && !drawn.current) return;
      const parent = element.parentElement!;
      if (parent.clientWidth === 0) return;
      const { chart: of, hidden: without } = now.current;
      const fitted = fit(of, parent.clientWidth, measure);
      const size = { width: fitted.width, height: fitted.height };
      Object.assign(element.style, { width: `${size.width}px`, height: `${size.height}px` });
      setWide(size.width > parent.clientWidth);
      if (!drawn.current) {
        drawn.current = init(element, null, { renderer: 'svg', ...size });
        drawn.current.on('click', (event) => {
          const row = rowAt(now.current.chart, event.seriesIndex, event.dataIndex);
          const target = row && now.current.linkOf?.(row);
          if (target) location.hash = target;
        });
      }
      drawn.current.resize(size);
      drawn.current.setOption(optionFor(fitted.option, isDark() ? themes.dark : themes.light, without), {
        notMerge: true,
      });
    };
    const place = fit(chart, Math.max(320, element.parentElement!.clientWidth), measure);
    element.style.height = `${place.height}px`;
    const seen = new IntersectionObserver(
      (entries) => {
        near = entries.some((entry) => entry.isIntersecting);
        if (near && !drawn.current) redraw.current(false);
      },
      { rootMargin: '600px' },
    );
    seen.observe(element);
    let width = element.parentElement!.clientWidth;
    const sized = new ResizeObserver(() => {
      if (element.parentElement!.clientWidth === width) return;
      width = element.parentElement!.clientWidth;
      redraw.current(false);
    });
    sized.observe(element.parentElement!);
    const draw = (whole: boolean) => redraw.current(whole);
    onPage.add(draw);
    return () => {
      onPage.delete(draw);
      seen.disconnect();
      sized.disconnect();
      drawn.current?.dispose();
      drawn.current = null;
    };
  }, []);
  useEffect(() => {
    if (drawn.current) redraw.current(false);
  }, [chart, hidden]);

  const targets = targetsOf(chart);
  const file = () => withWords(chart, measure);
  const toggle = (target: string) => {
    const next = new Set(hidden);
    if (!next.delete(target)) next.add(target);
    setHidden(next);
  };
  return (
    <figure class="chart">
      {title !== '' && <figcaption>{title ?? chart.title}</figcaption>}
      {subtitle && <p class="note">{subtitle}</p>}
      {targets.length > 0 && <Legend targets={targets} hidden={hidden} onToggle={toggle} />}
      <div class="scroll" tabIndex={wide ? 0 : -1} role="group" aria-label={title || chart.title}>
        <div ref={box} class="drawing" role="img" aria-label={`${title || chart.title}. ${chart.summary}`} />
      </div>
      {chart.notes.map((note) => (
        <p key={note} class="note">
          <Prose text={note} />
        </p>
      ))}
      {children}
      <div class="chart-tools">
        {chart.table && (
          <details>
            <summary>Numbers</summary>
            <Numbers table={chart.table} name={name} />
          </details>
        )}
        <button
          type="button"
          class="small"
          aria-label={`Save ${name} as SVG`}
          onClick={() => save(`${name}.svg`, dataUrl(svgText(file(), themes)))}
        >
          SVG
        </button>
        <button
          type="button"
          class="small"
          aria-label={`Save ${name} as PNG`}
          onClick={() => {
            const whole = file();
            void savePng(`${name}.png`, svgText(whole, themes), whole.width, whole.height);
          }}
        >
          PNG
        </button>
      </div>
    </figure>
  );
}
