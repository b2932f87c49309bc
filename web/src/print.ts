// SPDX-License-Identifier: Apache-2.0
// On paper everything is there: folded parts are open, tables have all their rows, and charts are drawn, light.
import { useEffect, useState } from 'preact/hooks';

let printing = false;
const listeners = new Set<(printing: boolean) => void>();
let opened: HTMLDetailsElement[] = [];

export const isPrinting = () => printing;

/** Calls `listener` before paper and after it; the result ends that. */
export function onPrint(listener: (printing: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePrinting(): boolean {
  const [now, setNow] = useState(printing);
  useEffect(() => onPrint(setNow), []);
  return now;
}

function set(now: boolean) {
  if (now === printing) return;
  printing = now;
  if (now) {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('main details:not([open])')];
    for (const one of opened) one.open = true;
  } else {
    for (const one of opened) one.open = false;
    opened = [];
  }
  for (const listener of listeners) listener(now);
}

addEventListener('beforeprint', () => set(true));
addEventListener('afterprint', () => set(false));
matchMedia('print').addEventListener('change', (event) => set(event.matches));
