// SPDX-License-Identifier: Apache-2.0
// A table that may be wider than the screen: it scrolls sideways, and a line above it says what is out of sight.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** The headings whose middle is out of sight; the first column stays where it is, above the others. */
function hiddenHeads(box: HTMLElement) {
  const { right } = box.getBoundingClientRect();
  const places = [...box.querySelectorAll<HTMLElement>('thead th')].map((head) => head.getBoundingClientRect());
  const left = places[0]?.right ?? 0;
  const heads = places.slice(1).map((place) => (place.left + place.right) / 2);
  return { left: heads.filter((x) => x < left).length, right: heads.filter((x) => x > right).length };
}

/** `noun`: of what a column is, "target". */
export function Wide({ noun, children }: { noun: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState({ left: 0, right: 0, overflows: false });
  useEffect(() => {
    const element = box.current!;
    const look = () => setHidden({ ...hiddenHeads(element), overflows: element.scrollWidth > element.clientWidth + 1 });
    look();
    const sized = new ResizeObserver(look);
    sized.observe(element);
    for (const child of element.children) sized.observe(child);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      sized.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [children]);
  const words = [
    hidden.left > 0 && `← ${hidden.left} to the left`,
    hidden.right > 0 && `${hidden.right} to the right →`,
  ]
    .filter(Boolean)
    .join(' · ');
  return (
    <>
      {hidden.overflows && (
        <p class="note beyond">
          {words ? (
            <>
              More {noun}s: {words}
            </>
          ) : (
            `The table scrolls sideways`
          )}
        </p>
      )}
      <div
        ref={box}
        class={`scroll${hidden.right > 0 ? ' more-right' : ''}`}
        tabIndex={hidden.overflows ? 0 : -1}
        role="group"
        aria-label={`Table of ${noun}s`}
      >
        {children}
      </div>
    </>
  );
}
