// SPDX-License-Identifier: Apache-2.0
// Small marks beside the numbers of a table: the number stands in the row. Everything larger is a chart of
// src/show/chart. Colours are classes (style.css), so that themes and print need no redrawing.
import type { ComponentChildren } from 'preact';
import type { Marker } from './document.ts';

/** Where a value stands on a scale, in percent of its width. */
export type Place = (value: number) => number;

/** The extremes of the values, widened by a share of their logarithm's range. */
export function spanLog(values: number[], margin = 0.06): [number, number] {
  const good = values.filter((value) => value > 0 && Number.isFinite(value));
  if (good.length === 0) return [1, 10];
  const low = Math.min(...good);
  const high = Math.max(...good);
  const widen = Math.max(Math.log(high / low) * margin, 0.01);
  return [low * Math.exp(-widen), high * Math.exp(widen)];
}

export function logarithmic([low, high]: [number, number]): Place {
  if (!(high > low * 1.02)) [low, high] = [low / 1.2, high * 1.2];
  return (value) => (100 * Math.log(value / low)) / Math.log(high / low);
}

export const percent = (place: number) => `${Number(place.toFixed(2))}%`;

/** The picture in a row: as wide as its column. What it shows is in the row's numbers, or `label` says it. */
export function Marks({
  label,
  children,
  hardware,
  state,
  height = 30,
}: {
  label?: string;
  children: ComponentChildren;
  hardware?: string;
  state?: 'good' | 'bad';
  height?: number;
}) {
  return (
    <svg
      class={`marks ${hardware ? `hw hw-${hardware}` : (state ?? '')}`}
      height={height}
      role={label ? 'img' : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
    >
      {children}
    </svg>
  );
}

const outlines: Record<Marker, string> = {
  circle: 'M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z',
  diamond: 'M0 -6L6 0L0 6L-6 0Z',
  rect: 'M-4.5 -4.5H4.5V4.5H-4.5Z',
  triangle: 'M0 -6L6 5H-6Z',
  pin: 'M0 6L6 -5H-6Z',
};

/**
 * A point with its interval at a place of the row; hollow without an interval over launches, crossed if it is not of
 * the device itself.
 */
export function Point({
  at,
  low,
  high,
  hollow,
  crossed,
  marker = 'circle',
  title,
  middle = 15,
}: {
  at: number;
  low?: number | null;
  high?: number | null;
  hollow?: boolean;
  crossed?: boolean;
  marker?: Marker;
  title?: string;
  middle?: number;
}) {
  const interval = low !== null && low !== undefined && high !== null && high !== undefined;
  return (
    <g class="point">
      {title && <title>{title}</title>}
      {interval && <line class="whisker" x1={percent(low)} x2={percent(high)} y1={middle} y2={middle} />}
      {interval &&
        [low, high].map((end) => (
          <line key={end} class="whisker" x1={percent(end)} x2={percent(end)} y1={middle - 4} y2={middle + 4} />
        ))}
      <svg class="marker" x={percent(at)} y={middle} aria-hidden="true">
        <path class={hollow || crossed ? 'mark hollow' : 'mark'} d={outlines[marker]} />
        {crossed && <path class="mark" d="M-3 3L3 -3" />}
      </svg>
    </g>
  );
}
