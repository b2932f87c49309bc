// SPDX-License-Identifier: Apache-2.0
// The list of keys. The browser keeps the focus within an open dialog, closes it with Esc, and gives the focus back.
import { useEffect, useRef } from 'preact/hooks';

const keys: [string, string][] = [
  ['/', 'search'],
  [
    'g then o, m, a, c, p, r, h, k',
    'overview, matrix, all cells, compare, charts (pictures), advice (recommendations), history, machines',
  ],
  ['arrow keys', 'move in a table; Enter opens'],
  ['[ and ]', 'previous and next cell'],
  ['t', 'light or dark'],
  ['?', 'this list'],
  ['Esc', 'close'],
];

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current!;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">Keys</h2>
      <dl>
        {keys.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
