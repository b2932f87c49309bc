// SPDX-License-Identifier: Apache-2.0
// Scales, axes and marks for the small pictures of the page, as SVG. Colours are classes (style.css), so that themes and
// print need no redrawing. Each picture has a description, and its numbers stand in a table beside it.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { tickText } from './format.ts';

export interface Scale {
  (value: number): number;
  ticks: number[];
  domain: [number, number];
}

const niceStep = (rough: number) => {
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10) * power;
};

export function linear(domain: [number, number], range: [number, number], wanted = 5): Scale {
  const [low, high] = domain[1] > domain[0] ? domain : [domain[0] - 0.5, domain[0] + 0.5];
  const step = niceStep((high - low) / wanted);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  const scale = (value: number) => range[0] + ((value - low) / (high - low)) * (range[1] - range[0]);
  return Object.assign(scale, { ticks, domain: [low, high] as [number, number] });
}

export function logarithmic(domain: [number, number], range: [number, number], wanted = 6): Scale {
  let [low, high] = domain;
  if (!(high > low * 1.02)) [low, high] = [low / 1.2, high * 1.2];
  let ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const digit of [1, 2, 5]) {
      const tick = digit * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(Number(tick.toPrecision(3)));
    }
  if (ticks.length < 3) ticks = linear([low, high], [0, 1], wanted).ticks.filter((tick) => tick > 0);
  while (ticks.length > wanted) ticks = ticks.filter((_, i) => i % 2 === 0);
  const scale = (value: number) => range[0] + (Math.log(value / low) / Math.log(high / low)) * (range[1] - range[0]);
  return Object.assign(scale, { ticks, domain: [low, high] as [number, number] });
}

/** The extremes of the values, widened by a share of their logarithm's range. */
export function spanLog(values: number[], margin = 0.06): [number, number] {
  const good = values.filter((value) => value > 0 && Number.isFinite(value));
  if (good.length === 0) return [1, 10];
  const low = Math.min(...good);
  const high = Math.max(...good);
  const widen = Math.max(Math.log(high / low) * margin, 0.01);
  return [low * Math.exp(-widen), high * Math.exp(widen)];
}

const leastWidth = 260;

/** Width of the parent, but not less than a picture needs; 0 until it is known. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    setWidth(Math.max(leastWidth, element.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.max(leastWidth, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

/** A figure: title, picture, notes. `draw` gets the width. */
export function Figure({ title, description, height, draw, notes, children }: {
  title: string; description: string; height: number; draw: (width: number) => ComponentChildren; notes?: ComponentChildren; children?: ComponentChildren;
}) {
  const [box, width] = useWidth();
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div ref={box} class="plot">
        {width > 0 && (
          <svg role="img" aria-label={`${title}. ${description}`} width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
            {draw(width)}
          </svg>
        )}
      </div>
      {notes && <p class="note">{notes}</p>}
      {children}
    </figure>
  );
}

export interface Frame { left: number; right: number; top: number; bottom: number }

export function Axes({ x, y, frame, xName, yName, xTick = tickText, yTick = tickText }: {
  x: Scale; y: Scale; frame: Frame; xName: string; yName: string; xTick?: (value: number) => string; yTick?: (value: number) => string;
}) {
  return (
    <g class="axes">
      {y.ticks.map((tick) => (
        <g key={tick}>
          <line class="gridline" x1={frame.left} x2={frame.right} y1={y(tick)} y2={y(tick)} />
          <text x={frame.left - 6} y={y(tick)} dy="0.32em" text-anchor="end">{yTick(tick)}</text>
        </g>
      ))}
      {x.ticks.map((tick) => (
        <g key={tick}>
          <line class="tick" x1={x(tick)} x2={x(tick)} y1={frame.bottom} y2={frame.bottom + 4} />
          <text x={x(tick)} y={frame.bottom + 17} text-anchor="middle">{xTick(tick)}</text>
        </g>
      ))}
      <line class="axis" x1={frame.left} x2={frame.right} y1={frame.bottom} y2={frame.bottom} />
      <text class="axis-name" x={frame.left} y={frame.top - 8}>{yName}</text>
      <text class="axis-name" x={frame.right} y={frame.bottom + 33} text-anchor="end">{xName}</text>
    </g>
  );
}

/** A point with a whisker, upright or level; hollow without an interval over launches. */
export function Point({ x, y, low, high, level, hollow, marker = 0, title }: {
  x: number; y: number; low?: number | null; high?: number | null; level?: boolean; hollow?: boolean; marker?: number; title?: string;
}) {
  const cap = 4;
  const whisker = low === null || low === undefined || high === null || high === undefined ? null
    : level ? `M${low} ${y - cap}V${y + cap}M${high} ${y - cap}V${y + cap}M${low} ${y}H${high}`
    : `M${x - cap} ${low}H${x + cap}M${x - cap} ${high}H${x + cap}M${x} ${low}V${high}`;
  const r = 4.5;
  const shape = marker % 4 === 1 ? `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`
    : marker % 4 === 2 ? `M${x - r} ${y - r}H${x + r}V${y + r}H${x - r}Z`
    : marker % 4 === 3 ? `M${x} ${y - 6}L${x + 6} ${y + 5}H${x - 6}Z`
    : `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  return (
    <g class="point">
      {title && <title>{title}</title>}
      {whisker && <path class="whisker" d={whisker} />}
      <path class={hollow ? 'mark hollow' : 'mark'} d={shape} />
    </g>
  );
}

/** Moves labels apart that would stand closer than `gap`, keeping their order. */
export function spread(places: number[], gap: number, low: number, high: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]!);
  const result = [...places];
  let last = low - gap;
  for (const i of order) {
    result[i] = Math.max(places[i]!, last + gap);
    last = result[i]!;
  }
  let next = high + gap;
  for (const i of order.reverse()) {
    result[i] = Math.min(result[i]!, next - gap);
    next = result[i]!;
  }
  return result;
}

export const dashes = ['', '7 4', '2 3', '8 3 2 3', '12 4'];
