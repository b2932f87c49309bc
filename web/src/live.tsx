// SPDX-License-Identifier: Apache-2.0
// A page of `assay serve`: follows the database, and shows above the results what is measured at the moment.

/** What a command that measures says of itself: `<name>.progress.json`. */
export interface Progress {
  command: string;
  cells: number;
  cells_done: number;
  launches: number;
  launches_done: number;
  seconds_left: number;
  lines: string[];
}

const pollEveryMs = 5000;

/** "3 of 12 cells, 9 of 36 launches; about 4 min left". */
export function progressWords(progress: Progress): string {
  const words = [`${progress.cells_done} of ${progress.cells} cells`];
  if (progress.launches > progress.cells) words.push(`${progress.launches_done} of ${progress.launches} launches`);
  const minutes = progress.seconds_left / 60;
  const left = minutes >= 1.5 ? `${Math.round(minutes)} min` : `${Math.round(progress.seconds_left)} s`;
  return words.join(', ') + (progress.launches_done > 0 && progress.seconds_left > 0 ? `; about ${left} left` : '');
}

/** One line about the run, its newest finished launches behind it. */
export function Running({ progress }: { progress: Progress }) {
  return (
    <details class="running">
      <summary>
        <strong>Measuring</strong> <code>{progress.command}</code>: {progressWords(progress)}
      </summary>
      <ol>
        {[...progress.lines].reverse().map((line, i) => (
          <li key={progress.lines.length - i}>{line}</li>
        ))}
      </ol>
    </details>
  );
}

/** The server has ended, or cannot be reached. */
export function NoAnswer() {
  return (
    <p class="running">
      <code>assay serve</code> does not answer: this page shows what it sent last.
    </p>
  );
}

/** The database cannot be read any more: its snapshot is gone, damaged, or of a newer assay. */
export function Stale({ why }: { why: string }) {
  return (
    <p class="running">
      The database cannot be read now: <code>{why}</code>. This page shows what was read before.
    </p>
  );
}

/** There is no document: the server's words, and what brings one if nothing was measured yet. */
export function Missing({ words }: { words: string }) {
  return (
    <main>
      <pre>{words}</pre>
      {words.includes('there is no database') && (
        <p>
          This page shows results as soon as there are some: <code>assay run --models-set small</code> measures the
          small set of models on every runtime of this machine.
        </p>
      )}
    </main>
  );
}

/** What the server says; each is called when something changed. */
export interface Follower {
  document(deflated: Uint8Array): Promise<void>;
  /** There is no document: why, and what to do. */
  missing(words: string): void;
  /** Why the document is an old one; undefined: it is that of the database. */
  stale(why: string | undefined): void;
  /** undefined: nothing runs. */
  progress(progress: Progress | undefined): void;
  /** Whether the server answers. */
  connected(yes: boolean): void;
}

/**
 * Fetches the document, and again whenever the server says that it changed; asks by itself where there are no events.
 */
export async function follow(follower: Follower): Promise<void> {
  let etag = '';
  let reading = Promise.resolve();
  const read = async () => {
    let answer: Response;
    let bytes: Uint8Array;
    try {
      answer = await fetch('data', etag === '' ? {} : { headers: { 'If-None-Match': etag } });
      bytes = new Uint8Array(await answer.arrayBuffer());
    } catch {
      follower.connected(false);
      return;
    }
    follower.connected(true);
    if (answer.ok) {
      etag = answer.headers.get('ETag') ?? '';
      await follower.document(bytes);
    } else if (answer.status !== 304 && etag === '') {
      follower.missing(new TextDecoder().decode(bytes));
    }
  };
  // One after the other: an older answer must not replace a newer one.
  const readNext = () => (reading = reading.then(read));
  let polling = false;
  const poll = () => {
    if (!polling) setInterval(() => void readNext(), pollEveryMs);
    polling = true;
  };
  await readNext();
  const events = new EventSource('events');
  events.addEventListener('open', () => {
    follower.connected(true);
    follower.stale(undefined); // if it is, the server says so again
  });
  events.addEventListener('snapshot', (event) => {
    if ((event as MessageEvent<string>).data !== etag) void readNext();
  });
  events.addEventListener('missing', (event) => {
    const why = (JSON.parse((event as MessageEvent<string>).data) as string | null) ?? undefined;
    if (etag !== '') follower.stale(why);
    else if (why !== undefined) follower.missing(why);
  });
  events.addEventListener('progress', (event) => {
    follower.progress((JSON.parse((event as MessageEvent<string>).data) as Progress | null) ?? undefined);
  });
  events.addEventListener('error', () => {
    follower.progress(undefined);
    // CLOSED: too many pages are open; else the browser connects again by itself.
    if (events.readyState === EventSource.CLOSED) poll();
    else follower.connected(false);
  });
}
