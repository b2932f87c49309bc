// SPDX-License-Identifier: Apache-2.0
// The search of the header: models, pages and cells; "/" goes there, arrows choose, Enter opens.
import { useMemo, useRef, useState } from 'preact/hooks';
import type { AssayDocument } from './document.ts';
import { cellLink, cellWords } from './parts.tsx';
import { link } from './state.ts';
import { stateOf } from './words.ts';

interface Hit {
  words: string;
  kind: string;
  href: string;
}

export function findHits(document: AssayDocument, text: string, most = 12): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const matches = (candidate: string) => words.every((word) => candidate.toLowerCase().includes(word));
  const hits: Hit[] = [];
  for (const model of document.models)
    if (matches(model)) hits.push({ words: model, kind: 'model', href: link('model', model) });
  for (const target of document.targets)
    if (matches(`${target.key} ${target.engine}`))
      hits.push({ words: target.key, kind: 'cells on', href: link('cells', '', { 'f.target': target.key }) });
  for (const cell of document.cells) {
    if (hits.length >= most) break;
    if (matches(`${cellWords(cell)} ${cell.text('engine')} ${stateOf(cell)}`))
      hits.push({ words: cellWords(cell), kind: stateOf(cell), href: cellLink(cell) });
  }
  return hits.slice(0, most);
}

export function Search({ document }: { document: AssayDocument }) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const hits = useMemo(() => findHits(document, text), [document, text]);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    location.hash = hit.href;
    setText('');
    input.current?.blur();
  };
  return (
    <div class="search">
      <input
        ref={input}
        id="search"
        type="text"
        inputMode="search"
        role="combobox"
        aria-expanded={hits.length > 0}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        aria-label="Search models, targets and cells"
        placeholder="Search (/)"
        value={text}
        autocomplete="off"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setChosen(Math.min(chosen + 1, hits.length - 1));
          else if (event.key === 'ArrowUp') setChosen(Math.max(chosen - 1, 0));
          else if (event.key === 'Enter') open(hits[chosen]);
          else if (event.key === 'Escape') {
            setText('');
            input.current?.blur();
          } else return;
          event.preventDefault();
        }}
      />
      <ul id="hits" role="listbox" aria-label="Found" hidden={hits.length === 0}>
        {hits.map((hit, i) => (
          <li
            key={hit.href}
            id={`hit-${i}`}
            role="option"
            aria-selected={i === chosen}
            onMouseDown={(event) => {
              event.preventDefault();
              open(hit);
            }}
          >
            <span>{hit.words}</span> <small>{hit.kind}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}
